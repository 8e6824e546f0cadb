import BeamLog
import BeamMedia
import BeamSession
import BeamWire
import NIOCore

/// What is served to members of a room over its links: this machine's screen, or what another member shares. Confined to
/// its event loop.
final class MeshSource: HostControl {
    /// A viewer's dialog on a link.
    private struct Dialog {
        var id: ConnectionID
        var number: UInt32
    }

    /// After the last dialog, until the source counts as idle.
    private static let idleTime = TimeAmount.seconds(5)

    let driver: HostDriver
    /// Of what another member shares: what is passed on, and to whom.
    var picture = RelayedPicture()
    var takers: PatchTakers = []
    private let device: DeviceKey
    private unowned let room: MeshDriver
    private var dialogs: [MeshLinkID: Dialog] = [:]
    private var lastUse = NIODeadline.now()

    init(_ device: DeviceKey, _ driver: HostDriver, in room: MeshDriver) {
        self.device = device
        self.driver = driver
        self.room = room
    }

    /// Nobody has watched it for a while.
    var isIdle: Bool { dialogs.isEmpty && .now() - lastUse > Self.idleTime }

    /// A part of a dialog that a member's viewer leads.
    func take(_ carried: MeshSession.Carried, of member: DeviceKey, from link: MeshLinkID, at address: IPAddress) {
        lastUse = .now()
        if let dialog = dialogs[link], dialog.number != carried.dialog || carried.message.isEmpty {
            dialogs[link] = nil
            driver.handle(.connectionClosed(dialog.id))
        }
        guard !carried.message.isEmpty else { return }
        if dialogs[link] == nil {
            let id = room.connectionID()
            if let viewer = room.viewer(of: device) {
                driver.handle(.relays(viewer.relays + 1))
                driver.handle(.passesPatches(viewer.hasPatches))
            }
            dialogs[link] = Dialog(id: id, number: carried.dialog)
            driver.handle(.connectionOpened(id, from: address))
            driver.handle(.connectionSecured(id, member))
        }
        // It may have been closed at once.
        if let dialog = dialogs[link] { driver.handle(.connectionMessage(dialog.id, carried.message)) }
    }

    func linkEnded(_ link: MeshLinkID) {
        guard let dialog = dialogs.removeValue(forKey: link) else { return }
        lastUse = .now()
        driver.handle(.connectionClosed(dialog.id))
    }

    private func link(of id: ConnectionID) -> MeshLinkID? { dialogs.first { $0.value.id == id }?.key }

    // MARK: HostControl

    func send(_ bytes: [UInt8], on id: ConnectionID) {
        guard let link = link(of: id), let dialog = dialogs[link] else { return }
        room.carry(
            MeshSession.Carried(source: device, dialog: dialog.number, message: bytes, isToHost: false), on: link)
    }

    func close(_ id: ConnectionID) {
        guard let link = link(of: id), let dialog = dialogs.removeValue(forKey: link) else { return }
        room.carry(
            MeshSession.Carried(source: device, dialog: dialog.number, message: [], isToHost: false), on: link)
    }

    func watchAsker(on id: ConnectionID) {}

    func beginShutdown() { room.ended(self) }

    func finishShutdown() -> EventLoopFuture<Void> { room.loop.makeSucceededVoidFuture() }
}
