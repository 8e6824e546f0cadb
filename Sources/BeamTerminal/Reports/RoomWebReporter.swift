import BeamHost
import BeamLog
import BeamSession
import BeamViewer
import BeamWire
import Synchronization

/// Reports browsers at a member of a room: who asks, is let in and leaves; in the terminal, in the window, and as events.
public final class RoomWebReporter: Sendable {
    private let context: CommandContext
    private let board: MeshBoard
    private let door: DoorReporter
    private let web: WebReporter
    /// Before, nobody is let in, and nothing is reported.
    private let hasBegun = Mutex(false)
    /// The admitted browsers, by session; never more than the door admits.
    private let browsers = Mutex<[String: Visitor]>([:])

    /// - Parameter acceptance: what becomes of browsers without the code.
    public init(
        _ context: CommandContext, _ board: MeshBoard, person: any DoorPerson,
        _ invitation: DoorReporter.Invitation.Web, acceptance: Door.Acceptance
    ) {
        (self.context, self.board) = (context, board)
        // The code that it shows is the room's.
        let strangers = DoorReporter.Invitation(
            acceptance: acceptance, isTrustedOnly: false, showsCode: false, hasCode: false, service: .everybody,
            codeFile: nil, allowsUnencrypted: false)
        door = DoorReporter(context, person: person, invitation: strangers, guests: .viewers)
        web = WebReporter(context, invitation, acceptance: acceptance) { board.setWeb($0) }
    }

    /// Says where browsers come, when the first room is entered. Once.
    public func begin(_ description: HostDescription.Web, bindAddress: String?, code: PairingCode?) {
        hasBegun.withLock { $0 = true }
        web.begin(description, bindAddress: bindAddress, code: code)
    }

    /// The key `w`.
    public func show() { web.show() }

    /// Call it once a second. `give` gets the code that was written into the file.
    public func tick(give: (PairingCode) -> Void) {
        web.tick(give: give)
        web.tellWindow()
        door.tick { _ in }
    }

    public func handle(_ notice: HostNotice) {
        guard hasBegun.withLock({ $0 }) else { return }
        if case .session(let event) = notice { return report(event) }
        guard let event = ProgramEvent.Share(notice) else { return }
        context.events.write(.share(event))
    }

    private func report(_ event: HostEvent) {
        switch event {
        case .browserAsks(let connection, let visitor):
            board.ask(connection, from: visitor)
            board.call()
        case .askWithdrawn(let connection): board.settle(connection, isAgreed: false)
        default: break
        }
        if door.handle(event) { return }
        switch event {
        case .webCodeChanged(let change): web.codeChanged(change)
        case .viewerPaired(let session, let visitor, let isResumed):
            browsers.withLock { $0[session] = visitor }
            door.letIn(visitor)
            tell(
                visitor, .letIn(visitor, session: session, isResumed: isResumed),
                "\(visitor) is let in, to watch what you share.")
        case .viewerLeft(let session, let visitor, let reason):
            browsers.withLock { $0[session] = nil }
            tell(
                visitor, .left(visitor, session: session, reason: reason), "\(visitor) has left: \(reason).")
        case .layerChanged(let session, let isReduced):
            let who = browsers.withLock { $0[session] }.map { "\($0)" } ?? "A browser"
            context.tell(
                .share(.layer(session: session, isReduced: isReduced, why: .path)),
                ShareText.layer(isReduced: isReduced, who: who), as: .layer)
        default: break
        }
    }

    /// Anybody can come and go as often as he likes.
    private func tell(_ visitor: Visitor, _ event: ProgramEvent.Pairing, _ words: String) {
        door.tell(.visit, from: visitor.address, event, words)
    }
}
