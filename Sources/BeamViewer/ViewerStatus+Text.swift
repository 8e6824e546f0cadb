import BeamMedia
import BeamSession
import BeamWire

/// What the person reads of the state. It changes nothing.
extension ViewerStatus {
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
        let host = quotedName ?? (isAtReceiver ? "the receiver" : "the host")
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
        var words = receiverWords ?? phaseWords
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
        case .screenLocked:
            ViewerAnnouncement(
                headline: "The shared screen is locked",
                detail:
                    "The desktop at \(host) shares nothing meanwhile. This is its last picture; it goes on when it is "
                    + "unlocked.")
        case .consentAwaited:
            ViewerAnnouncement(
                headline: "The desktop at \(host) asks what to share",
                detail: "Somebody has to answer its dialog there. This is the last picture.")
        case .hostLost:
            ViewerAnnouncement(
                headline: "What \(host) passes on can't be reached",
                detail:
                    "\(host) is there, but not the machine that shares. This is its last picture; it goes on when that "
                    + "machine is back.")
        case .hostEnded:
            ViewerAnnouncement(
                headline: "What \(host) passes on isn't shared any more",
                detail: "This is the last picture; it goes on when the machine behind \(host) shares again.")
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
        case .connecting where isSentHere && failure == nil, .waitingForPicture where isSentHere && lostSince == nil:
            ViewerAnnouncement(
                headline: "\(host) is about to show its screen", detail: "Waiting for the picture…")
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
                detail: (isSentHere ? "Nothing" : "It has let you in, but nothing")
                    + " comes by UDP. A firewall there may block the UDP port of its "
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

    /// The same with and without a picture: a viewer that comes during a pause gets the last one a moment later.
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
