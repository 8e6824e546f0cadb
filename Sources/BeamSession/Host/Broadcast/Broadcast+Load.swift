import BeamMedia

/// What the host sends less of while its machine can't send everything.
extension Broadcast {
    /// The machine's load was measured.
    mutating func loadMeasured(_ load: MachineLoad, now: MediaTime) {
        let seconds = loadMeasurement.map { (now - $0.time).inSeconds } ?? 0
        let bytes = totals.bytes - (loadMeasurement?.bytes ?? 0)
        loadMeasurement = (now, totals.bytes)
        guard seconds > 0 else { return }
        let before = shedding.sheds
        let hasChanged = shedding.take(
            load, sent: Double(bytes) * 8 / seconds, viewers: audience, bitRate: configuration.bitRate,
            loss: commonLoss(), now: now)
        guard hasChanged else { return }
        outputs.append(.overloaded(shedding.isClosed))
        for layer in isDirty.indices { isDirty[layer] = true }
        if shedding.sheds != before { emit(.overloaded(shedding.sheds, viewers: audience)) }
    }

    /// Of fewer addresses nothing is concluded.
    private static let fewestAddresses = 8

    /// The share of datagrams that three quarters of all addresses lose at least, before recovery; nil if too few tell, or
    /// if the viewers are known to share a bottleneck elsewhere.
    private func commonLoss() -> Double? {
        guard !layers.hasGroup, audience >= Self.fewestAddresses else { return nil }
        // The least of each address: a machine with several viewers counts once.
        var losses: [AddressPrefix: Double] = [:]
        for index in senders.all.indices where senders.all[index].isReachable {
            guard let path = senders.all[index].delivery?.path, path.hasAnswered else { continue }
            let prefix = AddressPrefix(senders.all[index].address)
            losses[prefix] = min(losses[prefix] ?? 1, path.loss)
        }
        guard losses.count >= Self.fewestAddresses else { return nil }
        return losses.values.sorted()[losses.count / 4]
    }

    /// More or fewer viewers share the ceiling.
    mutating func audienceSizeChanged() {
        guard shedding.sheds != .nothing else { return }
        for layer in isDirty.indices { isDirty[layer] = true }
        guard audience == 0 else { return }
        shedding = LoadShedding()
        outputs.append(.overloaded(false))
        emit(.overloaded(.nothing, viewers: 0))
    }

    /// The most bits a second of frames that a viewer may get while the machine can't send everything; nil: no bound.
    func sharedCeiling() -> Int? {
        guard shedding.ceiling != nil else { return nil }
        let shares = stream.layers.indices.map { layer in
            let viewers = senders.all.indices.count {
                layers[$0] == layer && senders.all[$0].isReachable
            }
            return (viewers: viewers, rate: Double(stream.wantedRates[layer] ?? configuration.bitRate))
        }
        return shedding.share(shares)
    }
}
