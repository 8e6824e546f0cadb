import BeamDiscovery
import BeamDisplay
import BeamIdentity
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
    /// How the room begins, and whether the others in it are those that the person means.
    struct Entrance {
        var beginning: RoomServer.Beginning
        /// They have proved something, or the person has named their address. Otherwise anybody may have announced the
        /// room, so that nothing is shared in it before the person says so.
        var isProved = true
        /// The room was found on the network.
        var isFound = false
    }

    /// The door of a room that was found on the network.
    struct Room {
        var name: String
        var mark: RoomMark?
        var doors: [Endpoint]
        /// If it doesn't let this device in, that isn't the end: there is another room.
        var isOptional = false
    }

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
    /// Those with whom this device was in a room of this name.
    let acquaintances: @Sendable (_ room: String) -> [DeviceKey: String]

    /// How long a member that was found is tried before another one is.
    private static let patience = Duration.seconds(5)
    /// How long a member that was found may be announced no more, before the room is sought anew.
    private static let absence = Duration.seconds(2)

    /// Finds or enters the room. Waits for the network and the person, on the main thread.
    ///
    /// - Parameters:
    ///   - wanted: the room's name; nil: the only one, or one named after `machine`.
    ///   - address: of a member; nil: the room is sought.
    ///   - avoiding: rooms that don't let this device in.
    /// - Returns: nil if the program is to end.
    func find(
        _ wanted: String?, at address: WatchTarget?, machine: String, within time: Duration,
        avoiding avoided: Set<RoomMark?> = []
    ) throws -> Entrance? {
        if let endpoint = address?.address { return try enter(at: numeric(endpoint)) }
        let kept = try store.rooms()
        if let wanted, let known = kept.first(where: { DeviceNames.areSame($0.room.name, wanted) }) {
            return Entrance(beginning: .resume(known.room(at: Date())))
        }
        while context.latch.current == nil {
            let found = (presence?.rooms(within: time) ?? []).filter { room in
                // One without a mark is known by its name alone.
                guard let standing = room.standing else {
                    return !(avoided.contains(nil) && wanted.map { DeviceNames.areSame(room.room, $0) } ?? true)
                }
                return !avoided.contains(standing.mark)
            }
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
                    return Entrance(beginning: .resume(known.room(at: Date())))
                }
            }
            // Of one name, the room that stays comes first.
            guard let room = found.first(where: { DeviceNames.areSame($0.room, name) }) else {
                return Entrance(beginning: .found(name: name))
            }
            let answer = try enter(Room(name: room.room, mark: room.standing?.mark, doors: room.doors))
            // Its members have gone to another one, for example.
            guard case .gone = answer else { return answer.entrance }
        }
        return nil
    }

    /// Asks at an address that the person has named, and that may have several forms.
    private func enter(at doors: [Endpoint]) throws -> Entrance? {
        for (index, door) in doors.enumerated() {
            switch try knock(at: door, of: nil, patience: index == doors.count - 1 ? nil : Self.patience) {
            case .letIn(let device, _): return Entrance(beginning: .enter(through: device, at: door))
            case .notReached: continue
            case .gone, .declined, .ended: return nil
            }
        }
        return nil
    }

    /// Those with whom this device is in a room of this name, by what it keeps; nobody who was put out of one.
    static func acquaintances(in room: String, store: TrustStore, own: LocalIdentity) -> [DeviceKey: String] {
        // Without the list everybody is asked about.
        let kept = ((try? store.rooms()) ?? []).filter { DeviceNames.areSame($0.room.name, room) }
        var members: [DeviceKey: String] = [:]
        var putOut: Set<DeviceKey> = []
        for people in kept.map({ $0.room.people(own.roomSigning) }) {
            members.merge(people.members) { newer, _ in newer }
            putOut.formUnion(people.putOut)
        }
        return members.filter { $0.key != own.deviceKey && !putOut.contains($0.key) }
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

    /// What came of asking at a room's doors.
    enum Outcome {
        case entered(Entrance)
        /// The room isn't announced any more.
        case gone
        /// It doesn't let this device in, or isn't reached, and there is another one (`Room.isOptional`).
        case declined
        /// The program is to end.
        case ended

        var entrance: Entrance? {
            if case .entered(let entrance) = self { entrance } else { nil }
        }
    }

    /// Asks the members of the room to be let in, one after another as long as none is reached.
    func enter(_ room: Room) throws -> Outcome {
        for (index, door) in room.doors.enumerated() {
            let isLast = index == room.doors.count - 1
            switch try knock(at: door, of: room, patience: isLast && !room.isOptional ? nil : Self.patience) {
            case .letIn(let device, let isProved):
                return .entered(
                    Entrance(beginning: .enter(through: device, at: door), isProved: isProved, isFound: true))
            case .notReached: continue
            case .gone: return .gone
            case .declined: return .declined
            case .ended: return .ended
            }
        }
        return room.isOptional ? .declined : .gone
    }

    /// Asks at the doors of the room without disturbing anybody: enters it only if a member of it is known here, and lets
    /// this device in at once. Not on the main thread.
    func enterQuietly(_ room: Room) -> Entrance? {
        let known = acquaintances(room.name)
        guard !known.isEmpty else { return nil }
        for door in room.doors {
            let answer = EntryAnswer()
            var trust = ViewerOptions.Trust(
                store: store, deviceName: deviceName, pairs: false, remembersNewHosts: false)
            trust.acquaintances = known
            var options = ViewerOptions(target: .endpoint(door), trust: trust)
            options.usesBluetooth = false
            let viewer = try? Viewer(options) { notice in
                switch notice {
                case .session(.hostReached(let device)): answer.decide(.letIn(device, isProved: known[device] != nil))
                case .session(.refused), .session(.mistrusted), .failed: answer.decide(.declined)
                default: break
                }
            }
            guard let viewer else { return nil }
            viewer.start()
            answer.wait(atMost: Self.patience)
            viewer.stop()
            if case .letIn(let device, true)? = answer.current {
                return Entrance(beginning: .enter(through: device, at: door), isFound: true)
            }
        }
        return nil
    }

    /// Asks one member, as a viewer asks a host.
    ///
    /// - Parameters:
    ///   - room: as it was found; nil: the person has named the address.
    ///   - patience: how long to try to reach it; nil: until it is there or the person gives up.
    private func knock(at door: Endpoint, of room: Room?, patience: Duration?) throws -> EntryAnswer.Kind {
        context.say(
            room.map { "Asking the member of “\(PeerText.name($0.name))” at \(door.description) to be let in…" }
                ?? "Asking the member at \(door.description) to be let in…")
        let answer = EntryAnswer()
        let known = room.map { acquaintances($0.name) } ?? [:]
        var trust = ViewerOptions.Trust(
            store: store, deviceName: deviceName, code: code,
            asksForCode: window != nil || TerminalQuestions.hasPerson, remembersNewHosts: false)
        trust.acquaintances = known
        var options = ViewerOptions(target: .endpoint(door), trust: trust, window: window)
        options.isAtRoomDoor = true
        let reporter = EntryReporter(
            context, desk: QuestionDesk(terminal), hasWindow: window != nil, isOptional: room?.isOptional ?? false,
            known: Set(known.keys))
        let viewer = try Viewer(options) { reporter.handle($0) }
        let decide = { @Sendable (new: EntryAnswer.Kind) in
            if answer.decide(new) { viewer.endWindow() }
        }
        reporter.connect(to: viewer, decide: decide)
        context.latch.whenEnded { decide(.ended) }
        if let patience {
            DispatchQueue.global().asyncAfter(deadline: .now() + patience.inSeconds) {
                if !reporter.isReached { decide(.notReached) }
            }
        }
        let watch = room.flatMap { room in
            presence.map { presence in
                AbsenceWatch(of: room.mark, at: door, in: presence, for: Self.absence) {
                    if !reporter.isTalking { decide(.gone) }
                }
            }
        }
        defer { watch?.end() }
        MainActor.assumeIsolated {
            viewer.start()
            guard window != nil else { return answer.wait() }
            do throws(DisplayError) {
                let shown = try ViewerWindow(viewer) {
                    MainWindow.finishWithoutDisplay(context) { try context.conclude($0) }
                }
                shown.run()
                // The person has closed the window, unless there is an answer.
                if answer.current == nil {
                    if shown.hasGivenUpCode, room?.isOptional == true {
                        _ = answer.decide(.declined)
                    } else {
                        context.latch.end(viewer.isRefused ? .peerLost(nil) : .done)
                    }
                }
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            answer.wait()
        }
        reporter.end()
        viewer.stop()
        // However the program ends, this device wasn't let in.
        if case .ended? = answer.current, viewer.isRefused { context.latch.noteRefusal() }
        return answer.current ?? .ended
    }
}

/// What comes of asking a member; the first answer counts.
private final class EntryAnswer: Sendable {
    enum Kind: Sendable {
        /// `isProved`: it is the one that the person means, by its code or because it is known.
        case letIn(DeviceKey, isProved: Bool)
        case notReached
        /// It isn't announced any more.
        case gone
        /// It doesn't let this device in, and there is another room.
        case declined
        /// The program is to end.
        case ended
    }

    private let kind = Mutex<Kind?>(nil)
    private let isDecided = DispatchSemaphore(value: 0)

    var current: Kind? { kind.withLock { $0 } }

    /// Returns whether it is the first.
    @discardableResult func decide(_ new: Kind) -> Bool {
        let isFirst = kind.withLock { kind in
            guard kind == nil else { return false }
            kind = new
            return true
        }
        if isFirst { isDecided.signal() }
        return isFirst
    }

    func wait(atMost time: Duration? = nil) {
        guard let time else { return isDecided.wait() }
        _ = isDecided.wait(timeout: .now() + time.inSeconds)
    }
}

/// Notices that a room isn't announced at an address any more.
private final class AbsenceWatch: Sendable {
    private let ticker: EverySecond

    init(
        of mark: RoomMark?, at door: Endpoint, in presence: RoomPresence, for time: Duration,
        _ action: @escaping @Sendable () -> Void
    ) {
        let absent = Mutex<ContinuousClock.Instant?>(nil)
        ticker = EverySecond {
            let isAnnounced = presence.isAnnounced(mark, at: door)
            let since = absent.withLock { absent in
                absent = isAnnounced ? nil : absent ?? .now
                return absent
            }
            if let since, .now - since >= time { action() }
        }
    }

    func end() { ticker.cancel() }
}

/// Reports how a newcomer is let in, and asks the person for the code.
private final class EntryReporter: Sendable {
    private struct State {
        var decide: (@Sendable (EntryAnswer.Kind) -> Void)?
        var isReached = false
        /// It has answered over the present connection.
        var isTalking = false
        /// Digits are compared, so that only the person there has a proof.
        var hasCompared = false
        /// Both have proved that they know the code.
        var hasProvedCode = false
        var isEnded = false
        var last: String?
    }

    private let context: CommandContext
    private let questions: WatchQuestions
    private let hasWindow: Bool
    /// There is another room.
    private let isOptional: Bool
    private let known: Set<DeviceKey>
    private let state = Mutex(State())

    init(
        _ context: CommandContext, desk: QuestionDesk, hasWindow: Bool, isOptional: Bool, known: Set<DeviceKey>
    ) {
        self.isOptional = isOptional
        self.known = known
        self.context = context
        self.hasWindow = hasWindow
        questions = WatchQuestions(context, hasWindow: hasWindow, desk: desk)
    }

    func connect(to viewer: Viewer, decide: @escaping @Sendable (EntryAnswer.Kind) -> Void) {
        questions.connect(to: viewer)
        state.withLock { $0.decide = decide }
    }

    /// Somebody has answered at the address.
    var isReached: Bool { state.withLock { $0.isReached } }

    /// A connection is there, and the person is asked here or there.
    var isTalking: Bool { state.withLock { $0.isTalking } }

    /// What is still said comes from the viewer's end.
    func end() {
        questions.withdrawCode()
        state.withLock { $0.isEnded = true }
    }

    func handle(_ notice: ViewerNotice) {
        guard !state.withLock({ $0.isEnded }) else { return }
        switch notice {
        case .session(.hostReached(let device)):
            let (decide, hasProvedCode) = state.withLock { state in
                state.isReached = true
                return (state.decide, state.hasProvedCode)
            }
            questions.withdrawCode()
            context.events.write("let-in", ["from": .string(device.hex)])
            decide?(.letIn(device, isProved: hasProvedCode || known.contains(device)))
        case .session(.waitingForDecision): state.withLock { ($0.hasCompared, $0.isTalking) = (true, true) }
        case .session(.connecting), .session(.retrying): state.withLock { $0.isTalking = false }
        case .session(.hostPaired): state.withLock { $0.hasProvedCode = !$0.hasCompared }
        case .session(.codeNeeded(let question)):
            state.withLock { ($0.isReached, $0.isTalking, $0.hasCompared) = (true, true, false) }
            context.events.write(
                "code-needed",
                [
                    "name": .string(question.host), "wasWrong": .bool(question.problem == .wrong),
                    "wasReplaced": .bool(question.problem == .replaced),
                    "mayAsk": .bool(question.mayAsk),
                ])
        case .session(.waitingForPerson(let name, _)):
            state.withLock { ($0.isReached, $0.isTalking) = (true, true) }
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
        if status.isFinal, isOptional {
            state.withLock { $0.decide }?(.declined)
            return
        }
        // With a window, the person reads it there.
        if status.isFinal, !hasWindow { context.latch.end(.peerLost(nil)) }
    }
}
