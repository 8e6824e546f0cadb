import BeamMedia
import BeamPlayout
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

    /// While nothing is heard, a device that needn't be filled gets so many samples (2.5 ms), so that sound that comes
    /// meanwhile can begin. After 5 s it gets more, which costs less of the processor; sound may begin 7.5 ms later then.
    private static let quietStep = 120
    private static let longQuiet = 5 * SoundBlock.sampleRate
    private static let longQuietStep = SoundBlock.length
    /// It gets fewer samples than these (1 ms) with others.
    private static let least = 48

    private var buffer = SoundBuffer()
    private let decoder: SoundDecoder
    private let resampler: SoundResampler
    /// Decoded samples, of which those up to `used` are in the resampler.
    private let decoded: UnsafeMutablePointer<Float>
    private var used = SoundBlock.length
    /// Silent samples that are still to be given in this call.
    private var silence = 0
    /// Silent samples in a row, up to `longQuiet`.
    private var quiet = 0
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

    /// Takes the packets that have come, and fills `output`, left and right in turn. If it needn't be filled, it gets one
    /// packet, or as little as can be decided now.
    ///
    /// - Parameter leastLatency: see `SoundBuffer.leastLatency`.
    /// - Returns: how many samples there are in `output`, in each channel.
    func fill(
        _ output: UnsafeMutableBufferPointer<Float>, _ demand: OutputDemand, with packets: [ReceivedSound],
        leastLatency: Duration?
    ) -> (count: Int, statistics: SoundStatistics) {
        lock.withLock { _ in
            for packet in packets { buffer.put(packet, now: demand.now) }
            // The first time, packets have waited until the device was open.
            let asked = demand.isWhole ? output.count / Self.channels : 0
            if device.asked(for: asked, now: demand.now) { buffer.deviceStalled() }
            buffer.leastLatency = leastLatency
            let count = output.baseAddress.map { fill($0, output.count / Self.channels, demand) } ?? 0
            device.got(count - asked)
            return (count, buffer.statistics)
        }
    }

    // MARK: Under the lock

    private func fill(_ output: UnsafeMutablePointer<Float>, _ room: Int, _ demand: OutputDemand) -> Int {
        // Meanwhile sound may have come.
        silence = 0
        var done = 0
        while done < room {
            let place = output + done * Self.channels
            // Also without more for it: what it has read and not given yet comes first.
            let (read, written) = resampler.process(
                decoded + used * Self.channels, SoundBlock.length - used, place, capacity: room - done,
                ratio: buffer.ratio)
            used += read
            done += written
            if written > 0 {
                quiet = 0
                continue
            }
            if !demand.isWhole, done >= Self.least { break }
            if silence > 0 {
                let most = quiet < Self.longQuiet ? Self.quietStep : Self.longQuietStep
                let count = min(silence, room - done, demand.isWhole ? room : most)
                place.update(repeating: 0, count: count * Self.channels)
                silence -= count
                quiet = min(quiet + count, Self.longQuiet)
                done += count
            } else {
                step(filled: done, latency: demand.latency, now: demand.now)
            }
        }
        return done
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
