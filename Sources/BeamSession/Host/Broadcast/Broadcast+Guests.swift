import BeamMedia
import BeamWire

/// Guests that come and go, and the media key, which changes when one goes.
extension Broadcast {
    /// Takes a guest that was let in, or that has reconnected.
    mutating func admit(_ guest: AdmittedGuest, isResumed: Bool, now: MediaTime) {
        let index: Int
        if let known = senders.index(of: guest.id) {
            index = known
            senders.all[index].address = guest.address
        } else {
            var sender = Sender(guest, limits: configuration.pacing, now: now)
            if guest.key != nil {
                sender.delivery = Delivery(canProbe: guest.features.contains(.probes), limit: configuration.bitRate)
            }
            senders.append(sender)
            layers.append(guest)
            index = senders.all.count - 1
        }
        senders.all[index].lastHeard = now
        senders.markReady(index)
        guard let key = guest.key else { return }
        senders.setOpener(DatagramOpener(key: key), at: index)
        senders.all[index].mediaKey = stream.keys.current.number
        senders.all[index].sound.isTaken = guest.features.contains(.sound)
        senders.all[index].sound.isWanted = true
        senders.all[index].patches.takers = .exact
        senders.all[index].patches.isTaken = hasPatches && guest.features.contains(.patches)
        senders.all[index].pointer.isTaken = configuration.hasPointer && guest.features.contains(.pointer)
        isSoundDirty = true
        tellLimit(index, isResumed: isResumed)
    }

    /// The guest has gone, or was sent away.
    mutating func remove(_ id: ViewerID, now: MediaTime) {
        guard let index = senders.index(of: id) else { return }
        let isSecure = senders.all[index].form == .version2
        isDirty[layers[index]] = true
        senders.remove(index)
        layers.remove(index)
        audienceChanged()
        stopIdleLayers()
        if isSecure { replaceMediaKey(now: now) }
    }

    /// When something came from the guest on the media plane last; nil if it isn't a guest.
    func lastHeard(_ id: ViewerID) -> MediaTime? { senders.index(of: id).map { senders.all[$0].lastHeard } }

    // MARK: The media key

    mutating func replaceMediaKey(now: MediaTime) {
        perform(stream.replaceKey(now: now, random: &random), now: now)
    }

    /// The guest holds the media key of that number.
    mutating func mediaKeyConfirmed(_ number: UInt16, by id: ViewerID, now: MediaTime) {
        guard let index = senders.index(of: id), number == stream.keys.next?.key.number else { return }
        senders.all[index].mediaKey = number
        checkMediaKey(now: now)
    }

    /// Switches to the next media key if every viewer has it.
    mutating func checkMediaKey(now: MediaTime) {
        guard let next = stream.keys.next?.key.number else { return }
        let isAwaited = senders.all.contains { $0.mediaKey != nil && $0.mediaKey != next }
        if !isAwaited { perform(stream.advanceKey(now: now, random: &random), now: now) }
    }

    mutating func perform(_ change: HostStream.KeyChange, now: MediaTime) {
        if change.isNextUsed { outputs.append(.mediaKeyUsed) }
        guard let key = change.made else { return }
        outputs.append(.mediaKeyMade(key))
        checkMediaKey(now: now)
    }
}
