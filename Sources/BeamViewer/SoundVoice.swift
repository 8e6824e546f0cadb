import BeamMedia
import BeamProtocol
import BeamSound
import Synchronization

/// Makes the samples that the sound device asks for: jitter buffer → decoder → resampler.
final class SoundVoice: @unchecked Sendable {
    // Sendable: every field is used under `lock` only. It is free but for the moment in which one device takes the place of
    // another, whose last callback may still run.
    private let lock = Mutex(())

    private static let channels = SoundBlock.channelCount
    /// A sound that begins in its middle is faded in over so many samples (2.5 ms), so that it doesn't click.
    private static let fadeIn = 120

    private var buffer = SoundBuffer()
    private let decoder: SoundDecoder
    private let resampler: SoundResampler
    /// Decoded samples, of which those up to `used` are in the resampler.
    private let decoded: UnsafeMutablePointer<Float>
    private var used = SoundBlock.length
    /// Silent samples that are still to be given.
    private var silence = 0
    /// What was played last ended by itself, or was faded out.
    private var isQuiet = true
    private var device = SoundDevicePace()

    /// - Throws: what the decoder and the resampler do.
    init() throws(SoundError) {
        decoder = try SoundDecoder()
        resampler = try SoundResampler()
        decoded = .allocate(capacity: SoundBlock.length * Self.channels)
        decoded.initialize(repeating: 0, count: SoundBlock.length * Self.channels)
    }

    deinit { decoded.deallocate() }

    /// Nothing is sent for a while, because it isn't wanted.
    func interrupt() { lock.withLock { _ in buffer.interrupt() } }

    /// Takes the packets that have come, and fills `output`, left and right in turn.
    ///
    /// - Parameters:
    ///   - now: the time of the device's callback.
    ///   - latency: from then until the first sample is heard.
    ///   - leastLatency: see `SoundBuffer.leastLatency`.
    func fill(
        _ output: UnsafeMutableBufferPointer<Float>, with packets: [ReceivedSound], now: MediaTime, latency: Duration,
        leastLatency: Duration?
    ) -> SoundStatistics {
        lock.withLock { _ in
            for packet in packets { buffer.put(packet, now: now) }
            // The first time, packets have waited until the device was open.
            if device.asked(for: output.count / Self.channels, now: now) { buffer.deviceStalled() }
            buffer.leastLatency = leastLatency
            if let base = output.baseAddress {
                fill(base, output.count / Self.channels, now: now, latency: latency)
            }
            return buffer.statistics
        }
    }

    // MARK: Under the lock

    private func fill(_ output: UnsafeMutablePointer<Float>, _ total: Int, now: MediaTime, latency: Duration) {
        var done = 0
        while done < total {
            let place = output + done * Self.channels
            // Also without more for it: what it has read and not given yet comes first.
            let (read, written) = resampler.process(
                decoded + used * Self.channels, SoundBlock.length - used, place, capacity: total - done,
                ratio: buffer.ratio)
            used += read
            done += written
            if written > 0 { continue }
            if silence > 0 {
                let count = min(silence, total - done)
                place.update(repeating: 0, count: count * Self.channels)
                silence -= count
                done += count
            } else {
                step(filled: done, latency: latency, now: now)
            }
        }
    }

    private func step(filled: Int, latency: Duration, now: MediaTime) {
        // What the resampler holds back is heard before the samples that come now.
        let latency = latency + SoundBlock.time(ofSamples: SoundResampler.latency)
        switch buffer.next(filled: filled, latency: latency, now: now) {
        case .decode(let sound, let begins):
            if begins { decoder.reset() }
            if !decoder.decode(sound.opus, into: decoded) { decoder.conceal(into: decoded) }
            if isQuiet, !sound.begins { fade(from: 0, to: 1, over: Self.fadeIn) }
            isQuiet = sound.ends
            used = 0
        case .conceal(let samples):
            used = SoundBlock.length - samples
            decoder.conceal(samples: samples, into: decoded + used * Self.channels)
            isQuiet = false
        case .silence(let samples):
            silence = max(1, samples)
            guard !isQuiet else { return }
            // What was played fades out first.
            decoder.conceal(into: decoded)
            fade(from: 1, to: 0, over: SoundBlock.length)
            isQuiet = true
            used = 0
            silence = max(0, silence - SoundBlock.length)
        }
    }

    private func fade(from first: Float, to last: Float, over count: Int) {
        for index in 0..<min(count, SoundBlock.length) {
            let gain = first + (last - first) * Float(index) / Float(count)
            for channel in 0..<Self.channels { decoded[index * Self.channels + channel] *= gain }
        }
    }
}
