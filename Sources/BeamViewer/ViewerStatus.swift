import BeamMedia
import BeamProtocol

/// The status text in the viewer's window: a headline and a line of detail, nil while the picture is live.
struct ViewerStatus: Sendable {
    struct Words: Sendable, Equatable {
        var headline: String
        var detail: String?
        /// To be compared with the digits that the host shows.
        var code: PairingCode?
    }

    private enum Phase: Sendable {
        case searching(name: String?)
        case picking
        case connecting
        case waitingForPerson
        case waitingForDecision(PairingCode)
        case needsCode(wasWrong: Bool)
        /// The code was typed and sent; the host hasn't answered.
        case provingCode
        case waitingForPicture
        case retrying(reason: String)
        case notSharing
        case playing
        case stalled(seconds: Int)
        case reconnecting
        case refused(reason: String)
        /// The decoder refuses the host's stream.
        case streamRefused(reason: String)
    }

    private var phase: Phase
    /// The host's name; nil if it isn't known.
    private(set) var hostName: String? {
        didSet { hostName = hostName.map { PeerText.name($0) } }
    }
    /// `hostName` comes from the host or from the network, so it is quoted. Otherwise the person has typed it.
    private var isNameClaimed = false
    private(set) var refusal: String?
    /// Version 1: everybody on the network can see the picture.
    private(set) var isUnencrypted = false
    private var hasPicture = false
    /// Why the decoder refuses the host's stream; nil after the next decoded picture.
    private(set) var streamRefusal: String?

    init(searchingFor name: String?) {
        phase = .searching(name: name)
        hostName = name
    }

    init(connectingTo host: String) {
        phase = .connecting
        hostName = host
    }

    mutating func picking() { phase = .picking }

    mutating func searching() { phase = .searching(name: nil) }

    mutating func chosen(_ name: String) {
        call(name)
        phase = .connecting
    }

    /// A picture has been decoded.
    mutating func pictureArrived() {
        hasPicture = true
        streamRefusal = nil
        if case .refused = phase { return }
        phase = .playing
    }

    mutating func streamRefused(_ reason: String) {
        streamRefusal = reason
        if case .refused = phase { return }
        phase = .streamRefused(reason: reason)
    }

    mutating func handle(_ event: ViewerEvent) {
        switch event {
        case .connecting:
            if case .provingCode = phase { break }
            if !hasPicture { phase = .connecting }
        case .waitingForPerson(let host):
            if case .playing = phase { break }
            call(host)
            phase = .waitingForPerson
        case .waitingForDecision(let code):
            if case .playing = phase { break }
            phase = .waitingForDecision(code)
        case .codeNeeded(let host, let wasWrong):
            call(host)
            phase = .needsCode(wasWrong: wasWrong)
        case .hostPaired(_, let name, _):
            call(name)
        case .paired(_, let deviceName, let isNewSession, let isEncrypted):
            if let deviceName { call(deviceName) }
            isUnencrypted = !isEncrypted
            if isNewSession || !hasPicture { phase = .waitingForPicture }
        case .refused(let reason):
            refusal = reason
            phase = .refused(reason: reason)
        case .retrying(_, let reason):
            // The picture goes on while the control connection is restored.
            if case .playing = phase { break }
            phase = .retrying(reason: reason)
        case .broadcast(let isOn):
            if !isOn { phase = .notSharing } else if case .notSharing = phase { phase = .waitingForPicture }
        case .stalled(let duration, _):
            if case .notSharing = phase { break }
            phase = .stalled(seconds: Int(clamping: duration.inSeconds))
        case .mediaReconnecting:
            if case .notSharing = phase { break }
            phase = .reconnecting
        case .mediaResumed:
            phase = streamRefusal.map { .streamRefused(reason: $0) } ?? .playing
        case .controlLost, .controlRestored, .hostCallsItself, .hostReached:
            break
        }
    }

    /// Sets a name that comes from the network.
    private mutating func call(_ name: String) {
        guard !name.isEmpty else { return }
        hostName = name
        isNameClaimed = true
    }

    /// The host's name for messages.
    var quotedName: String? { hostName.map { isNameClaimed ? "“\($0)”" : $0 } }

    /// The person has typed the code, and it is being sent.
    mutating func codeEntered() { phase = .provingCode }

    /// The question for the host's code; nil if no code is needed.
    var codeQuestion: CodeQuestion? {
        switch phase {
        case .needsCode(let wasWrong): CodeQuestion(host: hostName ?? "The host", wasWrong: wasWrong)
        case .provingCode: CodeQuestion(host: hostName ?? "The host", isBeingChecked: true)
        default: nil
        }
    }

    struct CodeQuestion: Sendable, Equatable {
        var host: String
        var wasWrong = false
        var isBeingChecked = false
    }

    var words: Words? {
        let host = quotedName ?? "the host"
        return switch phase {
        case .searching(let name?):
            Words(headline: "Looking for \(name)…", detail: "The picture appears as soon as it shares its screen.")
        case .searching(nil):
            Words(headline: "Looking for hosts…", detail: "Run `beamroom share` on the machine that you want to watch.")
        case .picking: nil
        case .connecting: Words(headline: "Connecting to \(host)…")
        case .waitingForPerson:
            Words(
                headline: "Asking \(host) to let you in…",
                detail: "When the person there agrees, both screens show the same digits.")
        case .waitingForDecision(let code):
            Words(
                headline: "Does \(host) show the same digits?", detail: "If so, the person there lets you in.",
                code: code)
        case .needsCode, .provingCode: nil
        case .waitingForPicture: Words(headline: "Waiting for the picture…", detail: "\(host) has accepted.")
        case .retrying(let reason): Words(headline: "Reconnecting to \(host)…", detail: reason)
        case .notSharing:
            Words(headline: "\(host) isn't sharing", detail: "The picture returns when sharing starts again.")
        case .playing: nil
        case .stalled(let seconds): Words(headline: "No picture for \(seconds) s", detail: "Waiting for \(host).")
        case .reconnecting: Words(headline: "Reconnecting to \(host)…", detail: "The stream has stopped.")
        case .refused(let reason): Words(headline: "\(host) has refused", detail: reason)
        case .streamRefused(let reason): Words(headline: "The picture of \(host) can't be shown", detail: reason)
        }
    }
}
