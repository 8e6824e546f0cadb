import BeamMedia

/// What is due of a guest's sender.
extension Broadcast {
    mutating func deadlineReached(_ index: Int, now: MediaTime) {
        if layers.deadlineReached(index, now: now) { return wishesChanged(index, now: now) }
        switch senders.all[index].deadlineReached(now: now) {
        case .none: break
        case .stopped:
            let seconds = Int(clamping: HostLimits.streamTimeout.inSeconds)
            stopStream(index, reason: "no hello has come from it by UDP for \(seconds) s")
        case .validationFailed: stopIdleLayers()
        case .fellSilent: fellSilent(index, now: now)
        case .probe:
            senders.all[index].probed(now: now)
            sendState(to: index, now: now)
        case .evict(let reason): evict(index, reason: reason)
        case .tail: sendTailProbe(to: index)
        case .needsKeyframe: requestKeyframe(for: index, now: now)
        case .probeLengths(let probes):
            for probe in probes { sendProbe(probe, to: index, now: now) }
        }
    }

    /// The path is dead until something is received from the viewer again.
    mutating func fellSilent(_ index: Int, now: MediaTime) {
        senders.all[index].fellSilent(now: now)
        senders.all[index].probed(now: now)
        sendState(to: index, now: now)
    }

    mutating func perform(_ verdict: Sender.Verdict, of index: Int, now: MediaTime) {
        switch verdict {
        case .none: abandonLatePicture(index, now: now)
        case .needsKeyframe: requestKeyframe(for: index, now: now)
        case .evict(let reason): evict(index, reason: reason)
        }
    }

    /// Evicts a viewer that has exceeded a limit no honest viewer reaches.
    mutating func evict(_ index: Int, reason: String) {
        outputs.append(.evict(senders.all[index].id, reason: reason))
    }
}
