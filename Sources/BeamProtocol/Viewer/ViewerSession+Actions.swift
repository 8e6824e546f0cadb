import BeamMedia

/// Does what the state machines of the control connection and of the media decide.
extension ViewerSession {
    mutating func perform(_ actions: [ViewerControl.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .connect(let attempt):
                isPersonAsked = false
                emit(.connecting(attempt: attempt))
                outputs.append(.connectControl(version))
            case .close:
                dialog = .none
                // What is written from now on is for the next connection.
                room?.disconnected(Self.keeper)
                outputs.append(.closeControl)
            case .sendHandshake:
                sendHandshake()
            case .sendHeartbeat:
                if case .version1 = dialog { send(.heartbeat) } else { ping(now: now) }
            case .lost(let reason):
                emit(.controlLost(reason: reason))
                noteLost(now: now)
                // Whether the host is sharing is unknown now, so silence counts as a stall.
                media.broadcast(nil, now: now)
            case .hostEnded(let reason):
                emit(.hostEnded(says: ["", SecureMessage.hostEnded].contains(reason) ? nil : reason))
                noteEnded()
                // The next host shows another code, and its person hasn't been asked.
                if isCodeSpent { code = nil }
                isCodeSpent = false
                wantsComparison = false
                // Silence is expected from here on, and the host comes back with a new session.
                perform(media.stop(), now: now)
                membership = nil
            case .retry(let pause, let reason):
                if isCodeSpent {
                    askForCode(.unchecked, now: now)
                } else if isPersonAsked, configuration.asksForCode {
                    // Not again without the person here.
                    askForCode(reason == ViewerControl.undecided ? .unanswered : .other(reason), now: now)
                } else {
                    emit(.retrying(after: pause, reason: reason))
                }
            }
        }
    }

    private mutating func sendHandshake() {
        switch dialog {
        case .version1:
            send(.handshake(ControlMessage.Handshake(code: shownCode)))
            emit(.waitingForDecision(code: shownCode))
        case .pairing(let pairing):
            var features: SecureMessage.Hello.Features = [.probes, .replacedCodes, .equals]
            if configuration.decodesFullChroma { features.insert(.fullChroma) }
            if configuration.takesSound { features.insert(.sound) }
            if room != nil { features.insert(.words) }
            let opening = pairing.opening(
                instance: configuration.trust.instance, features: features, bounds: configuration.bounds)
            for message in opening { send(message) }
        case .none, .version2:
            break
        }
    }

    mutating func perform(_ actions: [MediaLiveness.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .open(let port):
                membership?.challenge = nil
                outputs.append(.openMedia(port: port))
            case .close: outputs.append(.closeMedia)
            case .hello: sayHello(now: now)
            case .announce(let port):
                if case .version1 = dialog, control.isPaired { send(.mediaSource(port)) }
            case .testControl: testControl(now: now)
            case .stalled(let time, let isSilent): stalled(time, isSilent: isSilent, now: now)
            case .tell(let event): emit(event)
            }
        }
    }
}
