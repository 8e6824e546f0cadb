import BeamDesktop
import BeamLog
import BeamNetwork
import BeamSession
import BeamViewer
import BeamWire
import Synchronization

/// Reports what happens at a receiver: to the person, and as JSON events.
public final class StationReporter: Sendable {
    private struct State {
        var port: UInt16 = 0
        /// Of the screen that is shown, by its number.
        var shown: (number: Int, reporter: WatchReporter)?
        var hasWaited = false
        /// Nothing is shown: another code isn't news then.
        var isWaiting = false
        /// What systemd shows of the service.
        var status = "Waiting for a sender"
        /// The address of this machine is to be said as soon as it has one; nil: it was said.
        var addressless: AddressText?
    }

    private let context: CommandContext
    private let name: String
    private let hasWindow: Bool
    private let desk: QuestionDesk
    private let door: DoorReporter
    private let invitation: DoorReporter.Invitation
    /// What happens before it is said where the receiver is.
    private let early = EarlyEvents<Station.Notice>()
    private let state = Mutex(State())

    /// - Parameters:
    ///   - name: the receiver's.
    ///   - takesCode: a code can be shown somewhere.
    public init(_ context: CommandContext, name: String, hasWindow: Bool, takesCode: Bool, desk: QuestionDesk) {
        (self.context, self.name, self.hasWindow, self.desk) = (context, name, hasWindow, desk)
        invitation = DoorReporter.Invitation(
            acceptance: .none, isTrustedOnly: !takesCode,
            // On a terminal and in the window only: a code must not get into a log.
            showsCode: takesCode && context.console.isTerminal, hasCode: false, service: .everybody, codeFile: nil,
            allowsUnencrypted: false)
        door = DoorReporter(context, person: Nobody(), invitation: invitation, guests: .senders)
    }

    /// It listens at this port.
    public func ready(port: UInt16, bindAddress: String?) {
        let address = AddressText(
            purpose: "To show a screen at “\(PeerText.name(name))”", command: "share --to", bindAddress: bindAddress,
            port: port, usualPort: StationWindow.usualPort)
        state.withLock { state in
            state.port = port
            state.addressless = address.isReachable() ? nil : address
        }
        context.say(address.sentence())
        if invitation.isTrustedOnly {
            context.say(
                "Only devices that were paired before are shown: there is neither a window nor a terminal to show a code in."
            )
        }
        early.release { report($0) }
        ServiceManager.current?.ready(serviceStatus)
    }

    /// What it does now, in a line.
    public var serviceStatus: String { state.withLock { $0.status } }

    public func handle(_ notice: Station.Notice) { if !early.hold(notice) { report(notice) } }

    private func report(_ notice: Station.Notice) {
        switch notice {
        case .state(let new): report(new)
        case .ended(let sender, let end):
            context.console.live([])
            context.tell(.receiver(.ended(sender, end)), StationText.ended(sender, end), as: .status)
        case .busy(let sender):
            context.tell(
                .receiver(.busy(sender)),
                "“\(sender.name)” (\(sender.address)) was told that another screen is shown at the moment.", as: .status
            )
        case .door(let event): _ = door.handle(event)
        case .viewer(let number, let sender, let notice): reporter(number, sender)?.handle(notice)
        case .warning(let text): context.say("Warning: \(text)", as: .warning)
        }
    }

    private func report(_ new: StationSession.State) {
        switch new {
        case .waiting(let code):
            let (isFirst, isNews, port) = state.withLock { state in
                defer { (state.hasWaited, state.isWaiting) = (true, true) }
                state.status = "Waiting for a sender"
                return (!state.hasWaited, !state.isWaiting, state.port)
            }
            guard isNews else { return }
            context.events.write(.receiver(.waiting(name: name, port: port, takesCode: code != nil)))
            if isFirst {
                door.setCode(code)
                door.sayCode()
                context.say("Waiting for a screen to show. Ctrl-C ends.")
            } else {
                context.say("Waiting again.", as: .status)
            }
        case .awaiting(let sender):
            setStatus("“\(sender.name)” is about to show its screen")
            context.tell(
                .receiver(.awaited(sender)), "“\(sender.name)” (\(sender.address)) is about to show its screen.",
                as: .status)
        case .showing(let sender):
            setStatus("Shows “\(sender.name)”")
            context.tell(
                .receiver(.showing(sender)), "The screen of “\(sender.name)” (\(sender.address)) is shown.", as: .status
            )
        }
    }

    /// Something is shown, or about to be.
    private func setStatus(_ status: String) { state.withLock { ($0.isWaiting, $0.status) = (false, status) } }

    /// The reporter of the screen of that number; nil: another one has followed already.
    private func reporter(_ number: Int, _ sender: StationSession.Sender) -> WatchReporter? {
        state.withLock { state in
            if let shown = state.shown, shown.number >= number { return shown.number == number ? shown.reporter : nil }
            let reporter = WatchReporter(
                CommandContext(context, host: sender.name, device: sender.device),
                WatchReporter.Purpose(hasWindow: hasWindow, isOneOfSeveral: true, isInRoom: true), desk: desk)
            state.shown = (number, reporter)
            return reporter
        }
    }

    /// Call it once a second.
    public func tick(_ station: Station) {
        station.refresh()
        door.tick { _ in }
        if let words = state.withLock({ $0.addressless }), words.isReachable() {
            state.withLock { $0.addressless = nil }
            context.say(words.sentence())
        }
        if let service = ServiceManager.current, station.answers {
            service.show(serviceStatus)
            service.live()
        }
        guard let watched = station.watched, let shown = state.withLock({ $0.shown }), shown.number == watched.number
        else { return }
        context.console.live(shown.reporter.tick(watched.viewer).map { [$0] } ?? [])
    }
}

/// Nobody is asked about those who bring no code.
private final class Nobody: DoorPerson {
    let takesCommands = false
    func ask(_ connection: ConnectionID, code: PairingCode, from visitor: Visitor) {}
    func askAboutBrowser(_ connection: ConnectionID, from visitor: Visitor) {}
    func askToCompare(_ connection: ConnectionID, from visitor: Visitor) {}
    func compare(_ connection: ConnectionID, digits: PairingCode) {}
    func withdraw(_ connection: ConnectionID) {}
    func taken(_ connection: ConnectionID, by name: String) {}
}
