import BeamMedia

/// Guests that come and go, and the media key, which changes when one goes.
extension Broadcast {
    /// Takes a guest that was let in, or that has reconnected.
    mutating func admit(_ guest: AdmittedGuest, isResumed: Bool, now: MediaTime) {
        let index: Int
        if let known = senders.index(of: guest.id) {
            index = known
            senders.all[index].address = guest.address
        } else {
            let isReduced = guest.key == nil && configuration.usesFullChroma
            senders.append(
                Sender(
                    guest, layer: isReduced ? SimulcastLayer.reduced : SimulcastLayer.full,
                    limits: configuration.pacing, now: now))
            index = senders.all.count - 1
        }
        senders.all[index].lastHeard = now
        senders.markReady(index)
        guard let key = guest.key else { return }
        senders.setOpener(DatagramOpener(key: key), at: index)
        senders.all[index].mediaKey = stream.keys.current.number
        prepareDelivery(to: index, guest)
        senders.all[index].sound.isTaken = guest.takesSound
        senders.all[index].sound.isWanted = true
        isSoundDirty = true
        tellLimit(index, isResumed: isResumed)
    }

    private mutating func prepareDelivery(to index: Int, _ guest: AdmittedGuest) {
        // A viewer that is back keeps what it said first: its layer depends on it.
        guard senders.all[index].delivery == nil else { return }
        senders.all[index].delivery = Delivery(
            decodesFullChroma: guest.decodesFullChroma, canProbe: guest.acknowledgesProbes,
            limit: configuration.bitRate)
        senders.all[index].shown.bounds = guest.bounds ?? .unstated
        senders.all[index].shown.fit(pictureSize)
        let isLimited = senders.all[index].shown.isLimited
        if isLimited { senders.all[index].shown.apply() }
        let needsReduced = configuration.usesFullChroma && !guest.decodesFullChroma || isLimited
        senders.all[index].start(in: needsReduced ? SimulcastLayer.reduced : SimulcastLayer.full)
        guard let hysteresis = layerHistory.first(where: { $0.device == guest.device })?.hysteresis else { return }
        senders.all[index].hysteresis = hysteresis
        if hysteresis.isReduced { senders.all[index].start(in: SimulcastLayer.reduced) }
    }

    /// The guest has gone, or was sent away.
    mutating func remove(_ id: ViewerID, now: MediaTime) {
        guard let index = senders.index(of: id) else { return }
        let isSecure = senders.all[index].form == .version2
        isDirty[senders.all[index].layer] = true
        senders.remove(index)
        shared.left(id)
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
