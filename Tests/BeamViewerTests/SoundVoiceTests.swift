import BeamMedia
import BeamSound
import Testing

@testable import BeamViewer

struct SoundVoiceTests {
    private let origin = MediaTime(nanoseconds: 5_000_000_000)
    /// Of the device.
    private let latency = Duration.milliseconds(4)

    /// Plays a tone that begins every 400 ms, for 8 s, and returns by how much each beginning is given later to the device
    /// than the statistics say, in milliseconds.
    ///
    /// - Parameters:
    ///   - room: samples that the device has room for.
    ///   - isWhole: it wants all of them. Otherwise it asks again when what it got has been played.
    private func errors(room: Int, isWhole: Bool, isSilentBetween: Bool) throws -> [Double] {
        let voice = try SoundVoice()
        let encoder = try SoundEncoder(bitRate: 128_000)
        let sample = SoundBlock.time(ofSamples: 1)
        let quiet: Float = isSilentBetween ? 0 : 0.01
        var (found, lastLoud): ([Double], Int) = ([], -48_000)
        var (next, number): (Int, UInt32) = (0, 0)
        var output = [Float](repeating: 0, count: room * SoundBlock.channelCount)
        var (played, calls) = (0, 0)
        while played < 8 * 48_000 {
            let now = origin + sample * played
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
            let demand = OutputDemand(now: now, latency: latency, isWhole: isWhole)
            let (count, told) = output.withUnsafeMutableBufferPointer {
                voice.fill($0, demand, with: packets, leastLatency: nil)
            }
            #expect(isWhole ? count == room : (1...room).contains(count))
            for index in 0..<count where abs(output[2 * index]) > 0.25 {
                let place = played + index
                defer { lastLoud = place }
                guard place - lastLoud > 4800, played > 96_000, let latency = told.latency else { continue }
                let heard = sample * place + self.latency
                let begin = Duration.milliseconds(400) * (place / 19_200)
                found.append((heard - begin - latency).inMilliseconds)
            }
            played += max(1, count)
            calls += 1
        }
        // A packet at once, or 2.5 ms of silence.
        if !isWhole { #expect(calls < 4 * 800 && calls > 700, "\(calls)") }
        return found
    }

    @Test(arguments: [128, 256, 480, 1024], [false, true])
    func `Sound is heard when the statistics say`(room: Int, isSilentBetween: Bool) throws {
        let errors = try errors(room: room, isWhole: true, isSilentBetween: isSilentBetween)
        #expect(errors.count >= 12)
        #expect(errors.allSatisfy { abs($0) < 0.1 }, "\(errors)")
    }

    @Test(arguments: [false, true])
    func `A device that needn't be filled gets a packet when it is due`(isSilentBetween: Bool) throws {
        let errors = try errors(room: 960, isWhole: false, isSilentBetween: isSilentBetween)
        #expect(errors.count >= 12)
        #expect(errors.allSatisfy { abs($0) < 0.1 }, "\(errors)")
    }

    @Test func `While nothing is heard the device isn't woken often`() throws {
        let voice = try SoundVoice()
        var output = [Float](repeating: 9, count: 2 * 960)
        var (played, calls, most) = (0, 0, 0)
        while played < 60 * 48_000 {
            let demand = OutputDemand(
                now: origin + SoundBlock.time(ofSamples: played), latency: latency, isWhole: false)
            let count = output.withUnsafeMutableBufferPointer {
                voice.fill($0, demand, with: [], leastLatency: nil).count
            }
            #expect(output[..<(2 * count)].allSatisfy { $0 == 0 })
            if played < 4 * 48_000 { most = max(most, count) }
            played += count
            calls += 1
        }
        #expect(most == 120 && calls < 8000, "\(most), \(calls)")
    }
}
