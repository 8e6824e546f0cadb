import BeamMedia

/// What needs the person at the viewer: the host's code, and refusals.
extension ViewerSession {
    /// The person has typed the host's code, perhaps while the person at the host is asked.
    mutating func take(_ typed: PairingCode, now: MediaTime) {
        var isAsking = false
        if case .pairing(let pairing) = dialog {
            guard !pairing.isComparing else { return }
            isAsking = pairing.isAskingPerson
        }
        code = typed
        wantsCode = true
        wantsComparison = false
        perform(isAsking ? control.startOver(now: now) : control.codeTyped(now: now), now: now)
    }

    /// The person gives no code: the person at the host is to be asked.
    mutating func askPerson(now: MediaTime) {
        guard case .needsCode = control.state else { return }
        code = nil
        wantsCode = false
        wantsComparison = true
        perform(control.codeTyped(now: now), now: now)
    }

    /// The code is missing, wrong or used up: the person has to type one, if there is a person.
    mutating func askForCode(_ problem: CodeQuestion.Problem?, now: MediaTime) {
        code = nil
        isCodeSpent = false
        isPersonAsked = false
        wantsComparison = false
        if case .pairing(let pairing) = dialog { offersComparison = pairing.methods.contains(.compare) }
        guard configuration.asksForCode else {
            switch problem {
            case .wrong: return refuse(.wrongCode, now: now)
            case .replaced: return refuse(.replacedCode, now: now)
            case .unchecked: return refuse(.uncheckedCode, now: now)
            case .unanswered, .other, nil: return refuse(.codeNeeded, now: now)
            }
        }
        perform(control.needsCode(), now: now)
        emit(.codeNeeded(CodeQuestion(host: hostName, problem: problem, mayAsk: offersComparison)))
    }

    /// The host refused, or must not be watched. There is no retry.
    mutating func refuse(_ refusal: ViewerRefusal, now: MediaTime) {
        emit(.refused(refusal))
        end(now: now)
    }

    /// Another host answers than the expected one. A person is told, and decides. Without a person (`--auto`) the
    /// viewer keeps waiting for the right host; otherwise anyone could end that by answering once in its place.
    mutating func mistrust(_ refusal: ViewerRefusal, now: MediaTime) {
        guard !configuration.trust.pairs else { return refuse(refusal, now: now) }
        emit(.mistrusted(refusal))
        perform(control.foundWrongHost(reason: refusal.reason, now: now), now: now)
    }
}
