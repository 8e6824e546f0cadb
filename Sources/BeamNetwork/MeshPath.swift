import BeamLog
import BeamSession
import BeamWire
import NIOCore

/// The control connection of a viewer of what a member of a room shares: a dialog on the link to it, or to a member that
/// serves it on. Confined to its event loop.
final class MeshPath: ControlPath {
    /// How long a direct link has to be there before it takes the place of a way through another member.
    private static let steadyTime = TimeAmount.seconds(2)

    let source: DeviceKey
    /// Set as soon as the viewer is made, which needs the path.
    weak var viewer: ViewerDriver?
    /// The link in use.
    private(set) var link: MeshLinkID?
    private let loop: any EventLoop
    private let room: NIOLoopBoundBox<MeshDriver>
    private let events: ControlDialer.Events
    private var dialog: UInt32 = 0
    /// Counts dials, so that what belongs to an earlier one is recognised.
    private var dialled: UInt64 = 0
    /// The viewer waits for a way to the source, and since when.
    private var isWaiting = false
    private(set) var waitingSince: NIODeadline?
    /// Since when there is a direct link that isn't in use.
    private var directSince: NIODeadline?

    init(to source: DeviceKey, in room: NIOLoopBoundBox<MeshDriver>, loop: any EventLoop, events: ControlDialer.Events)
    {
        self.source = source
        self.room = room
        self.loop = loop
        self.events = events
    }

    // MARK: ControlPath

    let localAddress: SocketAddress? = nil

    func dial(_ version: ViewerSession.Version, expecting expected: Set<DeviceKey>?) {
        close()
        room.value.add(self)
        viewer?.handle(.relayed(room.value.takers(of: source)))
        guard let way = room.value.way(to: source) else {
            isWaiting = true
            waitingSince = waitingSince ?? .now()
            return later { $0.events.onEnd("nobody here can reach it at present", .network) }
        }
        link = way
        waitingSince = nil
        dialog = room.value.nextDialog()
        room.value.wayChanged(of: self)
        later { path in
            guard let link = path.link else { return }
            path.events.onSecured(path.source, path.room.value.links.remoteAddress(of: link))
        }
    }

    func add() {}

    func send(_ bytes: [UInt8]) {
        guard let link else { return }
        room.value.carry(
            MeshSession.Carried(source: source, dialog: dialog, message: bytes, isToHost: true), on: link)
    }

    func close() {
        dialled += 1
        isWaiting = false
        directSince = nil
        guard let link else { return }
        self.link = nil
        room.value.carry(
            MeshSession.Carried(source: source, dialog: dialog, message: [], isToHost: true), on: link)
    }

    func drop(_ reason: String) {
        guard link != nil else { return }
        close()
        later { $0.events.onEnd(reason, .network) }
    }

    func end() {
        close()
        waitingSince = nil
        room.value.remove(self)
    }

    // MARK: What happens on the links

    func received(_ carried: MeshSession.Carried, from link: MeshLinkID) {
        guard link == self.link, carried.dialog == dialog else { return }
        guard carried.message.isEmpty else { return events.onMessage(carried.message) }
        self.link = nil
        ended("it doesn't serve this any more")
    }

    func linkEnded(_ link: MeshLinkID) {
        guard link == self.link else { return }
        self.link = nil
        ended("the connection was lost")
    }

    private func ended(_ reason: String) {
        dialled += 1
        later { $0.events.onEnd(reason, .network) }
    }

    /// The member is here, perhaps by another way.
    func appeared() {
        guard isWaiting, room.value.way(to: source) != nil else { return }
        isWaiting = false
        later { $0.viewer?.handle(.hostAppeared) }
    }

    /// Called now and then: gives up the way through another member if there has been a direct one for a while.
    func preferDirectLink() {
        guard let link, let direct = room.value.directLink(to: source), direct != link else {
            directSince = nil
            return
        }
        guard let directSince else { return directSince = .now() }
        if .now() - directSince >= Self.steadyTime { drop("there is a direct connection again") }
    }

    /// Does something later on the loop, unless something else is dialled meanwhile.
    private func later(_ action: @escaping (MeshPath) -> Void) {
        let number = dialled
        loop.assumeIsolated().execute { [self] in if dialled == number { action(self) } }
    }
}
