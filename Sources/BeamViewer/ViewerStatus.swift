import BeamMedia
import BeamProtocol

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
    private var target: String?
    /// The same without quotation marks, for commands.
    private var watched: String?
    /// The host's name; nil if it isn't known.
    private(set) var hostName: String? {
        didSet { hostName = hostName.map { PeerText.name($0) } }
    }
    /// `hostName` is the address that the person has typed. A name is quoted.
    private var isAddress = false
    private(set) var refusal: ViewerRefusal?
    /// Version 1: everybody on the network can see the picture.
    private(set) var isUnencrypted = false
    /// A picture of what is shared now has been decoded.
    private var hasPicture = false
    /// Frames that began to arrive before this time are of an earlier session or share.
    private var shareBegin = MediaTime.distantPast
    /// While what is shared can't be seen at the host, the last picture stays.
    private(set) var sourceVisibility = SourceVisibility.visible
    private var condition = ShareCondition()
    /// In a room of equals: the member whose screen this is has paused.
    private var isHeldByMember = false
    /// The same: the name of the member through whom the picture comes, who could show another one; nil: it comes from
    /// the one whose screen it is.
    private(set) var relay: String?
    /// The picture can only be got through the member of this name, and the person is asked.
    private(set) var neededRelay: String?
    /// This viewer asks at the door of a room, whose members aren't named to strangers.
    private(set) var isAtRoomDoor = false
    /// `condition` is of an earlier session. The room tells whether the host was started again since.
    private var isConditionOld = false
    /// How dependable the connection to the host is.
    private(set) var connection = ConnectionState.connecting
    /// When the connection to a host that was watched was lost; nil: it isn't.
    private var lossTime: TimeOfDay?
    /// The same, once an attempt to reconnect has failed, too.
    private(set) var lostSince: TimeOfDay?
    /// Why the last attempt to connect has failed, as a clause.
    private(set) var failure: String?
    /// Why hosts can't be discovered, in sentences.
    private var discoveryProblem: String?
    /// The addresses at which the host was before are tried.
    private var triesAddresses = false

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
        case .controlRestored, .hostCallsItself, .hostReached, .hostHasSound, .pictureLimited: break
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

    /// After a refusal the person wants to be let in again.
    mutating func tryingAgain() {
        guard isRefused else { return }
        refusal = nil
        failure = nil
        forgetPicture()
        phase = .connecting
    }

    // MARK: Words

    var isPaused: Bool { condition.isPaused || isHeldByMember }

    /// The room has told whether the member has paused.
    mutating func heldByMember(_ isHeld: Bool) { isHeldByMember = isHeld }

    /// Through whom the pictures come, or could come.
    mutating func relayed(by name: String?, needed: String?) {
        relay = name.map { PeerText.name($0) }
        neededRelay = needed.map { PeerText.name($0) }
    }

    /// What is said of the picture wherever it is shown; nil: nothing.
    var relayWords: String? { relay.map { "through “\($0)”" } }

    /// The last picture isn't to be seen any more: the share has ended, or isn't for this viewer.
    var isOver: Bool {
        switch phase {
        // One of a share of which the host's word is still on its way stays.
        case .ended, .notSharing: !hasPicture
        case .refused, .mistrusting: true
        default: false
        }
    }

    /// What is to be typed.
    var codeHeadline: String {
        let host = quotedName ?? "the host"
        return isAtRoomDoor
            ? "Type the code that the screens in \(isAddress ? "the room" : host) show"
            : "Type the code that the screen of \(host) shows"
    }

    private var askingWords: String {
        isAtRoomDoor
            ? "The people in \(isAddress ? "the room" : quotedName ?? "the room") are asked to let you in"
            : "The person at \(quotedName ?? "the host") is asked to let you in"
    }

    /// For how long the picture has stood still; nil if it doesn't.
    var stalledSeconds: Int? {
        if case .stalled(_, let seconds) = phase { seconds } else { nil }
    }

    /// What the person is told; nil while the picture is live, and while a host is picked.
    var words: ViewerAnnouncement? {
        var words = phaseWords
        words?.isWithoutFault = isWithoutFault
        words?.isAnsweredInWindow = retry != nil
        return words
    }

    private var isWithoutFault: Bool {
        switch phase {
        case .searching, .picking, .playing, .notSharing, .ended: true
        case .connecting: failure == nil
        case .waitingForPicture: lostSince == nil
        default: false
        }
    }

    /// Nil: what is shared can be seen.
    private func hiddenWords(_ host: String) -> ViewerAnnouncement? {
        switch sourceVisibility {
        case .visible: nil
        case .windowHidden:
            ViewerAnnouncement(
                headline: "The shared window is hidden",
                detail: "It is minimised at \(host), or on another workspace. This is its last picture.")
        case .monitorOff:
            ViewerAnnouncement(
                headline: "The shared monitor is off",
                detail: "It sleeps at \(host), or was unplugged. This is its last picture; it goes on when it is back.")
        case .regionOutside:
            ViewerAnnouncement(
                headline: "The shared part of the screen is gone",
                detail: "The screen at \(host) has become smaller. This is the last picture.")
        }
    }

    private var phaseWords: ViewerAnnouncement? {
        let host = quotedName ?? "the host"
        return switch phase {
        case .searching(let name?) where discoveryProblem != nil && triesAddresses:
            ViewerAnnouncement(
                headline: "Looking for “\(name)”…",
                detail: "Trying the addresses where “\(name)” was last. Discovery (Avahi) doesn't work on this "
                    + "machine, so a new address isn't found.")
        case .searching(let name?):
            ViewerAnnouncement(
                headline: "Looking for “\(name)”…",
                detail: failure.map { notFound($0) } ?? discoveryProblem
                    ?? "The picture appears when it shares its screen.")
        case .searching(nil):
            ViewerAnnouncement(
                headline: "Looking for hosts…",
                detail: discoveryProblem ?? "Run `beamroom share` on the machine that you want to watch.")
        case .playing where isPaused:
            pauseWords(host)
        case .playing where sourceVisibility != .visible: hiddenWords(host)
        case .picking, .playing: nil
        case .connecting:
            ViewerAnnouncement(
                headline: "Connecting to \(target ?? host)…",
                detail: failure.map { ViewerAnnouncement.sentence($0) + " Trying again." })
        case .waitingForPerson:
            ViewerAnnouncement(
                headline: askingWords,
                detail: isAtRoomDoor
                    ? "When one of them agrees, both screens show digits to compare."
                    : "When that person agrees, both screens show digits to compare.")
        case .waitingForDecision(let code):
            ViewerAnnouncement(
                headline: "The person at \(host) compares these digits",
                detail: "If both screens show the same, that person lets you in.", digits: code)
        case .code(let code): words(code, host)
        case .waitingForPicture where lostSince != nil, .noDatagrams where lostSince != nil,
            .stalled(.nothingArrives, _) where lostSince != nil:
            wordsOfLoss(host)
        case .waitingForPicture where isHeldByMember || isPaused && !isConditionOld:
            pauseWords(host)
        case .waitingForPicture:
            ViewerAnnouncement(headline: "\(host) has let you in", detail: "Waiting for the picture…")
        case .noDatagrams:
            ViewerAnnouncement(
                headline: "No picture arrives from \(host)",
                detail: "It has let you in, but nothing comes by UDP. A firewall there may block the UDP port of its "
                    + "pictures: 52346, unless it was started with another --media-port.")
        case .notSharing:
            ViewerAnnouncement(
                headline: "\(host) isn't sharing at the moment", detail: "The picture returns when it shares again.")
        case .ended(let says):
            ViewerAnnouncement(
                headline: "\(host) has ended its share",
                detail: (says.map { ViewerAnnouncement.sentence(PeerText.reason($0)) + " " } ?? "")
                    + "The picture returns when it shares again.")
        case .stalled(let cause, _): words(of: cause, host)
        case .mistrusting(let refusal):
            Self.waiting(refusal.words(host: host, name: hostName ?? "", target: watched ?? hostName ?? ""))
        case .refused(let refusal) where isAtRoomDoor && (refusal.isByHost || refusal == .noCodeTaken):
            refusal.wordsOfRoom(isAddress ? "the room" : host)
        case .refused(let refusal): refusal.words(host: host, name: hostName ?? "", target: watched ?? hostName ?? "")
        case .streamRefused(let reason):
            ViewerAnnouncement(headline: "The picture of \(host) can't be shown", detail: reason)
        }
    }

    /// The same with and without a picture: whoever comes during a pause gets the last one a moment later.
    private func pauseWords(_ host: String) -> ViewerAnnouncement {
        var words = ViewerAnnouncement(
            headline: "\(host) has paused", detail: "Its last picture stays until it resumes.")
        words.isPause = true
        return words
    }

    /// What was tried besides discovery, and why that has failed.
    private func notFound(_ failure: String) -> String {
        let discovery = discoveryProblem ?? "No host of that name is announced on this network."
        return "\(discovery) Also tried: \(ViewerAnnouncement.ended(failure)) Trying again."
    }

    /// No attempt's reason, which may differ each time: the words are said once.
    private func wordsOfLoss(_ host: String) -> ViewerAnnouncement {
        ViewerAnnouncement(
            headline: "\(host) hasn't been reachable since \(lostSince.map { "\($0)" } ?? "a moment ago")",
            detail: connection == .unstable
                ? "The connection broke right away; trying again. The picture goes on when it is back."
                : "The network or that machine may be down. The picture goes on when it is back.")
    }

    private func words(of cause: StallCause, _ host: String) -> ViewerAnnouncement {
        switch cause {
        case .nothingArrives:
            ViewerAnnouncement(
                headline: "Nothing arrives from \(host)",
                detail: "The network or that machine may be down. The picture goes on when it is back.")
        case .loss:
            ViewerAnnouncement(
                headline: "Too much of the picture of \(host) is lost on the way",
                detail: "The picture goes on when the network loses less. A cable is better than Wi-Fi.")
        case .tooSlow:
            ViewerAnnouncement(
                headline: "The picture of \(host) arrives too slowly",
                detail: "The network or that machine is too slow at the moment. The picture goes on when it is faster.")
        }
    }

    private static func waiting(_ words: ViewerAnnouncement) -> ViewerAnnouncement {
        ViewerAnnouncement(
            headline: words.headline, detail: (words.detail ?? "") + " Waiting for the one that was paired.")
    }

    private func words(_ code: Code, _ host: String) -> ViewerAnnouncement {
        var prompt = ViewerAnnouncement.CodePrompt(
            problem: code.question.problem.map { Self.words($0, host, isAtRoomDoor: isAtRoomDoor) },
            mayAsk: code.question.mayAsk)
        switch code.step {
        case .typing:
            return ViewerAnnouncement(headline: codeHeadline, question: prompt)
        case .asking:
            prompt.isAsking = true
            return ViewerAnnouncement(
                headline: askingWords,
                detail: (isAtRoomDoor ? "When one of them agrees" : "When that person agrees")
                    + ", both screens show digits to compare. The code can still be typed.",
                question: prompt)
        case .proving(let delay):
            prompt.isBeingChecked = true
            return ViewerAnnouncement(
                headline: "\(host) checks the code…",
                detail: delay.map { ViewerAnnouncement.sentence($0) + " Trying again." }, question: prompt)
        }
    }

    private static func words(_ problem: CodeQuestion.Problem, _ host: String, isAtRoomDoor: Bool) -> String {
        switch problem {
        case .wrong: "That isn't the code that \(host) shows now."
        case .replaced: "\(host) has replaced its code a moment ago. Type the one that it shows now."
        case .unchecked: "The connection ended before the code was checked. Type the code again."
        case .unanswered: "Nobody \(isAtRoomDoor ? "in" : "at") \(host) has answered."
        case .other(let reason): ViewerAnnouncement.sentence(reason)
        }
    }
}
