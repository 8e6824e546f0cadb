import BeamMedia
import BeamWire

/// What goes beside the pictures in common: sound, patches and the pointer.
extension Broadcast {
    /// Lends the memory for datagrams, under a key that isn't used up. False if `body` says so, or nothing can be sealed.
    @discardableResult
    mutating func withMemory(
        _ place: WritableKeyPath<Broadcast, [UInt8]>, now: MediaTime,
        _ body: (inout Broadcast, inout [UInt8]) throws(SealingError) -> Bool
    ) -> Bool {
        if stream.isKeyWornOut { replaceMediaKey(now: now) }
        var memory: [UInt8] = []
        swap(&memory, &self[keyPath: place])
        defer { swap(&memory, &self[keyPath: place]) }
        do throws(SealingError) {
            return try body(&self, &memory)
        } catch {
            // The key is used up, and the next one is on its way.
            return false
        }
    }

    /// Sends a burst of sound, of patches or of the pointer.
    mutating func sendBeside(_ burst: MediaBurst, to index: Int, now: MediaTime) {
        senders.all[index].besidePicturesSent(burst, now: now)
        count(burst)
        outputs.append(.transmit(burst))
    }
}
