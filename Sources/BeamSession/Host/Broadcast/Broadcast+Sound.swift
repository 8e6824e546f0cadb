import BeamMedia
import BeamWire

/// Sends the sound: at once, before pictures that wait, and whatever the path's congestion window says, because it is the
/// last thing to give way. What it takes of the path is left to the pictures no more (`Delivery.layerPath`).
extension Broadcast {
    /// Takes 10 ms of encoded sound. `number`: the one that it has already, because it is passed on for another host.
    mutating func handleSound(_ sound: EncodedSound, number: UInt32? = nil, now: MediaTime) {
        guard stream.isOn else { return }
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        let (number, isNewest) = stream.sound.push(sound, number: number)
        for index in senders.all.indices where senders.all[index].takesSound(now: now) {
            if senders.all[index].chooseSound(now: now) { isSoundDirty = true }
            let isReduced = senders.all[index].sound.isReduced
            let datagram =
                isNewest
                ? stream.sound.newest(
                    isReduced: isReduced, repeats: senders.all[index].sound.repeats(now: now),
                    size: senders.all[index].datagramSize)
                : stream.sound.again(number, isReduced: isReduced)
            // After a change of the rate the encoder takes a moment: the other rate is better than nothing.
            guard
                let datagram = datagram
                    ?? stream.sound.newest(
                        isReduced: !isReduced, repeats: 0, size: senders.all[index].datagramSize)
            else { continue }
            sendSound(datagram, to: index, now: now)
            totals.soundPackets += 1
        }
    }

    private mutating func sendSound(_ datagram: [UInt8], to index: Int, now: MediaTime) {
        guard let address = senders.all[index].destination.address else { return }
        let burst = MediaBurst(
            bytes: datagram, range: 0..<datagram.count, segmentSize: datagram.count, address: address)
        senders.all[index].chargeAtOnce(datagram.count, now: now)
        senders.all[index].sound.sent(bytes: datagram.count, now: now)
        sendBeside(burst, to: index, now: now)
    }

    /// A viewer's report of the sound, and what it asks for again.
    mutating func take(_ report: Feedback.Sound, isNewest: Bool, from index: Int, now: MediaTime) {
        guard senders.all[index].takesSound(now: now) else { return }
        if isNewest { senders.all[index].sound.take(report, now: now) }
        for number in report.missing {
            guard senders.all[index].sound.payRetransmission(now: now) else { return }
            let isReduced = senders.all[index].sound.isReduced
            guard let datagram = stream.sound.again(number, isReduced: isReduced) else { continue }
            sendSound(datagram, to: index, now: now)
            totals.soundRetransmissions += 1
        }
    }

    mutating func soundWanted(_ isWanted: Bool, by id: ViewerID) {
        guard let index = senders.index(of: id) else { return }
        senders.all[index].sound.isWanted = isWanted
        isSoundDirty = true
    }

    /// Outputs which encodings are wanted now, if that has changed; false if it hasn't.
    mutating func updateSoundDemand(now: MediaTime) -> Bool {
        var wanted = SoundDemand()
        if stream.isOn, configuration.hasSound {
            for sender in senders.all where sender.destination.isSet && sender.sound.isOn {
                if sender.sound.isReduced { wanted.reduced = true } else { wanted.full = true }
            }
        }
        guard stream.sound.want(wanted, now: now) else { return false }
        outputs.append(.soundDemand(stream.sound.demand))
        return true
    }
}
