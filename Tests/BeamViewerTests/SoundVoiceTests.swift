import BeamMedia
import BeamProtocol
import BeamSound
import Testing

@testable import BeamViewer

struct SoundVoiceTests {
    private let origin = MediaTime(nanoseconds: 5_000_000_000)
    /// Of the device.
    private let latency = Duration.milliseconds(4)

    /// Plays a tone that begins every 400 ms, for 8 s, and returns by how much each beginning is given later to the device
    /// than the statistics say, in milliseconds.
    private func errors(step: Int, isSilentBetween: Bool) throws -> [Double] {
        let voice = try SoundVoice()
        let encoder = try SoundEncoder(bitRate: 128_000)
        let sample = SoundBlock.time(ofSamples: 1)
        let quiet: Float = isSilentBetween ? 0 : 0.01
        var (found, lastLoud): ([Double], Int) = ([], -48_000)
        var (next, number): (Int, UInt32) = (0, 0)
        var output = [Float](repeating: 0, count: step * SoundBlock.channelCount)
        for call in 0..<(8 * 48_000 / step) {
            let now = origin + sample * (call * step)
            var packets: [ReceivedSound] = []
            while origin + .milliseconds(10) * (next + 1) <= now {
                // 100 ms of the tone, then 300 of silence, for which nothing is sent.
                let place = next % 40
                let begin = origin + .milliseconds(10) * next
                next += 1
                guard !isSilentBetween || place < 11 else { continue }
                let samples = (0..<SoundBlock.length).flatMap { index in
                    let level: Float = place < 10 ? 0.5 : quiet
                    // A crest at the beginning.
                    let value = level * (index / 24 % 2 == 0 ? 1 : -1)
                    return [value, value]
                }
                if isSilentBetween, place == 0 { encoder.reset() }
                let opus = encoder.encode(SoundBlock(samples: samples, time: begin))
                packets.append(
                    ReceivedSound(
                        opus: opus, number: number, time: begin - sample * encoder.lookahead,
                        begins: isSilentBetween && place == 0, ends: isSilentBetween && place == 10,
                        arrival: begin + .milliseconds(10), clockOffset: .zero))
                number += 1
            }
            let told = output.withUnsafeMutableBufferPointer {
                voice.fill($0, with: packets, now: now, latency: latency, leastLatency: nil)
            }
            for index in 0..<step where abs(output[2 * index]) > 0.25 {
                let place = call * step + index
                defer { lastLoud = place }
                guard place - lastLoud > 4800, call * step > 96_000, let latency = told.latency else { continue }
                let heard = sample * place + self.latency
                let begin = Duration.milliseconds(400) * (place / 19_200)
                found.append((heard - begin - latency).inMilliseconds)
            }
        }
        return found
    }

    @Test(arguments: [128, 256, 480, 1024], [false, true])
    func `Sound is heard when the statistics say`(step: Int, isSilentBetween: Bool) throws {
        let errors = try errors(step: step, isSilentBetween: isSilentBetween)
        #expect(errors.count >= 12)
        #expect(errors.allSatisfy { abs($0) < 0.1 }, "\(errors)")
    }
}
