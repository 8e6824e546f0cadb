import BeamMedia

/// The viewer's sound: packets to whoever plays or records them, and what the host is told of them.
extension ViewerSession {
    /// Takes a sound datagram's plaintext. False if it is malformed, or this viewer takes no sound.
    mutating func sound(_ plaintext: UnsafeRawBufferPointer, wireLength: Int, now: MediaTime) -> Bool {
        guard configuration.takesSound else { return false }
        soundReceiver.roundTrip = clock.roundTrip
        let offset = clock.offset
        let isValid = soundReceiver.insert(plaintext, now: now) { entry in
            outputs.append(
                .sound(
                    ReceivedSound(
                        opus: Array(entry.opus), number: entry.number, time: entry.time,
                        begins: entry.flags.contains(.begins), ends: entry.flags.contains(.ends),
                        isReduced: entry.flags.contains(.reduced), arrival: now, clockOffset: offset)))
        }
        reassembler.received(wireLength: wireLength, isValid: isValid)
        return isValid
    }

    /// Tells the host whether sound is wanted at present.
    mutating func want(sound isWanted: Bool) {
        guard isWanted != wantsSound else { return }
        wantsSound = isWanted
        // What wasn't sent meanwhile isn't lost.
        if isWanted { soundReceiver.restart() }
        if case .version2 = dialog, hostHasSound { send(.soundWanted(isWanted)) }
    }

    /// The host has admitted this viewer.
    mutating func joinSound(_ features: SecureMessage.Welcome.Features) {
        hostHasSound = features.contains(.sound)
        guard hostHasSound, configuration.takesSound else { return }
        emit(.hostHasSound)
        if !wantsSound { send(.soundWanted(false)) }
    }
}
