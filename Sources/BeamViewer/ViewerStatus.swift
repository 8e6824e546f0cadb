import BeamLog
import BeamMedia
import BeamSession
import BeamWire

/// What the viewer is doing: one state, which has one sentence for the person, or none while the picture is live.
struct ViewerStatus: Sendable {
    /// The question for the host's code.
    struct Code: Sendable {
        var question: CodeQuestion
        var step = Step.typing

        enum Step: Sendable {
            case typing
            /// The person at the host is asked; the code can still be typed.
            case asking
            /// The code was typed and sent, and the host hasn't answered. `delay`: why it isn't checked yet.
            case proving(delay: String?)
        }
    }

    enum Phase: Sendable {
        case searching(name: String?)
        case picking
        case connecting
        case waitingForPerson
        case waitingForDecision(PairingCode)
        case code(Code)
        case waitingForPicture
        /// The host has admitted this viewer, but no datagram has arrived.
        case noDatagrams
        case notSharing
        /// With the host's words, not cleaned, if it gives a reason.
        case ended(says: String?)
        case playing
        case stalled(StallCause, seconds: Int)
        /// Another host has answered, and the right one is waited for.
        case mistrusting(ViewerRefusal)
        case refused(ViewerRefusal)
        /// The decoder refuses the host's stream.
        case streamRefused(reason: String)
    }

    private(set) var phase: Phase
    /// What is connected to, as it was typed or picked. A name that the host gives meanwhile is no other state.
    private(set) var target: String?
    /// The same without quotation marks, for commands.
    private(set) var watched: String?
    /// The host's name; nil if it isn't known.
    private(set) var hostName: String? {
        didSet { hostName = hostName.map { PeerText.name($0) } }
    }
    /// `hostName` is the address that the person has typed. A name is quoted.
    private(set) var isAddress = false
    private(set) var refusal: ViewerRefusal?
    /// Version 1: everybody on the network can see the picture.
    private(set) var isUnencrypted = false
    /// A picture of what is shared now has been decoded.
    private(set) var hasPicture = false
    /// Frames that began to arrive before this time are of an earlier session or share.
    private var shareBegin = MediaTime.distantPast
    /// While what is shared can't be seen at the host, the last picture stays.
    private(set) var sourceVisibility = SourceVisibility.visible
    private var condition = ShareCondition()
    /// In a room of equals: the member whose screen this is has paused.
    private(set) var isHeldByMember = false
    /// The same: the name of the member through whom the picture comes, who could show another one; nil: it comes from
    /// the one whose screen it is.
    private(set) var relay: String?
    /// The picture can only be got through the member of this name, and the person is asked.
    private(set) var neededRelay: String?
    /// This viewer asks at the door of a room, whose members aren't named to strangers.
    private(set) var isAtRoomDoor = false
    /// The host is a receiver, which is to show what is shared here.
    var isAtReceiver = false
    /// This is a receiver, and the host has come to it by itself: nobody here has asked for anything.
    var isSentHere = false
    /// `condition` is of an earlier session. The room tells whether the host was started again since.
    private(set) var isConditionOld = false
    /// How dependable the connection to the host is.
    private(set) var connection = ConnectionState.connecting
    /// When the connection to a host that was watched was lost; nil: it isn't.
    private var lossTime: TimeOfDay?
    /// The same, once an attempt to reconnect has failed, too.
    private(set) var lostSince: TimeOfDay?
    /// Why the last attempt to connect has failed, as a clause.
    private(set) var failure: String?
    /// Why hosts can't be discovered, in sentences.
    private(set) var discoveryProblem: String?
    /// The addresses at which the host was before are tried.
    private(set) var triesAddresses = false

    init(searchingFor name: String?) {
        phase = .searching(name: name)
        hostName = name
        watched = name
        target = quotedName
    }

    /// Asks at the door of a room.
    static func atRoomDoor(_ address: String) -> ViewerStatus {
        var status = ViewerStatus(connectingTo: address, isAddress: true)
        status.isAtRoomDoor = true
        return status
    }

    /// - Parameter isAddress: it is no name, and isn't quoted.
    init(connectingTo host: String, isAddress: Bool = false) {
        phase = .connecting
        hostName = host
        self.isAddress = isAddress
        watched = host
        target = quotedName
    }

    // MARK: Discovery

    mutating func picking() { phase = .picking }

    mutating func searching() { phase = .searching(name: nil) }

    mutating func chosen(_ name: String) {
        call(name)
        target = quotedName
        watched = hostName
        phase = .connecting
    }

    /// The host that is looked for by name has been discovered.
    mutating func found() {
        guard case .searching = phase else { return }
        failure = nil
        phase = .connecting
    }

    /// Why hosts can't be discovered at present; nil: they can. `triesAddresses`: the host is looked for where it was
    /// before, too.
    mutating func discovery(problem: String?, triesAddresses: Bool = false) {
        discoveryProblem = problem
        self.triesAddresses = triesAddresses
    }

    // MARK: The picture

    /// A picture has been decoded. Returns whether that has changed what is to be said.
    ///
    /// Pictures and events come by different ways and threads, so a picture may be here before the event that says that
    /// the host shares again. It is remembered then: on a still screen there is no next one.
    ///
    /// - Parameter arrival: when the first datagram of its frame arrived.
    mutating func pictureArrived(_ arrival: MediaTime = .now) -> Bool {
        guard arrival >= shareBegin else { return false }
        let isFirst = !hasPicture
        hasPicture = true
        switch phase {
        case .searching, .picking:
            // Of a host that was given up.
            hasPicture = false
            return false
        case .playing, .code, .waitingForDecision, .waitingForPerson, .ended, .notSharing, .refused, .mistrusting:
            return false
        // Now and then a picture gets through. `mediaResumed` says when it goes on.
        case .stalled(.loss, _) where !isFirst, .stalled(.tooSlow, _) where !isFirst:
            return false
        default:
            phase = .playing
            return true
        }
    }

    /// From here on only later frames count.
    private mutating func forgetPicture() {
        hasPicture = false
        shareBegin = .now
    }

    /// The host shares: its picture is here already, or it is waited for.
    private mutating func expectPicture() { phase = hasPicture ? .playing : .waitingForPicture }

    mutating func streamRefused(_ reason: String) {
        if case .refused = phase { return }
        phase = .streamRefused(reason: reason)
    }

    // MARK: The session

    /// - Parameter time: the time of day, for the words about a lost host.
    mutating func handle(_ event: ViewerEvent, at time: @autoclosure () -> TimeOfDay = .now) {
        switch event {
        case .connecting: connecting()
        case .waitingForPerson(let host, let takesCode): askingPerson(host, takesCode: takesCode)
        case .waitingForDecision(let code):
            if case .playing = phase { break }
            phase = .waitingForDecision(code)
        case .codeNeeded(let question):
            call(question.host)
            phase = .code(Code(question: question))
        case .hostPaired(_, let name, _), .hostNamed(let name): call(name)
        case .paired(_, let deviceName, let isNewSession, let isEncrypted):
            if let deviceName { call(deviceName) }
            isUnencrypted = !isEncrypted
            // Version 1 has no alerts.
            if !isEncrypted { condition = ShareCondition() }
            isConditionOld = isNewSession
            admitted(isNewSession: isNewSession)
        case .refused(let refusal):
            self.refusal = refusal
            forgetPicture()
            phase = .refused(refusal)
        case .mistrusted(let refusal):
            forgetPicture()
            phase = .mistrusting(refusal)
        case .retrying(_, let reason): attemptFailed(reason)
        case .broadcast(let isOn): sharing(isOn)
        case .sourceVisibility(let visibility): sourceVisibility = visibility
        case .hostEnded(let says):
            forgetPicture()
            phase = .ended(says: says)
            (lossTime, lostSince) = (nil, nil)
        case .stalled(let duration, let cause): stalled(cause, seconds: Int(clamping: duration.inSeconds))
        case .mediaReconnecting:
            if case .waitingForPicture = phase { phase = .noDatagrams }
        case .mediaResumed:
            switch phase {
            case .stalled, .noDatagrams: expectPicture()
            default: break
            }
        case .controlLost: if lossTime == nil { lossTime = time() }
        case .connection(let state): connection = state
        case .room(let event):
            _ = condition.handle(event)
            isConditionOld = isConditionOld && condition.isCatchingUp
        case .screenAwaited, .controlRestored, .hostCallsItself, .hostReached, .hostRelays, .hostHasSound,
            .hostHasPatches,
            .pictureLimited, .quality:
            break
        }
    }

    private mutating func stalled(_ cause: StallCause, seconds: Int) {
        switch phase {
        case .waitingForPicture where !hasPicture && cause == .nothingArrives: phase = .noDatagrams
        case .noDatagrams where cause == .nothingArrives: break
        case .playing, .stalled, .waitingForPicture, .noDatagrams: phase = .stalled(cause, seconds: seconds)
        // Other words say more, or the picture isn't expected.
        default: break
        }
    }

    private mutating func connecting() {
        switch phase {
        case .connecting, .waitingForPerson, .waitingForDecision: phase = .connecting
        // After an answer to the question, its words stay until the host answers.
        default: break
        }
    }

    private mutating func askingPerson(_ host: String, takesCode: Bool) {
        call(host)
        if takesCode {
            phase = .code(Code(question: CodeQuestion(host: host, mayAsk: true), step: .asking))
        } else {
            phase = .waitingForPerson
        }
    }

    private mutating func admitted(isNewSession: Bool) {
        failure = nil
        (lossTime, lostSince) = (nil, nil)
        if isNewSession {
            sourceVisibility = .visible
            forgetPicture()
        }
        switch phase {
        // The session goes on, and so does its picture, or what keeps it away.
        case .playing, .stalled, .notSharing, .streamRefused: if isNewSession { expectPicture() }
        default: expectPicture()
        }
    }

    private mutating func attemptFailed(_ reason: String) {
        failure = reason
        lostSince = lossTime
        switch phase {
        case .waitingForPerson, .waitingForDecision: phase = .connecting
        case .code(var code):
            guard case .proving = code.step else { break }
            code.step = .proving(delay: reason)
            phase = .code(code)
        case .mistrusting(let refusal): if reason != refusal.reason { phase = .connecting }
        default: break
        }
    }

    private mutating func sharing(_ isOn: Bool) {
        switch (phase, isOn) {
        case (.refused, _): break
        case (_, false):
            forgetPicture()
            phase = .notSharing
        case (.notSharing, true), (.ended, true): expectPicture()
        case (_, true): break
        }
    }

    // MARK: Names

    /// Sets a name that comes from the network.
    private mutating func call(_ name: String) {
        guard !name.isEmpty else { return }
        hostName = name
        isAddress = false
    }

    /// The host's name for messages.
    var quotedName: String? { hostName.map { isAddress ? $0 : "“\($0)”" } }

    // MARK: The person

    /// The person has typed the code, and it is being sent.
    mutating func codeEntered() {
        guard case .code(var code) = phase else { return }
        code.question.problem = nil
        code.step = .proving(delay: nil)
        phase = .code(code)
    }

    /// The person wants the person at the host to be asked.
    mutating func personAsked() {
        guard case .code(var code) = phase, case .typing = code.step else { return }
        code.question.problem = nil
        code.step = .asking
        phase = .code(code)
    }

    /// A picture is shown, and nothing over it.
    var isLive: Bool {
        if case .playing = phase { true } else { false }
    }

    /// The last picture is that of what is shared now, and hasn't stood still for long because something is wrong. A
    /// picture that the host has paused, or whose screen doesn't change, is current.
    var isPictureCurrent: Bool {
        switch phase {
        case .playing: hasPicture
        case .stalled(_, let seconds): hasPicture && seconds < Self.longStall
        default: false
        }
    }

    /// In seconds. A network comes back within them, mostly; a meeting doesn't take a picture for live much longer.
    private static let longStall = 10

    /// The host has let this viewer in, and no picture of what it shares now has come.
    var isWaitingForPicture: Bool {
        if case .waitingForPicture = phase { true } else { false }
    }

    /// The host, or this viewer, has refused.
    var isRefused: Bool {
        switch phase {
        case .refused, .mistrusting: true
        default: false
        }
    }

    /// What the person can do after a refusal; nil: there was none, or nothing helps here.
    var retry: ViewerRefusal.Retry? {
        switch phase {
        // A room that proves nothing isn't to be entered by a key that is pressed in passing.
        case .refused(.noCodeTaken) where isAtRoomDoor: nil
        case .refused(let refusal), .mistrusting(let refusal): refusal.retry
        default: nil
        }
    }

    /// The host is lost, or hasn't been reached, and is tried again from time to time: the person needn't wait for that.
    var waitsForAttempt: Bool {
        switch phase {
        case .connecting, .searching: failure != nil
        case .waitingForPicture, .noDatagrams, .stalled: lostSince != nil
        case .ended: true
        default: false
        }
    }

    /// Nothing of this host is to be seen at present, and it isn't known when that changes.
    var isAtStandstill: Bool {
        switch phase {
        case .notSharing, .noDatagrams, .refused, .mistrusting, .streamRefused: true
        default: waitsForAttempt
        }
    }

    /// After a refusal the person wants to be let in again.
    mutating func tryingAgain() {
        guard isRefused else { return }
        refusal = nil
        failure = nil
        forgetPicture()
        phase = .connecting
    }

    // MARK: The room

    var isPaused: Bool { condition.isPaused || isHeldByMember }

    /// The room has told whether the member has paused.
    mutating func heldByMember(_ isHeld: Bool) { isHeldByMember = isHeld }

    /// Through whom the pictures come, or could come.
    mutating func relayed(by name: String?, needed: String?) {
        relay = name.map { PeerText.name($0) }
        neededRelay = needed.map { PeerText.name($0) }
    }
}
