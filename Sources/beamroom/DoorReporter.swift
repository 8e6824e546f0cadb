import BeamMedia
import BeamProtocol
import Foundation
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
        /// Whom the code serves at first.
        var service: HostCode.Service
        var codeFile: String?
        var allowsUnencrypted: Bool
    }

    /// The newcomer.
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
        var service: HostCode.Service
        var hasHadCode = false
        /// Until when the code serves; nil: it isn't replaced by itself.
        var codeEnd: Date?
        /// When a code was last replaced.
        var codeUsed: ContinuousClock.Instant?
        /// Of the code's file when it was last read.
        var stamp: CodeFile.Stamp?
        var tally = PeerTally()
        var bell = BellLimit()
        /// The long sentences about the code and about being remembered were said.
        var hasSaidService = false
        var hasSaidPaired: Set<Bool> = []
        /// What those who were refused were told last, by what they are called. A viewer may try again for ever.
        var told: [String: String] = [:]
        /// A member could replace the code again and again.
        var changes = WordLimit()
    }

    private let context: CommandContext
    private let prompt: PairingPrompt
    private let invitation: Invitation
    private let guests: Guests
    /// The names of a room's other members; nil: it is none of them.
    private let memberName: @Sendable (DeviceKey) -> String?
    private let state: Mutex<State>

    init(
        _ context: CommandContext, prompt: PairingPrompt, invitation: Invitation, guests: Guests,
        memberName: @escaping @Sendable (DeviceKey) -> String? = { _ in nil }
    ) {
        self.memberName = memberName
        self.context = context
        self.prompt = prompt
        self.invitation = invitation
        self.guests = guests
        let stamp = invitation.codeFile.flatMap { CodeFile(path: $0).stamp }
        state = Mutex(State(service: invitation.service, stamp: stamp))
    }

    /// The code for those who aren't known; nil: none is accepted.
    var code: PairingCode? { state.withLock { $0.code } }

    /// The code at the start.
    func setCode(_ code: PairingCode?) {
        state.withLock { state in
            state.code = code
            state.hasHadCode = code != nil
            state.codeEnd = state.service == .everybody ? Date() + HostCode.lifetime.inSeconds : nil
        }
    }

    /// Call it once a second. `give` gets the code that was written into the file. A file that is incomplete or missing is
    /// read again a second later.
    func tick(give: (PairingCode) -> Void) {
        sumUp()
        guard let path = invitation.codeFile else { return }
        let file = CodeFile(path: path)
        let (used, known, stamp) = state.withLock { ($0.usedCode, $0.code, $0.stamp) }
        let newStamp = file.stamp
        // A pipe is read again only when its code was used.
        guard used != nil || newStamp != nil && newStamp != stamp, let code = try? file.read() else { return }
        state.withLock { $0.stamp = newStamp }
        guard code != (used ?? known) else { return }
        state.withLock { $0.usedCode = nil }
        give(code)
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
        case .askTaken(let connection, let name): prompt.taken(connection, by: name)
        case .devicePaired(_, let name, let isToBeRemembered): paired(name, isToBeRemembered: isToBeRemembered)
        case .codeChanged(let change): codeChanged(change)
        case .codeServed(let visitor, let isStillValid): codeServed(visitor, isStillValid: isStillValid)
        case .wrongCode(let visitor, let pause): wrongCode(visitor, pause)
        case .viewerRefused(let visitor, let reason):
            let verdict = verdict(on: .viewerRefused, from: visitor.address)
            let isNews = isNews(reason, for: visitor)
            if verdict.toPerson, isNews { console.say("\(visitor) was refused, and told: “\(reason).”") }
            if verdict.toProgram { events.write("refused", Self.fields(visitor, ["reason": .string(reason)])) }
        case .connectionRefused(let address, let reason):
            if verdict(on: .connectionRefused, from: address).toPerson {
                console.say("A connection from \(address) was closed: \(reason).")
            }
        case .connectionsRefused(let count, let addresses):
            console.say(
                "\(CommonText.count(count, "more connection or \(guests.one)", "more connections and \(guests.one)s")) from "
                    + "\(CommonText.count(addresses, "address", "addresses")) \(count == 1 ? "was" : "were") refused in the last 10 s."
            )
            events.write("connections-refused", ["count": .integer(count), "addresses": .integer(addresses)])
        case .acceptingPaused, .listeningFailed, .listeningAgain: listening(event)
        case .codeTried, .codeChecked, .room, .viewerPaired, .mediaStarted, .mediaStopped, .controlLost, .viewerLeft,
            .audience, .layerChanged,
            .layerFitted, .pictureLimited, .overloaded, .framesDropped:
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

    /// Whether the person hasn't read this yet of that visitor.
    private func isNews(_ reason: String, for visitor: Visitor) -> Bool {
        state.withLock { state in
            // Peers can take ever new names.
            if state.told.count >= Self.mostTold { state.told = [:] }
            return state.told.updateValue(reason, forKey: "\(visitor)") != reason
        }
    }

    private static let mostTold = 256

    /// The visitor is let in: what it is told after that is news again.
    func letIn(_ visitor: Visitor) { state.withLock { $0.told["\(visitor)"] = nil } }

    /// Of a viewer that is let in one line is said elsewhere; what follows from that, at the first one.
    private func paired(_ name: String, isToBeRemembered: Bool) {
        let words: String? =
            switch guests {
            case .newcomers: "“\(name)” is let in, and belongs to the room from now on."
            case .viewers where state.withLock({ !$0.hasSaidPaired.insert(isToBeRemembered).inserted }): nil
            case .viewers where isToBeRemembered:
                "“\(name)” is paired: next time no code is needed. So is whoever is let in after it."
            case .viewers:
                "“\(name)” is paired for this time only: when it is started again, it has to be let in again."
            }
        if let words { context.console.say(words) }
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

    /// Shows the code at the start, and whom it serves.
    func sayCode() {
        guard invitation.showsCode, let code else { return }
        context.console.say("Code to type at a new \(place): \(code.spaced) (serves \(serviceWords))")
    }

    private func codeChanged(_ change: CodeChange) {
        let code = change.code
        let isFirst = state.withLock { state in
            defer { state.hasHadCode = state.hasHadCode || code != nil }
            if code == nil, change.reason == .used { state.usedCode = state.code }
            if state.code != nil { state.codeUsed = .now }
            state.code = code
            state.service = change.service
            state.codeEnd = change.left.map { Date() + $0.inSeconds }
            return !state.hasHadCode
        }
        context.events.write(
            "code-changed",
            [
                "why": .string(Self.name(change.reason)), "isThere": .bool(code != nil),
                "seconds": change.left.map { .integer(Int($0.inSeconds.rounded())) },
                "by": change.member.map { .string($0.hex) },
            ])
        if let code {
            guard invitation.showsCode, state.withLock({ $0.changes.allows(at: .now) }) else { return }
            let what = isFirst ? "Code" : why(change).map { $0 + " New code" } ?? "New code"
            context.console.say("\(what) to type at a new \(place): \(code.spaced) (serves \(serviceWords))")
        } else if change.reason != .used {
            return
        } else if let file = invitation.codeFile {
            context.console.say(
                "The code in \(file) was used. To let in another \(guests.one), write a new code into the file.")
        } else {
            context.console.say("The code was used, so it lets in nobody else.")
        }
    }

    /// Why the code is another one, as a sentence; nil: the person knows.
    func why(_ change: CodeChange) -> String? {
        let member = change.member.flatMap { memberName($0) }
        return switch change.reason {
        case .used: invitation.codeFile == nil ? "This code was used." : nil
        case .time: "The last code has served for ten minutes."
        case .wrongTries:
            "\(HostCode.mostWrongTries) wrong codes were typed\(member.map { ", the last one at “\($0)”" } ?? "")."
        case .byMember: member.map { "“\($0)” has replaced the room's code." } ?? "The room's code was replaced."
        case .roomsJoined: "Two parts of the room have met, and have one code now."
        case .memberPutOut: "Whoever was put out knew the last code."
        case .asked, .given: nil
        }
    }

    private static func name(_ reason: CodeChange.Reason) -> String {
        switch reason {
        case .used: "used"
        case .time: "time"
        case .asked: "asked"
        case .wrongTries: "wrong-codes"
        case .given: "given"
        case .byMember: "member"
        case .roomsJoined: "joined"
        case .memberPutOut: "put-out"
        }
    }

    /// Somebody has typed the code and is let in.
    private func codeServed(_ visitor: Visitor, isStillValid: Bool) {
        // In a room whose codes let in one each, the next one is on its way.
        if case .one = state.withLock({ $0.service }) { return }
        let isFirst = state.withLock { state in
            defer { state.hasSaidService = state.hasSaidService || isStillValid }
            return isStillValid && !state.hasSaidService
        }
        guard isFirst else { return }
        context.console.say("\(visitor) has typed the code. It still serves \(serviceWords).")
    }

    /// Whom the code serves and until when, and how to get another one.
    private var serviceWords: String {
        let (service, end) = state.withLock { ($0.service, $0.codeEnd) }
        let whom =
            switch service {
            case .everybody, .room, .always: "everybody" + (end.map { ", until \(CommonText.clock($0))" } ?? "")
            case .one: "one \(guests.one)"
            }
        return whom + (takesKey ? "; c makes a new one" : "")
    }

    /// The person can press a key for a new code.
    private var takesKey: Bool { prompt.takesCommands && invitation.showsCode }

    /// Where the code is typed.
    private var place: String { guests == .viewers ? "viewer" : "member" }

    /// Whoever types the code of a moment ago should know that it is the code that has changed.
    private var hintOfUsedCode: String {
        let (used, code, service) = state.withLock { ($0.codeUsed, $0.code, $0.service) }
        guard case .one = service, let used, .now - used < .seconds(600) else { return "" }
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
