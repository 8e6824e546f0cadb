import BeamMedia
import BeamProtocol
import Synchronization

/// Reports who asks to be let in, to a host or into a room, and passes the questions on to the person.
final class DoorReporter: Sendable {
    /// How those who aren't known are let in.
    struct Invitation: Sendable {
        var acceptance: HostSession.Acceptance
        var isTrustedOnly: Bool
        /// The code is shown on this terminal.
        var showsCode: Bool
        /// A code was given.
        var hasCode: Bool
        var codeFile: String?
        var allowsUnencrypted: Bool
    }

    /// Who comes.
    enum Guests: Sendable {
        case viewers
        /// They enter a room.
        case newcomers

        /// `viewer`, `newcomer`.
        fileprivate var one: String { self == .viewers ? "viewer" : "newcomer" }
    }

    private struct State {
        /// The code from the file, once it was used.
        var usedCode: PairingCode?
        var code: PairingCode?
        /// When a code was last used up.
        var codeUsed: ContinuousClock.Instant?
        var tally = PeerTally()
        var bell = BellLimit()
    }

    private let context: CommandContext
    private let prompt: PairingPrompt
    private let invitation: Invitation
    private let guests: Guests
    private let state = Mutex(State())

    init(_ context: CommandContext, prompt: PairingPrompt, invitation: Invitation, guests: Guests) {
        self.context = context
        self.prompt = prompt
        self.invitation = invitation
        self.guests = guests
    }

    /// The code for those who aren't known; nil: none is accepted.
    var code: PairingCode? { state.withLock { $0.code } }

    /// The code at the start.
    func setCode(_ code: PairingCode?) { state.withLock { $0.code = code } }

    /// Call it once a second. `renew` gets the new code that the file holds after the last one was used. A file that is
    /// incomplete or missing is read again a second later.
    func tick(renew: (PairingCode) -> Void) {
        sumUp()
        guard let path = invitation.codeFile, let used = state.withLock({ $0.usedCode }),
            let code = try? CodeFile(path: path).read(), code != used
        else { return }
        state.withLock { $0.usedCode = nil }
        renew(code)
    }

    // MARK: What strangers cause

    /// Whether an event that anybody on the network can cause is reported now, or summed up later.
    func verdict(on kind: PeerTally.Kind, from address: IPAddress) -> PeerTally.Verdict {
        sumUp()
        return state.withLock { $0.tally.note(kind, from: address, now: .now) }
    }

    /// Reports what was left out in the periods that are over.
    private func sumUp() {
        for summary in state.withLock({ $0.tally.takeSummaries(now: .now) }) {
            if summary.isForPerson { context.console.say(summary.words) }
            if summary.isForProgram {
                context.events.write(
                    "unknown-peers",
                    [
                        "what": .string(summary.kind.name), "count": .integer(summary.count),
                        "addresses": .integer(summary.addresses),
                        "seconds": .integer(Int(PeerTally.period.inSeconds)),
                    ])
            }
        }
    }

    // MARK: Events

    /// Returns whether it was about the door.
    func handle(_ event: HostEvent) -> Bool {
        let console = context.console
        let events = context.events
        switch event {
        case .viewerAsks(let connection, let code, let visitor):
            noteQuestion(visitor)
            prompt.ask(connection, code: code, from: visitor)
        case .comparisonAsked(let connection, let visitor):
            noteQuestion(visitor)
            prompt.askToCompare(connection, from: visitor)
        case .digitsShown(let connection, let digits, _):
            prompt.compare(connection, digits: digits)
        case .comparisonFailed(let visitor, let reason, let failures):
            console.say(
                "Comparing digits with \(visitor) failed: \(reason)."
                    + (failures < 3
                        ? "" : " \(failures) comparisons have failed within a day: somebody may be guessing digits."))
            events.write(
                "comparison-failed",
                Self.fields(visitor, ["reason": .string(reason), "failures": .integer(failures)]))
        case .askWithdrawn(let connection): prompt.withdraw(connection)
        case .devicePaired(_, let name, let isToBeRemembered): paired(name, isToBeRemembered: isToBeRemembered)
        case .codeChanged(let code): codeChanged(code)
        case .wrongCode(let visitor, let pause): wrongCode(visitor, pause)
        case .viewerRefused(let visitor, let reason):
            let verdict = verdict(on: .viewerRefused, from: visitor.address)
            if verdict.toPerson { console.say("\(visitor) was refused, and told: “\(reason).”") }
            if verdict.toProgram { events.write("refused", Self.fields(visitor, ["reason": .string(reason)])) }
        case .connectionRefused(let address, let reason):
            if verdict(on: .connectionRefused, from: address).toPerson {
                console.say("A connection from \(address) was closed: \(reason).")
            }
        case .connectionsRefused(let count, let addresses):
            console.say(
                "\(Words.count(count, "more connection or \(guests.one)", "more connections and \(guests.one)s")) from "
                    + "\(Words.count(addresses, "address", "addresses")) \(count == 1 ? "was" : "were") refused in the last 10 s."
            )
            events.write("connections-refused", ["count": .integer(count), "addresses": .integer(addresses)])
        case .acceptingPaused, .listeningFailed, .listeningAgain: listening(event)
        case .room, .viewerPaired, .mediaStarted, .mediaStopped, .controlLost, .viewerLeft, .audience, .layerChanged,
            .layerFitted, .pictureLimited, .framesDropped:
            return false
        }
        return true
    }

    /// Somebody asks to be let in.
    private func noteQuestion(_ visitor: Visitor) {
        if verdict(on: .question, from: visitor.address).toProgram {
            context.events.write("pairing", Self.fields(visitor))
        }
        if state.withLock({ $0.bell.allows(visitor.address, now: .now) }) { context.console.ring() }
    }

    private func paired(_ name: String, isToBeRemembered: Bool) {
        let words =
            switch guests {
            case .newcomers: "“\(name)” is let in, and belongs to the room from now on."
            case .viewers where isToBeRemembered: "“\(name)” is paired: next time no code is needed."
            case .viewers:
                "“\(name)” is paired for this time only: when it is started again, it has to be let in again."
            }
        context.console.say(words)
        context.events.write("device-paired", ["name": .string(name), "remembered": .bool(isToBeRemembered)])
    }

    private func wrongCode(_ visitor: Visitor, _ pause: Duration?) {
        let verdict = verdict(on: .wrongCode, from: visitor.address)
        let seconds = pause.map { Int($0.inSeconds.rounded(.up)) }
        if verdict.toPerson {
            context.console.say(
                "\(visitor) typed a wrong code.\(hintOfUsedCode)"
                    + (seconds.map { " Too many wrong codes: the next one is checked in \($0) s." } ?? ""))
        }
        if verdict.toProgram {
            context.events.write("wrong-code", Self.fields(visitor, ["pause": seconds.map { .integer($0) }]))
        }
    }

    private func listening(_ event: HostEvent) {
        switch event {
        case .acceptingPaused(let reason):
            context.console.say(
                "New \(guests.one)s have to wait: the system has no room for another connection (\(reason)). The "
                    + "program tries again twice a second. If this lasts, close other programs, or raise the limit with "
                    + "`ulimit -n` before `beamroom \(guests == .viewers ? "share" : "room")`.")
        case .listeningFailed(let reason):
            context.console.say(
                "Warning: No new \(guests.one) can connect, because the port was lost (\(reason)). The program tries "
                    + "to open it again twice a second. Those who are connected already aren't affected.")
            context.events.write("listening", ["on": .bool(false), "reason": .string(reason)])
        case .listeningAgain:
            context.console.say("New \(guests.one)s can connect again.")
            context.events.write("listening", ["on": .bool(true)])
        default: break
        }
    }

    // MARK: The code

    /// A code was used, or the file holds a new one. Nil: no code until the file holds another.
    private func codeChanged(_ code: PairingCode?) {
        state.withLock { state in
            if code == nil { state.usedCode = state.code }
            if state.code != nil { state.codeUsed = .now }
            state.code = code
        }
        if let code {
            let used = invitation.codeFile == nil ? "This code was used. " : ""
            if invitation.showsCode {
                context.console.say("\(used)New code to type at a new \(place): \(code.spaced)")
            }
        } else if let file = invitation.codeFile {
            context.console.say(
                "The code in \(file) was used. To let in another \(guests.one), write a new code into the file.")
        } else {
            context.console.say("The code was used, so it lets in nobody else.")
        }
    }

    /// Where the code is typed.
    private var place: String { guests == .viewers ? "viewer" : "member" }

    /// Whoever types the code of a moment ago should know that it is the code that has changed.
    private var hintOfUsedCode: String {
        let (used, code) = state.withLock { ($0.codeUsed, $0.code) }
        guard let used, .now - used < .seconds(600) else { return "" }
        let words = " A code lets in one \(guests.one), and the last one was used."
        guard let code, invitation.showsCode else { return words }
        return "\(words) The code to type now: \(code.spaced)"
    }

    /// A visitor, for a program.
    static func fields(
        _ visitor: Visitor, _ more: [String: EventWriter.Value?] = [:]
    ) -> [String: EventWriter.Value?] {
        var fields = more
        fields["address"] = .string("\(visitor.address)")
        fields["name"] = visitor.name.map { .string($0) }
        return fields
    }
}
