import BeamMedia
import BeamWire

/// Tells hashes of the newest picture to viewers that have all of it exactly, so that they can compare.
///
/// Nothing follows if they get lost: the viewer asks again.
extension Broadcast {
    mutating func takeHashRequest(from index: Int, now: MediaTime) {
        guard configuration.hasHashes, layers[index] == SimulcastLayer.full, senders.all[index].takesPatches,
            senders.all[index].patches.askedHashes(now: now)
        else { return }
        outputs.append(.hashesWanted)
    }

    /// Takes hashes of all rows of the newest picture, for those who have asked.
    mutating func handleHashes(_ hashes: PictureHashes, now: MediaTime) {
        guard stream.isOn else { return }
        let pieces = hashes.pieces
        for index in senders.all.indices {
            guard layers[index] == SimulcastLayer.full, senders.all[index].takesPatches,
                senders.all[index].patches.takeHashes(now: now), let address = senders.all[index].destination.address
            else { continue }
            let some = PictureHashes.items(in: senders.all[index].datagramSize)
            for start in stride(from: 0, to: pieces.count, by: some) {
                var state = StreamState(newest: nil)
                state.hashes = Array(pieces[start..<min(start + some, pieces.count)])
                guard seal(state) else { return }
                transmitState(to: address)
            }
        }
    }
}
