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
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        var memory: [UInt8] = []
        swap(&memory, &pointerMemory)
        defer { swap(&memory, &pointerMemory) }
        do throws(SealingError) {
            try stream.sealer.seal(.pointer, in: &memory) { place.append(to: &$0) }
        } catch {
            // The key is used up, and the next one is on its way.
            return
        }
        for index in takers
        where senders.all[index].payPlace(memory.count, isRepeat: isRepeat, now: now) {
            transmitPointer(memory, 0..<memory.count, segmentSize: memory.count, to: index, now: now)
        }
    }

    /// The viewer lacks a look.
    mutating func take(look number: UInt32, from index: Int, now: MediaTime) {
        guard senders.all[index].takesPointer, senders.all[index].pointer.asked(now: now) else { return }
        send(look: number, to: [index], now: now)
    }

    private mutating func send(look number: UInt32, to takers: [Int], now: MediaTime) {
        guard let look = stream.pointer.look(number),
            let size = takers.map({ senders.all[$0].datagramSize }).min()
        else { return }
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        var memory: [UInt8] = []
        let length: Int
        do throws(SealingError) {
            length = try PointerLookPart.write(look, number: number, size: size, sealedBy: stream.sealer, to: &memory)
        } catch {
            return
        }
        for index in takers where senders.all[index].payLook(length, now: now) {
            let segment = PointerLookPart.datagramLength(in: size)
            // A large look is more than one call to the system takes.
            let step = segment * Pacing.longestBurst
            for start in stride(from: 0, to: length, by: step) {
                transmitPointer(
                    memory, start..<min(start + step, length), segmentSize: segment, to: index, now: now)
            }
        }
    }

    private mutating func transmitPointer(
        _ bytes: [UInt8], _ range: Range<Int>, segmentSize: Int, to index: Int, now: MediaTime
    ) {
        guard let address = senders.all[index].destination.address else { return }
        let burst = MediaBurst(bytes: bytes, range: range, segmentSize: segmentSize, address: address)
        senders.all[index].pointerSent(burst, now: now)
        count(burst)
        totals.pointers += 1
        outputs.append(.transmit(burst))
    }
}
