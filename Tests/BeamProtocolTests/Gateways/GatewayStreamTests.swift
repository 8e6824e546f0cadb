import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// The stream to a gateway, in virtual time.
struct GatewayStreamTests {
    /// A stream, and what it has put out.
    struct Run {
        var stream: GatewayStream
        var now = MediaTime.at(1)
        var bursts: [(burst: BrowserBurst, time: MediaTime)] = []
        var controls: [(bytes: [UInt8], isSound: Bool, time: MediaTime)] = []
        var requests: [MediaTime] = []
        var demands: [StreamDemand] = []
        var soundDemands: [SoundDemand] = []
        var isControlFirst: Bool?

        init(hasSound: Bool = false, usesFullChroma: Bool = false) {
            stream = GatewayStream(
                configuration: BrowserStream.Configuration(
                    bitRate: 4_000_000, usesFullChroma: usesFullChroma, hasSound: hasSound),
                random: SeededGenerator(seed: 3))
        }

        mutating func drain() {
            for _ in 0..<10_000 {
                switch stream.pollOutput(now: now) {
                case .wait: return
                case .packets(let burst):
                    isControlFirst = isControlFirst ?? false
                    bursts.append((burst, now))
                case .control(let bytes, let isSound):
                    isControlFirst = isControlFirst ?? true
                    controls.append((bytes, isSound, now))
                case .requestKeyframe: requests.append(now)
                case .demand(let demand, _): demands.append(demand)
                case .soundDemand(let demand): soundDemands.append(demand)
                }
            }
            Issue.record("it doesn't come to rest")
        }

        /// In steps of a millisecond.
        mutating func run(_ milliseconds: Int) {
            for _ in 0..<milliseconds {
                drain()
                now = now + .milliseconds(1)
            }
            drain()
        }

        mutating func push(_ index: UInt32, reference: UInt32? = nil, bytes: Int = 2000) {
            stream.handleFrame(TestFrame.make(index, reference: reference, bytes: bytes, time: now), now: now)
            drain()
        }

        /// As Janus makes it.
        mutating func askForKeyframe(source: UInt32) {
            let bytes = TestFrame.big(0x81CE_0002) + TestFrame.big(1) + TestFrame.big(source)
            bytes.withUnsafeBytes { stream.handleControl($0, now: now) }
            drain()
        }

        var source: UInt32 { controls[0].bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) } }

        /// Sequence number and marker of each packet.
        var packets: [(sequence: UInt16, isMarked: Bool)] {
            var memory = [UInt8](repeating: 0, count: BrowserBurst.longestPacket)
            return bursts.flatMap { burst, _ in
                (0..<burst.count).map { index in
                    _ = memory.withUnsafeMutableBytes { burst.write(index, to: $0) }
                    return (UInt16(memory[2]) << 8 | UInt16(memory[3]), memory[1] & 0x80 != 0)
                }
            }
        }
    }

    @Test func reportsComeFirstAndNothingElseWhileNobodyWatches() {
        var run = Run(hasSound: true)
        run.push(1)
        run.stream.begin(now: run.now)
        run.run(11_000)
        run.push(2)
        #expect(run.bursts.isEmpty && run.requests.isEmpty && run.demands.isEmpty)
        // For pictures and sound, at once and each 5 s: the way back stays open.
        #expect(run.controls.count == 6 && run.controls[0].time == .at(1) && run.isControlFirst == true)
        #expect(run.controls.map(\.isSound) == [false, true, false, true, false, true])
    }

    /// The first request comes before the gateway knows the source.
    @Test func aRequestForAKeyframeBeginsTheStream() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.drain()
        run.askForKeyframe(source: 0)
        #expect(run.requests.count == 1 && run.demands.map(\.isWatched) == [true])
        #expect(run.demands[0].longestPause == .seconds(2))
        run.push(1, reference: 0)
        #expect(run.bursts.isEmpty)
        run.push(2)
        run.push(3, reference: 2)
        #expect(run.bursts.count == 2 && run.stream.figures.frames == 2 && run.stream.figures.keyframes == 1)
        let packets = run.packets
        #expect(packets[0].sequence < 1 << 15)
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 })
        #expect(packets.count { $0.isMarked } == 2)
        run.stream.setWatched(false, now: run.now)
        run.push(4, reference: 3)
        #expect(run.bursts.count == 2 && run.demands.map(\.isWatched) == [true, false])
    }

    /// Who has asked may have gone before the gateway counted him, or was somebody else.
    @Test func aRequestAloneBeginsTheStreamForSomeSecondsOnly() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.drain()
        run.askForKeyframe(source: 0)
        run.run(5900)
        #expect(run.demands.map(\.isWatched) == [true])
        run.run(200)
        #expect(run.demands.map(\.isWatched) == [true, false])
        run.askForKeyframe(source: 0)
        run.stream.setWatched(true, now: run.now)
        run.run(10_000)
        #expect(run.demands.map(\.isWatched) == [true, false, true])
    }

    /// The gateway says again and again that nobody watches, which is no news to the control.
    @Test func aRequestAloneIsEndedWhereNobodyWatchesAsTheGatewaySays() {
        var (run, gateway) = (Run(), FakeGateway())
        gateway.run(3)
        run.stream.begin(now: run.now)
        run.drain()
        run.askForKeyframe(source: 0)
        for _ in 0..<10 {
            let told = gateway.events.count
            gateway.run(1)
            for case .viewers(let count) in gateway.events[told...] {
                run.stream.setWatched(count > 0, now: run.now)
            }
            run.run(1000)
        }
        #expect(gateway.requests.count { FakeGateway.kind($0.0) == "info" } >= 5)
        #expect(run.demands.map(\.isWatched) == [true, false])
    }

    /// Others go on watching meanwhile.
    @Test func aRequestInterruptsNothingAndIsAnsweredOnceASecond() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.stream.setWatched(true, now: run.now)
        run.push(1)
        run.push(2, reference: 1)
        for index in 0..<300 {
            run.askForKeyframe(source: run.source)
            if index % 50 == 1 { run.push(UInt32(index), reference: 1) }
            run.run(10)
        }
        #expect((3...4).contains(run.requests.count), "\(run.requests)")
        #expect(zip(run.requests, run.requests.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
        #expect(run.stream.figures.frames == 8 && run.stream.figures.skipped == 0)
        // Another source's: none.
        let count = run.requests.count
        run.push(1000)
        run.run(2000)
        run.askForKeyframe(source: run.source ^ 1)
        #expect(run.requests.count == count)
    }

    @Test func aKeyframeThatDoesNotComeIsAskedForAgain() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.stream.setWatched(true, now: run.now)
        run.run(3500)
        #expect(run.requests.count == 4)
    }

    @Test func keyframesArePacedAndPicturesAreNot() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.stream.setWatched(true, now: run.now)
        run.push(1, bytes: 1180 * 400)
        run.push(2, reference: 1, bytes: 12_000)
        run.run(200)
        let keyframe = run.bursts.dropLast()
        #expect(keyframe.allSatisfy { $0.burst.count <= 16 })
        let time = (keyframe.last?.time ?? run.now) - .at(1)
        #expect(time >= .milliseconds(90) && time <= .milliseconds(110), "\(time)")
        #expect(run.bursts.last?.burst.count == 11)
    }

    /// What waits behind a keyframe is outdated by the next one; the one that was begun is ended.
    @Test func aNewerKeyframeReplacesWhatWaits() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.stream.setWatched(true, now: run.now)
        run.push(1, bytes: 1180 * 400)
        run.push(2, reference: 1)
        run.push(3, bytes: 5000)
        run.run(200)
        #expect(run.stream.figures.frames == 2 && run.stream.figures.skipped == 1)
        #expect(run.packets.count { $0.isMarked } == 2)
        #expect(zip(run.packets, run.packets.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 })
    }

    /// However much comes, what waits is bounded.
    @Test func aFloodOfPicturesIsDroppedUpToAKeyframe() {
        var run = Run()
        run.stream.begin(now: run.now)
        run.stream.setWatched(true, now: run.now)
        run.push(1, bytes: 1180 * 4000)
        for index in 2..<400 as Range<UInt32> {
            run.stream.handleFrame(TestFrame.make(index, reference: 1, bytes: 100, time: run.now), now: run.now)
        }
        run.run(3000)
        #expect(run.stream.figures.skipped > 250 && run.requests.count >= 2)
    }

    @Test func soundGoesOnlyWhileSomebodyWatches() {
        var run = Run(hasSound: true)
        run.stream.begin(now: run.now)
        let sound = EncodedSound(full: [1, 2, 3], time: run.now)
        run.stream.handleSound(sound, now: run.now)
        run.drain()
        #expect(run.bursts.isEmpty)
        run.stream.setWatched(true, now: run.now)
        run.stream.handleSound(sound, now: run.now)
        run.drain()
        #expect(run.bursts.count == 1 && run.bursts[0].burst.isSound)
        run.stream.stop(now: run.now)
        run.drain()
        #expect(run.soundDemands == [SoundDemand(full: true), SoundDemand()])
    }

    @Test func fullChromaGoesToNobody() { #expect(Run(usesFullChroma: true).stream.layer == 1) }
}
