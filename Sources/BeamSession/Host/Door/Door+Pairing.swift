import BeamLog
import BeamMedia
import BeamWire

/// Pairing in version 2: the viewer types the host's code, or both screens show the same digits.
extension Door {
    // MARK: A typed code

    /// A viewer begins to prove that it knows the code.
    ///
    /// If the code was replaced a moment ago, the viewer's proof is compared with the one before first. That tests
    /// nothing of the present one, so it isn't a try. The viewer's share stays the same for both: whoever makes it has
    /// made it for one code, and can't prove another with it.
    mutating func beginCode(_ share: [UInt8], on id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        guard takesNewViewers, closedToNew == nil, let current = code.current else {
            return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
        }
        if let pause = codeGuard.pause(now: now) { return postponeCode(id, by: pause, now: now) }
        if dialog.features.contains(.replacedCodes), let previous = code.takePrevious(now: now) {
            prove(previous, isPrevious: true, share, on: id, now: now)
        } else {
            prove(current, isPrevious: false, share, on: id, now: now)
        }
    }

    private mutating func postponeCode(_ id: ConnectionID, by pause: Duration, now: MediaTime) {
        send(.codeWait(UInt32(clamping: pause.inNanoseconds / 1_000_000)), to: id)
        refuseConnection(id, reason: "too many wrong codes were typed", now: now)
    }

    /// Sends the host's share for this code.
    private mutating func prove(
        _ code: PairingCode, isPrevious: Bool, _ share: [UInt8], on id: ConnectionID, now: MediaTime
    ) {
        guard case .version2(var dialog) = connections[id]?.dialog else { return }
        do throws(PairingFailure) {
            let pace = try CPaceHost(
                code: code, context: dialog.context(host: trust.own, name: name), viewerShare: share)
            dialog.provesCode(SecureDialog.CodeProof(pace: pace, isPrevious: isPrevious))
            connections[id]?.dialog = .version2(dialog)
            send(.codeShare(pace.share), to: id)
        } catch {
            refuseConnection(id, reason: "\(error)", now: now)
        }
    }

    /// Checks a viewer's proof: here, and only here, something is learnt of the code that was typed.
    mutating func check(_ confirmation: [UInt8], on id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog, let proof = dialog.codeProof else { return }
        if proof.isPrevious {
            guard proof.pace.answer(to: confirmation) == nil else { return codeReplaced(id, now: now) }
            guard let current = code.current else {
                return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
            }
            return prove(current, isPrevious: false, proof.pace.viewerShare, on: id, now: now)
        }
        if code.service == .room {
            guard connections[id]?.heldProof == nil else {
                return refuseConnection(id, reason: "it sent a message out of turn", now: now)
            }
            connections[id]?.heldProof = confirmation
            return emit(.codeTried(id))
        }
        // Others' wrong codes since the viewer began.
        if let pause = codeGuard.pause(now: now) { return postponeCode(id, by: pause, now: now) }
        guard let answer = proof.pace.answer(to: confirmation) else { return codeWrong(id, now: now) }
        proved(answer, on: id, now: now)
    }

    /// The room of equals allows to check the proof, or doesn't for so long.
    mutating func codeVerdict(_ id: ConnectionID, pause: Duration?, now: MediaTime) {
        guard let connection = connections[id], case .version2(let dialog) = connection.dialog,
            let confirmation = connection.heldProof, let proof = dialog.codeProof
        else { return emit(.codeChecked(id, isRight: nil)) }
        connections[id]?.heldProof = nil
        if let pause {
            emit(.codeChecked(id, isRight: nil))
            return postponeCode(id, by: pause, now: now)
        }
        let answer = proof.pace.answer(to: confirmation)
        emit(.codeChecked(id, isRight: answer != nil))
        if let answer { proved(answer, on: id, now: now) } else { codeWrong(id, now: now) }
    }

    private mutating func proved(_ answer: [UInt8], on id: ConnectionID, now: MediaTime) {
        guard case .version2(var dialog) = connections[id]?.dialog else { return }
        dialog.accepted()
        connections[id]?.dialog = .version2(dialog)
        if code.used(random: &random, now: now) { codeChanged(.used, but: id, now: now) }
        send(.codeConfirm(answer), to: id)
        paired(dialog, on: id, byCode: true)
    }

    /// Refuses the viewers that are proving a code that was just replaced. Nothing of what they typed was looked at.
    mutating func withdrawProofs(but id: ConnectionID?, now: MediaTime) {
        for (other, connection) in connections where other != id {
            guard case .version2(let dialog) = connection.dialog, dialog.codeProof != nil else { continue }
            codeReplaced(other, now: now)
        }
    }

    /// The viewer's person has typed a code that isn't shown any more: that isn't a wrong try.
    private mutating func codeReplaced(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        let takesOne = if case .one = code.service { true } else { false }
        let reason = takesOne ? "That code has just let in somebody else" : "That code was replaced a moment ago"
        refuseViewer(
            id, dialog.features.contains(.replacedCodes) ? .replacedCode : .wrongCode,
            reason: code.current == nil ? reason : "\(reason). Type the one that is shown now", now: now)
    }

    private mutating func codeWrong(_ id: ConnectionID, now: MediaTime) {
        // The room counts the tries of its code.
        if code.service != .room { codeGuard.failed(now: now) }
        let isReplaced = code.failed()
        emit(.wrongCode(from: visitor(id), pause: codeGuard.pause(now: now)))
        if isReplaced || code.service == .room && isBeforeLastTry, case .version2(let dialog) = connections[id]?.dialog,
            dialog.features.contains(.replacedCodes)
        {
            refuseViewer(
                id, .replacedCode,
                reason: "That isn't the code, and it is another one now, after \(HostCode.mostWrongTries) wrong tries. "
                    + "Type the one that is shown now", now: now)
            if isReplaced { renewCode(.wrongTries, now: now) }
            return
        }
        // Which code was typed isn't known: nothing of it is sent.
        let hint =
            switch code.service {
            case .one where code.hasBeenReplaced: ". A code lets in one viewer: type the one that the host shows now"
            case .everybody where code.wasReplaced(now: now), .room where code.wasReplaced(now: now):
                ". Type the one that the host shows now"
            default: ""
            }
        refuseViewer(id, .wrongCode, reason: "That isn't the code\(hint)", now: now)
        if isReplaced { renewCode(.wrongTries, now: now) }
    }

    /// The code that has just let in somebody lets in others, too.
    private var codeStillServes: Bool {
        if case .one = code.service { false } else { true }
    }

    // MARK: Compared digits

    mutating func requestComparison(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(let dialog) = connections[id]?.dialog else { return }
        guard methods(for: dialog.device).contains(.compare) else {
            return refuseViewer(id, closedRefusal, reason: closedReason, now: now)
        }
        ask(id, .comparison, now: now)
    }

    /// The person agrees to compare digits with this viewer: sends the host's nonce.
    mutating func compare(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(var dialog) = connections[id]?.dialog else { return }
        do throws(PairingFailure) {
            let length = comparisonGuard.length(now: now)
            guard let nonce = try dialog.compare(host: trust.own, name: name, length, random: &random) else { return }
            connections[id]?.dialog = .version2(dialog)
            // An honest viewer reveals its nonce within a round trip. More time would let an attacker try several
            // viewers against one nonce.
            deadlines.set(.unadmitted(id), at: now + HostLimits.revealTimeout)
            send(nonce, to: id)
        } catch {
            refuseConnection(id, reason: "\(error)", now: now)
        }
    }

    /// The viewer has revealed its nonce: both screens show these digits now.
    mutating func revealed(_ digits: PairingCode, on id: ConnectionID, now: MediaTime) {
        deadlines.set(.unadmitted(id), at: now + HostLimits.comparisonTimeout)
        questions.digitsShown(id)
        emit(.digitsShown(id, digits: digits, from: visitor(id)))
    }

    /// Counts a comparison that ended without acceptance. Each is one chance that the digits agree for an attacker.
    mutating func noteFailedComparison(_ id: ConnectionID, now: MediaTime) {
        guard let connection = connections[id], case .version2(let dialog) = connection.dialog,
            case .begun = dialog.comparing
        else { return }
        let reason =
            connection.isDeclined
            ? "the digits differ" : dialog.isRevealing ? "it left before it showed its digits" : "it left meanwhile"
        emit(.comparisonFailed(from: visitor(id), reason: reason, failures: comparisonGuard.failed(now: now)))
    }

    mutating func comparisonAccepted(_ id: ConnectionID, now: MediaTime) {
        guard case .version2(var dialog) = connections[id]?.dialog, case .begun = dialog.comparing, !dialog.isRevealing
        else { return }
        dialog.accepted()
        connections[id]?.dialog = .version2(dialog)
        deadlines.set(.unadmitted(id), at: now + HostLimits.admissionTimeout)
        paired(dialog, on: id, byCode: false)
    }

    private mutating func paired(_ dialog: SecureDialog, on id: ConnectionID, byCode: Bool) {
        let name = book.pair(dialog.device, name: PeerText.name(dialog.name))
        ledger.identified(id)
        send(.paired(isRemembered: trust.remembersNewViewers), to: id)
        if byCode { emit(.codeServed(to: visitor(id), isStillValid: codeStillServes)) }
        emit(.devicePaired(dialog.device, name: name, isToBeRemembered: trust.remembersNewViewers))
    }
}
