import BeamMedia
import BeamWire

/// Sends exact patches before pictures that wait: at once if the path carries them now, and long changes paced, where
/// the path bounds nothing (`PatchDelivery.queue`). A change that can't leave is like a lost one: the video shows it,
/// and the viewer may request it. A repair that can't leave is left out: the viewer asks for the tiles again.
extension Broadcast {
    /// Takes exact pixels of what has changed, for all who take them; or a repair, for those who have asked.
    mutating func handlePatch(_ patch: ExactPatch, now: MediaTime) {
        guard stream.isOn else { return }
        let takers = senders.all.indices.filter {
            layers[$0] == SimulcastLayer.full && senders.all[$0].takesPatches
                && (!patch.isRepair || senders.all[$0].patches.wantsRepair(now: now))
        }
        guard let size = takers.map({ senders.all[$0].datagramSize }).min() else { return }
        let number = patch.isRepair ? nextRepair : sentChanges.next
        let isWritten = withMemory(\.patchMemory, now: now) { broadcast, memory throws(SealingError) in
            guard
                let length = try PatchDatagram.write(
                    patch, number: number, size: size, sealedBy: broadcast.stream.sealer, to: &memory)
            else { return false }
            for index in takers {
                if !patch.isRepair,
                    broadcast.senders.all[index].queueChange(
                        number, memory, length, segmentSize: size.length, now: now)
                {
                    broadcast.senders.markReady(index)
                    broadcast.totals.patches += 1
                    continue
                }
                guard let address = broadcast.senders.all[index].destination.address,
                    length <= size.length * Pacing.longestBurst,
                    broadcast.senders.all[index].payPatch(length, isRepair: patch.isRepair, now: now)
                else { continue }
                broadcast.sendPatch(
                    MediaBurst(bytes: memory, range: 0..<length, segmentSize: size.length, address: address),
                    to: index, now: now)
            }
            return true
        }
        guard isWritten else { return }
        if patch.isRepair {
            nextRepair &+= 1
        } else {
            sentChanges.append(patch, size: size, now: now)
            for index in takers {
                senders.all[index].changeSent(now: now)
                // Its next deadline follows from it.
                senders.markReady(index)
            }
        }
    }

    /// The viewer's first picture has left: it is told which changes that has, so that it misses all later ones that don't
    /// come. Those that were sent while the picture was under way to it are among these.
    mutating func tellNewestChange(to index: Int) {
        let layer = layers[index]
        guard layer == SimulcastLayer.full, senders.all[index].takesPatches,
            let address = senders.all[index].destination.address, let position = senders.all[index].lastBegun,
            stream.layers[layer].contains(position)
        else { return }
        let frame = stream.layers[layer][position].encoded
        let time = FrameChanges(frame.unit)?.captureTime ?? frame.captureTime.microseconds
        guard let number = sentChanges.newest(capturedBy: time) else { return }
        if seal(StreamState(layer: UInt8(layer), newest: nil, newestChange: number)) { transmitState(to: address) }
    }

    /// The viewer lacks these changes, or parts of them.
    mutating func take(missing changes: [Feedback.MissingChange], from index: Int, now: MediaTime) {
        guard !changes.isEmpty, layers[index] == SimulcastLayer.full, senders.all[index].takesPatches,
            let address = senders.all[index].destination.address
        else { return }
        for missing in changes {
            // What still waits to be sent isn't missing.
            guard !senders.all[index].patches.isQueued(missing.number),
                let change = sentChanges[missing.number, now: now]
            else { continue }
            let all = 0..<PatchDatagram.partCount(change.patch, in: change.size)
            let wanted = (missing.parts ?? all).clamped(to: all)
            for first in stride(from: wanted.lowerBound, to: wanted.upperBound, by: Self.partsAgain) {
                let parts = first..<min(first + Self.partsAgain, wanted.upperBound)
                // The viewer asks again for what the path doesn't carry now.
                guard senders.all[index].payPatchAgain(parts.count * change.size.length, now: now) else { return }
                send(parts, of: change, to: index, at: address, now: now)
            }
        }
        // The encoder makes frames sooner where changes get lost.
        senders.markReady(index)
    }

    /// Parts that are sent again in one burst.
    private static let partsAgain = 16

    private mutating func send(
        _ parts: Range<Int>, of change: SentChanges.Change, to index: Int, at address: NetworkAddress, now: MediaTime
    ) {
        withMemory(\.patchMemory, now: now) { broadcast, memory throws(SealingError) in
            guard
                let length = try PatchDatagram.write(
                    change.patch, number: change.number, parts: parts, size: change.size,
                    sealedBy: broadcast.stream.sealer, to: &memory)
            else { return false }
            broadcast.sendPatch(
                MediaBurst(bytes: memory, range: 0..<length, segmentSize: change.size.length, address: address),
                to: index, now: now)
            broadcast.totals.patchesAgain += 1
            return true
        }
    }

    private mutating func sendPatch(_ burst: MediaBurst, to index: Int, now: MediaTime) {
        sendBeside(burst, to: index, now: now)
        totals.patches += 1
    }

    mutating func patchTakersNamed(_ takers: PatchTakers, by id: ViewerID) {
        guard let index = senders.index(of: id) else { return }
        senders.all[index].patches.takers = takers
        // The demand on the encoder follows from it.
        senders.markReady(index)
    }

    /// The viewer hasn't these tiles exactly.
    mutating func take(inexact tiles: [TileRect], from index: Int, now: MediaTime) {
        guard !tiles.isEmpty, layers[index] == SimulcastLayer.full, senders.all[index].takesPatches,
            senders.all[index].patches.requests.take(now: now)
        else { return }
        outputs.append(
            .exactWanted(
                tiles.map { PixelRect(x: Int($0.x), y: Int($0.y), width: Int($0.width), height: Int($0.height)) }))
    }
}
