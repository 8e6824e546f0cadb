import BeamDiscovery
import BeamDisplay
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamTrust
import BeamViewer
import Dispatch
import Foundation
import Synchronization

/// How this device comes into its room: as one of those that are kept, by being let in by a member, or by making it.
struct RoomEntry {
    let context: CommandContext
    let store: TrustStore
    /// Nil: discovery isn't used.
    let presence: RoomPresence?
    /// This device's name, for the member that lets it in.
    let deviceName: String
    let code: PairingCode?
    /// Nil: no window.
    let window: WindowOptions?
    let terminal: TerminalQuestions

    /// How long a member that was found is tried before another one is.
    private static let patience = Duration.seconds(5)

    /// Finds or enters the room. Waits for the network and the person, on the main thread.
    ///
    /// - Parameters:
    ///   - wanted: the room's name; nil: the only one, or one named after `machine`.
    ///   - address: of a member; nil: the room is sought.
    /// - Returns: nil if the program is to end.
    func find(
        _ wanted: String?, at address: WatchTarget?, machine: String, within time: Duration
    ) throws -> RoomServer.Beginning? {
        if let endpoint = address?.address { return try letIn(at: numeric(endpoint), mayGiveUp: false) }
        let kept = try store.rooms()
        if let wanted, let known = kept.first(where: { DeviceNames.areSame($0.room.name, wanted) }) {
            return .resume(known.room(at: Date()))
        }
        let found = presence?.rooms(within: time) ?? []
        guard context.latch.current == nil else { return nil }
        let name: String
        if let wanted {
            name = wanted
        } else {
            let names = Self.distinct(found.map(\.room))
            guard names.count < 2 else {
                context.latch.end(
                    .failed(
                        "Several rooms are on this network: \(names.map { "“\($0)”" }.joined(separator: ", ")). "
                            + "Name one: `beamroom room NAME`."))
                return nil
            }
            name = names.first ?? "Room of \(machine)"
            if let known = kept.first(where: { DeviceNames.areSame($0.room.name, name) }) {
                return .resume(known.room(at: Date()))
            }
        }
        let doors = found.filter { DeviceNames.areSame($0.room, name) }.compactMap(\.endpoints.first)
        guard !doors.isEmpty else { return .found(name: name) }
        return try letIn(at: doors, mayGiveUp: true)
    }

    /// A `.local` name is resolved by Avahi: the system's own resolver does so only with nss-mdns. Waits for the network.
    private func numeric(_ endpoint: Endpoint) -> [Endpoint] {
        guard HostNameResolver.resolves(endpoint.host) else { return [endpoint] }
        let addresses = HostNameResolver.addresses(of: endpoint.host, within: Self.resolvingTime)
        return addresses.isEmpty ? [endpoint] : addresses.map { Endpoint(host: $0, port: endpoint.port) }
    }

    private static let resolvingTime = Duration.seconds(3)

    /// Without names that differ only in case.
    private static func distinct(_ names: [String]) -> [String] {
        names.reduce(into: []) { names, name in
            if !names.contains(where: { DeviceNames.areSame($0, name) }) { names.append(name) }
        }
    }

    /// Asks the members at these addresses, one after another as long as none is reached, to be let in.
    private func letIn(at doors: [Endpoint], mayGiveUp: Bool) throws -> RoomServer.Beginning? {
        for (index, door) in doors.enumerated() {
            let isLast = index == doors.count - 1
            switch try knock(at: door, patience: isLast ? nil : Self.patience) {
            case .letIn(let device): return .enter(through: device, at: door)
            case .notReached: continue
            case .ended: return nil
            }
        }
        return nil
    }

    private enum Answer: Sendable {
        case letIn(DeviceKey)
        case notReached
        /// The program is to end.
        case ended
    }

    /// Asks one member, as a viewer asks a host.
    ///
    /// - Parameter patience: how long to try to reach it; nil: until it is there or the person gives up.
    private func knock(at door: Endpoint, patience: Duration?) throws -> Answer {
        context.say("Asking the member at \(door.description) to be let in…")
        let answer = Mutex<Answer?>(nil)
        let isAnswered = DispatchSemaphore(value: 0)
        var options = ViewerOptions(
            target: .endpoint(door),
            trust: ViewerOptions.Trust(
                store: store, deviceName: deviceName, code: code,
                asksForCode: window != nil || TerminalQuestions.hasPerson, remembersNewHosts: false),
            window: window)
        options.entersRoom = true
        let reporter = EntryReporter(context, desk: QuestionDesk(terminal), hasWindow: window != nil)
        let viewer = try Viewer(options) { reporter.handle($0) }
        let decide = { @Sendable (new: Answer) in
            let isFirst = answer.withLock { answer in
                guard answer == nil else { return false }
                answer = new
                return true
            }
            guard isFirst else { return }
            viewer.endWindow()
            isAnswered.signal()
        }
        reporter.connect(to: viewer, decide: { decide(.letIn($0)) })
        context.latch.whenEnded { decide(.ended) }
        if let patience {
            DispatchQueue.global().asyncAfter(deadline: .now() + patience.inSeconds) {
                if !reporter.isReached { decide(.notReached) }
            }
        }
        MainActor.assumeIsolated {
            viewer.start()
            guard window != nil else { return isAnswered.wait() }
            do throws(DisplayError) {
                let shown = try ViewerWindow(viewer) {
                    MainWindow.finishWithoutDisplay(context) { try context.conclude($0) }
                }
                shown.run()
                // The person has closed the window, unless there is an answer.
                if answer.withLock({ $0 == nil }) { context.latch.end(viewer.isRefused ? .peerLost(nil) : .done) }
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            isAnswered.wait()
        }
        reporter.end()
        viewer.stop()
        return answer.withLock { $0 } ?? .ended
    }
}

/// Reports how a newcomer is let in, and asks the person for the code.
private final class EntryReporter: Sendable {
    private struct State {
        var decide: (@Sendable (DeviceKey) -> Void)?
        var isReached = false
        var isEnded = false
        var last: String?
    }

    private let context: CommandContext
    private let questions: WatchQuestions
    private let hasWindow: Bool
    private let state = Mutex(State())

    init(_ context: CommandContext, desk: QuestionDesk, hasWindow: Bool) {
        self.context = context
        self.hasWindow = hasWindow
        questions = WatchQuestions(context, hasWindow: hasWindow, desk: desk)
    }

    func connect(to viewer: Viewer, decide: @escaping @Sendable (DeviceKey) -> Void) {
        questions.connect(to: viewer)
        state.withLock { $0.decide = decide }
    }

    /// Somebody has answered at the address.
    var isReached: Bool { state.withLock { $0.isReached } }

    /// What is still said comes from the viewer's end.
    func end() {
        questions.withdrawCode()
        state.withLock { $0.isEnded = true }
    }

    func handle(_ notice: ViewerNotice) {
        guard !state.withLock({ $0.isEnded }) else { return }
        switch notice {
        case .session(.hostReached(let device)):
            state.withLock { $0.isReached = true }
            questions.withdrawCode()
            context.events.write("let-in", ["from": .string(device.hex)])
            state.withLock { $0.decide }?(device)
        case .session(.codeNeeded(let question)):
            state.withLock { $0.isReached = true }
            context.events.write(
                "code-needed",
                [
                    "name": .string(question.host), "wasWrong": .bool(question.problem == .wrong),
                    "wasReplaced": .bool(question.problem == .replaced),
                    "mayAsk": .bool(question.mayAsk),
                ])
        case .session(.waitingForPerson(let name, _)):
            state.withLock { $0.isReached = true }
            context.events.write("asking", ["name": .string(name)])
        case .session(.refused(let refusal)):
            context.events.write(
                "refused",
                ["reason": .string(refusal.reason), "by": .string(refusal.isByHost ? "member" : "newcomer")])
        case .status(let status?): show(status)
        case .warning(let text): context.say("Warning: \(text)")
        case .failed(let reason): context.latch.end(.failed(reason))
        default: break
        }
    }

    /// What isn't about a picture.
    private func show(_ status: ViewerAnnouncement) {
        if status.question == nil { questions.withdrawCode() }
        let isNews = state.withLock { state in
            defer { state.last = status.sentence }
            return state.last != status.sentence
        }
        guard isNews, status.question != nil || status.digits != nil || !status.isWithoutFault else { return }
        questions.show(status)
        // With a window, the person reads it there.
        if status.isFinal, !hasWindow { context.latch.end(.peerLost(nil)) }
    }
}
