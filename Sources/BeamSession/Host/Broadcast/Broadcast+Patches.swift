import BeamMedia
import BeamWire

/// Sends exact patches: at once, before pictures that wait, and only where the path carries them now. One that can't leave
/// is left out: its pixels come with the video, and exactly when the viewer asks for them.
extension Broadcast {
    /// Takes exact pixels of what has changed, for all who take them; or a repair, for those who have asked.
    mutating func handlePatch(_ patch: ExactPatch, now: MediaTime) {
        guard stream.isOn else { return }
        let takers = senders.all.indices.filter {
            layers[$0] == SimulcastLayer.full && senders.all[$0].takesPatches
                && (!patch.isRepair || senders.all[$0].patches.wantsRepair(now: now))
        }
        guard let size = takers.map({ senders.all[$0].datagramSize }).min() else { return }
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        var memory: [UInt8] = []
        swap(&memory, &patchMemory)
        defer { swap(&memory, &patchMemory) }
        do throws(SealingError) {
            guard
                let length = try PatchDatagram.write(
                    patch, number: nextPatch, size: size, sealedBy: stream.sealer, to: &memory)
            else { return }
            nextPatch &+= 1
            for index in takers {
                guard let address = senders.all[index].destination.address,
                    senders.all[index].payPatch(length, isRepair: patch.isRepair, now: now)
                else { continue }
                let burst = MediaBurst(
                    bytes: memory, range: 0..<length, segmentSize: size.length, address: address)
                senders.all[index].patchSent(burst, now: now)
                count(burst)
                totals.patches += 1
                outputs.append(.transmit(burst))
            }
        } catch {
            // The key is used up, and the next one is on its way.
        }
    }

    /// The viewer hasn't these tiles exactly.
    mutating func take(inexact tiles: [TileRect], from index: Int, now: MediaTime) {
        guard !tiles.isEmpty, layers[index] == SimulcastLayer.full, senders.all[index].takesPatches,
            senders.all[index].patches.asked(now: now)
        else { return }
        outputs.append(
            .exactWanted(
                tiles.map { PixelRect(x: Int($0.x), y: Int($0.y), width: Int($0.width), height: Int($0.height)) }))
    }
}
