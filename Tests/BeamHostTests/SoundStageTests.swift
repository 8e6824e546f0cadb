import BeamMedia
import BeamSound
import Foundation
import Synchronization
import Testing

@testable import BeamHost

/// The host's sound from a source to the sinks, with the real encoder.
struct SoundStageTests {
    /// Gives the blocks that the test wants it to, as long as it is active.
    private final class Source: SoundSource {
        private let state = Mutex((isActive: false, isStopped: false, block: 0))
        private let make: @Sendable (Int) -> Float

        init(_ make: @escaping @Sendable (Int) -> Float) { self.make = make }

        var isActive: Bool { state.withLock { $0.isActive } }
        func setActive(_ isActive: Bool) { state.withLock { $0.isActive = isActive } }
        func stop() { state.withLock { $0.isStopped = true } }

        func run(deliver: (SoundBlock) -> Void) {
            while true {
                let (isActive, isStopped, index) = state.withLock { state in
                    if state.isActive { state.block += 1 }
                    return (state.isActive, state.isStopped, state.block)
                }
                if isStopped { return }
                Thread.sleep(forTimeInterval: 0.001)
                guard isActive else { continue }
                var samples = [Float](repeating: 0, count: SoundBlock.length * SoundBlock.channelCount)
                for place in samples.indices { samples[place] = make(index) * Float.random(in: -1...1) }
                deliver(SoundBlock(samples: samples, time: MediaTime(nanoseconds: Int64(index) * 10_000_000)))
            }
        }
    }

    private final class Sink: FrameSink {
        let sounds = Mutex<[EncodedSound]>([])
        func open() {}
        func push(_ frame: EncodedFrame) {}
        func push(_ sound: EncodedSound) { sounds.withLock { $0.append(sound) } }
        func close() {}

        var all: [EncodedSound] { sounds.withLock { $0 } }

        func wait(for count: Int) -> [EncodedSound] {
            let end = Date.now + 30
            while all.count < count, Date.now < end { Thread.sleep(forTimeInterval: 0.005) }
            return all
        }
    }

    private func stage(_ sink: Sink, _ make: @escaping @Sendable (Int) -> Float) -> (SoundStage, Source) {
        let source = Source(make)
        let stage = SoundStage(source, bitRate: 128_000, into: [sink]) { Issue.record("\($0)") }
        stage.start()
        return (stage, source)
    }

    @Test func nothingIsCapturedUntilSomebodyWantsSound() {
        let sink = Sink()
        let (stage, source) = stage(sink) { _ in 0.5 }
        defer { stage.stop() }
        Thread.sleep(forTimeInterval: 0.05)
        #expect(!source.isActive && sink.all.isEmpty)
        stage.want(SoundDemand(full: true), by: .viewers)
        let sounds = sink.wait(for: 20)
        #expect(sounds.count >= 20)
        #expect(sounds.allSatisfy { $0.full?.count == 160 && $0.reduced == nil })
        #expect(sounds.map(\.begins).first == true && sounds.dropFirst().allSatisfy { !$0.begins })
        // 2.5 ms before the block's own time: that is how late a decoder is.
        #expect(sounds.first?.time == MediaTime(nanoseconds: 10_000_000 - 2_500_000))
        stage.want(SoundDemand(), by: .viewers)
        #expect(!source.isActive)
    }

    @Test func eachEncodingIsMadeOnlyForThoseWhoWantIt() {
        let sink = Sink()
        let (stage, _) = stage(sink) { _ in 0.5 }
        defer { stage.stop() }
        stage.want(SoundDemand(reduced: true), by: .viewers)
        #expect(sink.wait(for: 10).allSatisfy { $0.full == nil && $0.reduced?.count == 80 })
        stage.want(SoundDemand(full: true), by: .recorder)
        let count = sink.all.count
        let both = sink.wait(for: count + 10).suffix(5)
        #expect(both.allSatisfy { $0.full?.count == 160 && $0.reduced?.count == 80 })
        #expect(stage.report.demand == SoundDemand(full: true, reduced: true))
        #expect(stage.report.packets >= 20)
    }

    @Test func aPausedHostSharesNoSound() {
        let sink = Sink()
        let (stage, source) = stage(sink) { _ in 0.5 }
        defer { stage.stop() }
        stage.want(SoundDemand(full: true), by: .viewers)
        _ = sink.wait(for: 5)
        stage.setPaused(true)
        #expect(!source.isActive)
        stage.want(SoundDemand(full: true), by: .recorder)
        #expect(!source.isActive)
        Thread.sleep(forTimeInterval: 0.05)
        let count = sink.all.count
        Thread.sleep(forTimeInterval: 0.1)
        #expect(sink.all.count == count)
        stage.setPaused(false)
        #expect(sink.wait(for: count + 5).count >= count + 5)
    }

    @Test func silenceSendsNothing() {
        let sink = Sink()
        // Heard for 10 blocks, silent for 50, and so on.
        let (stage, _) = stage(sink) { $0 % 60 < 10 ? 0.5 : 0 }
        defer { stage.stop() }
        stage.want(SoundDemand(full: true), by: .viewers)
        let sounds = sink.wait(for: 90)
        let report = stage.report
        #expect(report.silent >= 40, "\(report)")
        #expect(sounds.count { $0.begins } >= 2 && sounds.count { $0.ends } >= 2)
        // What begins follows an end.
        for (before, after) in zip(sounds, sounds.dropFirst()) { #expect(after.begins == before.ends) }
    }
}
