import BeamLog
import BeamMedia
import BeamSession
import BeamWire
import Foundation
import Synchronization

/// Reports who asks to be let in, to a host or into a room, and passes the questions on to the person.
public final class DoorReporter: Sendable {
    /// How those who aren't known are let in.
    public struct Invitation: Sendable {
        public var acceptance: Door.Acceptance
        public var isTrustedOnly: Bool
        /// The code is shown on this terminal.
        public var showsCode: Bool
        /// A code was given.
        public var hasCode: Bool
        /// The devices that the code serves at first.
        public var service: HostCode.Service
        public var codeFile: String?
        public var allowsUnencrypted: Bool
        /// Nil: no browsers are let in.
        public var web: Web?

        /// How browsers are let in.
        public struct Web: Sendable {
            /// Their code is shown on this terminal.
            public var showsCode: Bool
            /// Each code lets in one.
            public var servesOne: Bool
            public var codeFile: String?
            public var isHTTPSOnly: Bool
            /// The address is shown as a QR code at the start.
            public var showsQRCode: Bool
            /// https shows this machine's own certificate, which browsers warn of.
            public var hasOwnCertificate: Bool

            public init(
                showsCode: Bool, servesOne: Bool, codeFile: String?, isHTTPSOnly: Bool, showsQRCode: Bool,
                hasOwnCertificate: Bool
            ) {
                (self.showsCode, self.servesOne, self.codeFile) = (showsCode, servesOne, codeFile)
                (self.isHTTPSOnly, self.showsQRCode) = (isHTTPSOnly, showsQRCode)
                self.hasOwnCertificate = hasOwnCertificate
            }
        }

        public init(
            acceptance: Door.Acceptance, isTrustedOnly: Bool, showsCode: Bool, hasCode: Bool,
            service: HostCode.Service, codeFile: String?, allowsUnencrypted: Bool, web: Web? = nil
        ) {
            self.web = web
            (self.acceptance, self.isTrustedOnly, self.showsCode) = (acceptance, isTrustedOnly, showsCode)
            (self.hasCode, self.service, self.codeFile) = (hasCode, service, codeFile)
            self.allowsUnencrypted = allowsUnencrypted
        }
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
        var bell = BellLimit()
        /// The long sentences about the code and about being remembered were said.
        var hasSaidService = false
        var hasSaidPaired: Set<Bool> = []
        /// What those who were refused were told last, by what they are called. A viewer may try again for ever.
        var told: [String: String] = [:]
    }

    private let context: CommandContext
    private let person: any DoorPerson
    private let invitation: Invitation
    private let text: DoorText
    /// The names of a room's other members; nil: it is none of them.
    private let memberName: @Sendable (DeviceKey) -> String?
    private let state: Mutex<State>

    public init(
        _ context: CommandContext, person: any DoorPerson, invitation: Invitation, guests: DoorText.Guests,
        memberName: @escaping @Sendable (DeviceKey) -> String? = { _ in nil }
    ) {
        self.memberName = memberName
        self.context = context
        self.person = person
        self.invitation = invitation
        text = DoorText(guests: guests)
        let stamp = invitation.codeFile.flatMap { CodeFile(path: $0).stamp }
        state = Mutex(State(service: invitation.service, stamp: stamp))
    }

    /// The code for those who aren't known; nil: none is accepted.
    public var code: PairingCode? { state.withLock { $0.code } }

    /// The code at the start.
    public func setCode(_ code: PairingCode?) {
        state.withLock { state in
            state.code = code
            state.hasHadCode = code != nil
            state.codeEnd = state.service == .everybody ? Date() + HostCode.lifetime.inSeconds : nil
        }
    }

    /// Call it once a second. `give` gets the code that was written into the file. A file that is incomplete or missing is
    /// read again a second later.
    public func tick(give: (PairingCode) -> Void) {
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

    /// Reports an event that anybody on the network can cause now, or sums it up later. Nil: nothing is written, or said.
    func tell(
        _ flood: Flood, from address: IPAddress, _ event: ProgramEvent.Pairing?, _ words: @autoclosure () -> String?
    ) {
        sumUp()
        let verdict = context.floods.note(flood, from: address)
        if verdict.toPerson, let words = words() { context.say(words) }
        if verdict.toProgram, let event { context.events.write(.pairing(event)) }
    }

    /// Reports what was left out in the periods that are over.
    private func sumUp() {
        for summary in context.floods.takeSummaries() {
            if summary.isForPerson { context.say(summary.words) }
            if summary.isForProgram { context.events.write(summary.event) }
        }
    }

    // MARK: Events

    /// Returns whether it was about the door.
    public func handle(_ event: HostEvent) -> Bool {
        switch event {
        case .viewerAsks(let connection, let code, let visitor):
            noteQuestion(visitor)
            person.ask(connection, code: code, from: visitor)
        case .comparisonAsked(let connection, let visitor):
            noteQuestion(visitor)
            person.askToCompare(connection, from: visitor)
        case .browserAsks(let connection, let visitor):
            noteQuestion(visitor)
            person.askAboutBrowser(connection, from: visitor)
        case .digitsShown(let connection, let digits, _): person.compare(connection, digits: digits)
        case .comparisonFailed(let visitor, let reason, let failures):
            context.tell(
                .pairing(.comparisonFailed(visitor, reason: reason, failures: failures)),
                DoorText.comparisonFailed(visitor, reason, failures: failures))
        case .askWithdrawn(let connection): person.withdraw(connection)
        case .askTaken(let connection, let name): person.taken(connection, by: name)
        case .devicePaired(_, let name, let isToBeRemembered): paired(name, isToBeRemembered: isToBeRemembered)
        case .codeChanged(let change): codeChanged(change)
        case .codeServed(let visitor, let isStillValid): codeServed(visitor, isStillValid: isStillValid)
        case .wrongCode(let visitor, let pause):
            let seconds = pause.map { Int($0.inSeconds.rounded(.up)) }
            tell(
                .wrongCode, from: visitor.address, .wrongCode(visitor, pauseSeconds: seconds),
                "\(visitor) typed a wrong code.\(hintOfUsedCode)"
                    + (seconds.map { " Too many wrong codes: the next one is checked in \($0) s." } ?? ""))
        case .viewerRefused(let visitor, let reason):
            let isNews = isNews(reason, for: visitor)
            tell(
                .viewerRefused, from: visitor.address, .refused(visitor, reason: reason),
                isNews ? "\(visitor) was refused, and told: “\(reason).”" : nil)
        case .connectionRefused(let address, let reason):
            tell(
                .connectionRefused, from: address, nil, "A connection from \(address) was closed: \(reason).")
        case .connectionsRefused(let count, let addresses):
            context.tell(
                .pairing(.connectionsRefused(count: count, addresses: addresses)),
                text.connectionsRefused(count, addresses: addresses))
        case .acceptingPaused(let reason): context.say(text.acceptingPaused(reason))
        case .listeningFailed(let reason):
            context.tell(.pairing(.listening(failure: reason)), text.listeningFailed(reason))
        case .listeningAgain: context.tell(.pairing(.listening(failure: nil)), text.listeningAgain)
        case .codeTried, .codeChecked, .webCodeChanged, .room, .viewerPaired, .mediaStarted, .mediaStopped,
            .controlLost, .viewerLeft, .expectedGuest, .audience, .layerChanged, .layerFitted, .pictureLimited,
            .overloaded,
            .framesDropped:
            return false
        }
        return true
    }

    /// Somebody asks to be let in.
    private func noteQuestion(_ visitor: Visitor) {
        tell(.question, from: visitor.address, .asked(visitor), nil)
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
        let isNews =
            text.guests == .newcomers
            || state.withLock({ $0.hasSaidPaired.insert(isToBeRemembered).inserted })
        context.tell(
            .pairing(.devicePaired(name: name, isRemembered: isToBeRemembered)),
            isNews ? text.paired(name, isToBeRemembered: isToBeRemembered) : nil)
    }

    // MARK: The code

    /// Shows the code at the start, and says which devices it serves.
    public func sayCode() {
        guard invitation.showsCode, let code else { return }
        context.say(text.code(code, "Code", serves: serviceWords))
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
        context.events.write(.pairing(.codeChanged(change)))
        if let code {
            guard invitation.showsCode else { return }
            let what = isFirst ? "Code" : why(change).map { $0 + " New code" } ?? "New code"
            context.say(text.code(code, what, serves: serviceWords), as: .code)
        } else if change.reason == .used {
            context.say(text.codeUsed(file: invitation.codeFile))
        }
    }

    /// Why the code is another one, as a sentence; nil: the person knows.
    public func why(_ change: CodeChange) -> String? {
        DoorText.why(
            change.reason, member: change.member.flatMap { memberName($0) }, isFile: invitation.codeFile != nil)
    }

    /// Somebody has typed the code and is let in.
    private func codeServed(_ visitor: Visitor, isStillValid: Bool) {
        // In a room whose codes let in one each, the next one is on its way.
        if case .one = state.withLock({ $0.service }) { return }
        if text.guests == .senders { return }
        let isFirst = state.withLock { state in
            defer { state.hasSaidService = state.hasSaidService || isStillValid }
            return isStillValid && !state.hasSaidService
        }
        guard isFirst else { return }
        context.say("\(visitor) has typed the code. It still serves \(serviceWords).")
    }

    private var serviceWords: String {
        let (service, end) = state.withLock { ($0.service, $0.codeEnd) }
        return text.service(service, until: end, takesKey: person.takesCommands && invitation.showsCode)
    }

    /// Tells somebody who types the code of a moment ago that the code has changed.
    private var hintOfUsedCode: String {
        let (used, code, service) = state.withLock { ($0.codeUsed, $0.code, $0.service) }
        guard case .one = service, let used, .now - used < .seconds(600) else { return "" }
        let words = " A code lets in one \(text.guests.one), and the last one was used."
        guard let code, invitation.showsCode else { return words }
        return "\(words) The code to type now: \(code.spaced)"
    }
}
