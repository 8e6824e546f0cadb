import BeamMedia
import BeamWire

/// Tells viewers where the pointer is while it isn't in the pictures: each move is one datagram.
extension Broadcast {
    /// Takes where the pointer is now, whenever that has changed.
    mutating func handlePointer(_ pointer: ScreenPointer, now: MediaTime) {
        guard configuration.hasPointer else { return }
        let newLook = stream.pointer.take(pointer, now: now)
        guard stream.isOn else { return }
        let takers = senders.all.indices.filter { senders.all[$0].takesPointer }
        if let newLook { send(look: newLook, to: takers, now: now) }
        sendPlace(to: takers, now: now)
    }

    /// The pointer's deadline: its last place is sent again.
    mutating func pointerDeadlineReached(now: MediaTime) {
        guard stream.pointer.deadlineReached(now: now), stream.isOn else { return }
        sendPlace(to: senders.all.indices.filter { senders.all[$0].takesPointer }, isRepeat: true, now: now)
    }

    /// One that has come or may have missed something is told where the pointer is.
    mutating func sendPlace(to index: Int, now: MediaTime) {
        if stream.isOn, senders.all[index].takesPointer { sendPlace(to: [index], isRepeat: true, now: now) }
    }

    private mutating func sendPlace(to takers: [Int], isRepeat: Bool = false, now: MediaTime) {
        guard let place = stream.pointer.place, !takers.isEmpty else { return }
        withMemory(\.pointerMemory, now: now) { broadcast, memory throws(SealingError) in
            try broadcast.stream.sealer.seal(.pointer, in: &memory) { place.append(to: &$0) }
            for index in takers
            where broadcast.senders.all[index].payPlace(memory.count, isRepeat: isRepeat, now: now) {
                broadcast.sendPointer(memory, 0..<memory.count, segmentSize: memory.count, to: index, now: now)
            }
            return true
        }
    }

    /// The viewer lacks a look.
    mutating func take(look number: UInt32, from index: Int, now: MediaTime) {
        guard senders.all[index].takesPointer, senders.all[index].pointer.requests.take(now: now) else { return }
        send(look: number, to: [index], now: now)
    }

    private mutating func send(look number: UInt32, to takers: [Int], now: MediaTime) {
        guard let look = stream.pointer.look(number),
            let size = takers.map({ senders.all[$0].datagramSize }).min()
        else { return }
        withMemory(\.pointerMemory, now: now) { broadcast, memory throws(SealingError) in
            let length = try PointerLookPart.write(
                look, number: number, size: size, sealedBy: broadcast.stream.sealer, to: &memory)
            let segment = PointerLookPart.datagramLength(in: size)
            // A large look is more than one call to the system takes.
            let step = segment * Pacing.longestBurst
            for index in takers where broadcast.senders.all[index].payLook(length, now: now) {
                for start in stride(from: 0, to: length, by: step) {
                    let range = start..<min(start + step, length)
                    broadcast.sendPointer(memory, range, segmentSize: segment, to: index, now: now)
                }
            }
            return true
        }
    }

    private mutating func sendPointer(
        _ bytes: [UInt8], _ range: Range<Int>, segmentSize: Int, to index: Int, now: MediaTime
    ) {
        guard let address = senders.all[index].destination.address else { return }
        let burst = MediaBurst(bytes: bytes, range: range, segmentSize: segmentSize, address: address)
        senders.all[index].chargeAtOnce(range.count, now: now)
        sendBeside(burst, to: index, now: now)
        totals.pointers += 1
    }
}
