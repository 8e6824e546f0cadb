import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamPlayout
@testable import BeamSession
@testable import BeamWire

/// Sound and picture in step: the buffer and `SoundSync` in one loop with a picture of some latency.
@Suite struct SoundSyncTests {
    /// A viewer: 60 pictures a second with some latency, and sound over some network. What is measured is seen and heard.
    private struct Scene {
        var sync: SoundSync
        var sound: SoundSimulation
        /// The pictures' latency without hold, in ms.
        var latency = 20.0
        var jitter = 4.0
        private var random = SeededGenerator(seed: 3)
        private var frames = 0
        /// The holds of pictures that are under way: those that are shown two pictures later.
        private var holds: [Duration] = [.zero, .zero]
        private(set) var mostHold = Duration.zero
        private(set) var largestStep = Duration.zero
        /// True latency of the sound, less that of the picture, in ms; of the last pictures.
        private(set) var skews: [Double] = []
        private var heard = Heard()

        private final class Heard { var latency: Double? }

        init(_ mode: SoundSync.Mode, _ conditions: SoundNetworkConditions) {
            sync = SoundSync(mode: mode)
            sound = SoundSimulation(conditions)
            let heard = heard
            sound.onHeard = { heard.latency = $0.latency * 1000 }
        }

        mutating func run(for seconds: Double) {
            skews.removeAll()
            mostHold = .zero
            for frame in 0..<Int(seconds * 60) {
                frames += 1
                sound.run(for: Double(frames) / 60 - sound.now)
                let now = MediaTime.at(2000 + sound.now)
                if frame % 6 == 0, sound.isPlaying(sound.now) {
                    let statistics = sound.buffer.statistics
                    sync.soundPlayed(latency: statistics.latency, natural: statistics.naturalLatency, now: now)
                }
                let held = holds.removeFirst()
                let shown = latency + held.inMilliseconds + Double.random(in: -jitter...jitter, using: &random)
                let before = sync.pictureHold
                sync.pictureShown(latency: .seconds(shown / 1000), held: held, now: now)
                let step = sync.pictureHold - before
                largestStep = max(largestStep, step < .zero ? .zero - step : step)
                mostHold = max(mostHold, sync.pictureHold)
                holds.append(sync.pictureHold)
                sound.buffer.leastLatency = sync.leastSoundLatency
                if let latency = heard.latency { skews.append(latency - shown) }
            }
        }

        var now: MediaTime { .at(2000 + sound.now) }
        var medianSkew: Double { skews.sorted()[skews.count / 2] }
    }

    private static let quiet = SoundNetworkConditions(delay: 0.0002, jitter: 0.0005, hold: 0)

    @Test func aQuickPictureIsHeldALittle() {
        var scene = Scene(.picture, Self.quiet)
        scene.latency = 12
        scene.run(for: 20)
        scene.run(for: 20)
        // Sound takes 27 ms: 15 more than the picture.
        #expect(abs(scene.medianSkew) <= 10, "\(scene.medianSkew)")
        #expect(scene.mostHold <= SoundSync.longestPictureHold && scene.mostHold > .milliseconds(5))
        #expect(scene.largestStep <= .milliseconds(1))
        let skew = scene.sync.skew(now: scene.now)?.inMilliseconds ?? 100
        #expect(abs(skew - scene.medianSkew) < 2, "\(skew), \(scene.medianSkew)")
    }

    @Test func aPictureThatIsNoSoonerIsNotHeld() {
        for latency in [24.0, 30, 60] {
            var scene = Scene(.picture, Self.quiet)
            scene.latency = latency
            scene.run(for: 30)
            scene.run(for: 20)
            #expect(scene.mostHold == .zero)
            #expect(abs(scene.medianSkew) <= 5, "\(latency): \(scene.medianSkew)")
        }
    }

    /// The sound waits for the jitter; the picture doesn't, but for 10 ms.
    @Test func theHoldIsBounded() {
        var scene = Scene(.picture, SoundNetworkConditions(delay: 0.001, jitter: 0.03, reorder: 0.02))
        scene.run(for: 30)
        scene.run(for: 10)
        #expect(scene.mostHold == SoundSync.longestPictureHold)
        #expect(scene.medianSkew > 15)
        scene.sync.mode = .sound
        scene.run(for: 10)
        scene.run(for: 10)
        #expect(scene.mostHold > .milliseconds(30) && scene.mostHold < .milliseconds(60))
        #expect(abs(scene.medianSkew) <= 5, "\(scene.medianSkew)")
        scene.sync.mode = .off
        scene.run(for: 5)
        #expect(scene.sync.pictureHold == .zero && scene.sync.leastSoundLatency == nil)
    }

    /// A path that gets slow, so that the picture is 150 ms late, and quick again.
    @Test func theSoundFollowsThePicture() {
        var scene = Scene(.picture, Self.quiet)
        scene.run(for: 20)
        let resets = scene.sound.resets
        scene.latency = 170
        scene.run(for: 8)
        scene.run(for: 5)
        #expect(abs(scene.medianSkew) <= 10, "\(scene.medianSkew)")
        #expect(scene.sound.resets == resets + 1, "one gap")
        scene.latency = 20
        scene.run(for: 8)
        scene.run(for: 5)
        #expect(abs(scene.medianSkew) <= 10, "\(scene.medianSkew)")
        #expect(scene.sound.resets == resets + 2)
    }

    /// 25 ms more are made up for by resampling alone.
    @Test func aSmallChangeIsMadeInaudibly() {
        var scene = Scene(.picture, Self.quiet)
        scene.latency = 30
        scene.run(for: 30)
        let resets = scene.sound.resets
        scene.latency = 55
        scene.run(for: 40)
        scene.run(for: 5)
        #expect(abs(scene.medianSkew) <= 5, "\(scene.medianSkew)")
        #expect(scene.sound.resets == resets && scene.sound.concealed == 0)
        #expect(scene.sound.buffer.statistics.dropped == 0)
    }

    /// While the window is being opened, pictures come late, and then they don't.
    @Test func theSoundDoesNotWaitForTheFirstPictures() {
        var scene = Scene(.picture, Self.quiet)
        scene.latency = 90
        scene.run(for: 0.9)
        #expect(scene.sync.leastSoundLatency == nil && scene.sync.pictureHold == .zero)
        scene.latency = 20
        scene.run(for: 5)
        scene.run(for: 2)
        #expect(abs(scene.medianSkew) <= 10, "\(scene.medianSkew)")
    }

    @Test func aBufferForThePictureIsWaitedForFromTheBeginning() {
        #expect(SoundSync(mode: .picture, pictureBuffer: .milliseconds(500)).leastSoundLatency == .milliseconds(500))
        #expect(SoundSync(mode: .off, pictureBuffer: .milliseconds(500)).leastSoundLatency == nil)
        #expect(SoundSync(mode: .picture).leastSoundLatency == nil)
    }

    @Test func withoutSoundNothingIsHeld() {
        var scene = Scene(.picture, Self.quiet)
        scene.latency = 12
        scene.sound.isPlaying = { $0 < 20 }
        scene.run(for: 19)
        #expect(scene.sync.pictureHold > .zero)
        scene.run(for: 5)
        #expect(scene.sync.pictureHold == .zero)
        #expect(scene.sync.skew(now: scene.now) == nil)
    }

    @Test func unknownLatenciesDecideNothing() {
        var sync = SoundSync()
        for index in 0..<600 {
            let now = MediaTime.at(Double(index) / 60)
            sync.soundPlayed(latency: nil, natural: nil, now: now)
            sync.soundPlayed(latency: .nanoseconds(Int64.max), natural: .nanoseconds(Int64.min), now: now)
            sync.pictureShown(latency: index % 2 == 0 ? nil : .seconds(3600), held: .seconds(900), now: now)
        }
        #expect(sync.pictureHold == .zero && sync.leastSoundLatency == nil)
        #expect(sync.skew(now: .at(10.0)) == nil)
    }

    // MARK: The buffer's part

    @Test func theLeastLatencyIsKept() {
        var simulation = SoundSimulation(Self.quiet)
        simulation.buffer.leastLatency = .milliseconds(300)
        var latency = 0.0
        var first: Double?
        simulation.onHeard = {
            latency = $0.latency
            first = first ?? latency
        }
        simulation.run(for: 4)
        // From the first packet on.
        #expect(first.map { abs($0 - 0.3) < 0.005 } == true, "\(first ?? 0)")
        #expect(abs(latency - 0.3) < 0.003, "\(latency)")
        simulation.run(for: 30)
        #expect(abs(latency - 0.3) < 0.002)
        #expect(simulation.resets <= 2 && simulation.concealed == 0)
        #expect(abs((simulation.buffer.statistics.latency ?? .zero).inSeconds - latency) < 0.001)
        #expect((simulation.buffer.statistics.naturalLatency ?? .zero) < .milliseconds(35))
        simulation.buffer.leastLatency = .seconds(5)
        #expect(simulation.buffer.leastLatency == .seconds(2))
        simulation.run(for: 10)
        #expect(abs(latency - 2) < 0.005, "\(latency)")
        let played = simulation.buffer.statistics
        simulation.run(for: 10)
        #expect(simulation.buffer.statistics.played - played.played >= 999)
        #expect(simulation.buffer.statistics.dropped == played.dropped)
    }

    @Test func itIsReachedExactlyAfterSilence() {
        var simulation = SoundSimulation(Self.quiet)
        simulation.isPlaying = { $0.truncatingRemainder(dividingBy: 4) < 3.5 }
        var latencies: [Double] = []
        simulation.onHeard = { latencies.append($0.latency) }
        simulation.run(for: 11.8)
        simulation.buffer.leastLatency = .milliseconds(80)
        latencies.removeAll()
        simulation.run(for: 3)
        #expect(latencies.allSatisfy { abs($0 - 0.08) < 0.002 }, "\(latencies.prefix(5))")
    }

    /// The host's clock is measured anew, and differs by some ms each time.
    @Test func stepsOfTheClockOffsetArentHeard() {
        var simulation = SoundSimulation(Self.quiet)
        simulation.offsetError = { 0.003 * (Int($0 / 2) % 2 == 0 ? 1 : -1) }
        simulation.buffer.leastLatency = .milliseconds(60)
        simulation.run(for: 30)
        var last: Double?
        var largest = 0.0
        simulation.onHeard = {
            if let last { largest = max(largest, abs($0.latency - last)) }
            last = $0.latency
        }
        simulation.run(for: 30)
        #expect(largest < 10e-6, "\(largest)")
        #expect(simulation.concealed == 0 && simulation.resets <= 2)
    }

    @Test func withoutTheHostsClockThereIsNoLatency() {
        var simulation = SoundSimulation(Self.quiet)
        simulation.knowsClock = false
        simulation.buffer.leastLatency = .seconds(1)
        simulation.run(for: 20)
        #expect(simulation.buffer.statistics.latency == nil && simulation.concealed == 0)
        #expect(simulation.buffer.statistics.buffer < .milliseconds(10))
    }
}
