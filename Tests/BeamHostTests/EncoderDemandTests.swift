import BeamClock
import BeamCodec
import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamHost

/// Merges what several consumers want of one encoder.
struct EncoderDemandTests {
    private static func time(_ seconds: Double) -> MediaTime { MediaTime.zero + .seconds(seconds) }

    private static func frame(isKeyframe: Bool, layer: Int = 0) -> EncodedFrame {
        let unit = AccessUnit(
            bytes: [], isKeyframe: isKeyframe, parameterSets: nil, size: PixelSize(width: 2, height: 2))
        return EncodedFrame(unit: unit, captureTime: .zero, layer: layer)
    }

    @Test func theDemandIsTheUnionOfAllConsumers() {
        let wakes = Wakes()
        let wanted = EncoderDemand(wake: { wakes.add() })
        let (network, recorder) = (wanted.addConsumer(), wanted.addConsumer())
        #expect(!wanted.isWatched && wanted.demand(layer: 0, at: .zero) == StreamDemand())
        recorder.set(StreamDemand(isWatched: true), layer: 0)
        #expect(wanted.isWatched && wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true))
        #expect(!wanted.demand(layer: 1, at: .zero).isWatched)
        // A value that doesn't change the demand doesn't wake the stage.
        let before = wakes.count
        network.set(StreamDemand(bitRate: 1_000_000, isHeld: true), layer: 0)
        for seconds in [0.0, 10] {
            let demand = wanted.demand(layer: 0, at: Self.time(seconds))
            #expect(demand == StreamDemand(isWatched: true), "a consumer that doesn't watch doesn't count")
        }
        recorder.set(StreamDemand(isWatched: true), layer: 0)
        #expect(wakes.count == before)
        network.set(StreamDemand(isWatched: true, bitRate: 1_000_000), layer: 0)
        #expect(wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true, bitRate: 1_000_000))
        #expect(wakes.count == before + 1)
        recorder.set(StreamDemand(isWatched: true, bitRate: 500_000), layer: 0)
        #expect(wanted.demand(layer: 0, at: .zero).bitRate == 500_000)
        network.set(StreamDemand(), layer: 0)
        #expect(wanted.isWatched)
        recorder.set(StreamDemand(), layer: 0)
        #expect(!wanted.isWatched && wanted.demand(layer: 0, at: .zero) == StreamDemand())
    }

    /// A recorder isn't slowed down by a path: not by its rate, its size or its hold.
    @Test func aRecorderKeepsFullQuality() {
        let wanted = EncoderDemand(wake: {})
        let (network, recorder) = (wanted.addConsumer(), wanted.addConsumer())
        recorder.set(StreamDemand(isWatched: true, isWhole: true), layer: 0)
        network.set(StreamDemand(isWatched: true, bitRate: 300_000, isHeld: true, eighths: 4), layer: 0)
        #expect(wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true, isWhole: true))
        recorder.set(StreamDemand(), layer: 0)
        #expect(wanted.demand(layer: 0, at: .zero).bitRate == 300_000 && wanted.demand(layer: 0, at: .zero).isHeld)
    }

    /// It is left out of the pictures only if all who get any draw it.
    @Test func whoWatchesDecidesWhetherThePointerIsApart() {
        let wakes = Wakes()
        let wanted = EncoderDemand(wake: { wakes.add() })
        let (network, recorder) = (wanted.addConsumer(), wanted.addConsumer())
        #expect(!wanted.isPointerApart)
        var demand = StreamDemand(isWatched: true)
        demand.hasOnlyPointerTakers = true
        network.set(demand, layer: 0)
        #expect(wanted.isPointerApart)
        // The reduced layer is made of the same pictures.
        network.set(StreamDemand(isWatched: true), layer: 1)
        #expect(!wanted.isPointerApart)
        network.set(demand, layer: 1)
        #expect(wanted.isPointerApart)
        let before = wakes.count
        recorder.set(StreamDemand(isWatched: true, isWhole: true), layer: 0)
        #expect(!wanted.isPointerApart && wakes.count == before + 1)
        recorder.set(StreamDemand(), layer: 0)
        #expect(wanted.isPointerApart)
        for layer in 0..<2 { network.set(StreamDemand(), layer: layer) }
        #expect(!wanted.isPointerApart)
    }

    /// As many frames are made as somebody wants.
    @Test func theHigherFrameRateCounts() {
        let wanted = EncoderDemand(wake: {})
        let (network, browsers) = (wanted.addConsumer(), wanted.addConsumer())
        var few = StreamDemand(isWatched: true)
        few.frameRate = 10
        network.set(few, layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero).frameRate == 10)
        few.frameRate = 15
        browsers.set(few, layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero).frameRate == 15)
        browsers.set(StreamDemand(isWatched: true), layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero).frameRate == nil)
    }

    /// Browsers lower nobody's rate. What somebody needs to skip frames, or not to wait too long for one, is made.
    @Test func aConsumerThatTakesAnyRateLowersNone() {
        let wanted = EncoderDemand(wake: {})
        let (browsers, network) = (wanted.addConsumer(), wanted.addConsumer())
        var browser = StreamDemand(isWatched: true, bitRate: 300_000)
        browser.takesAnyRate = true
        browser.longestPause = .seconds(2)
        browsers.set(browser, layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero) == browser)
        network.set(StreamDemand(isWatched: true, bitRate: 900_000, wantsTemporalLayers: true), layer: 1)
        let both = wanted.demand(layer: 1, at: .zero)
        #expect(both.bitRate == 900_000 && !both.takesAnyRate)
        #expect(both.wantsTemporalLayers && both.longestPause == .seconds(2))
        network.set(StreamDemand(isWatched: true), layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero).bitRate == nil)
        var other = StreamDemand(isWatched: true)
        other.longestPause = .seconds(1)
        network.set(other, layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero).longestPause == .seconds(1))
        network.set(StreamDemand(), layer: 1)
        #expect(wanted.demand(layer: 1, at: .zero) == browser)
    }

    private final class Wakes: Sendable {
        private let number = Atomic(0)
        var count: Int { number.load(ordering: .relaxed) }
        func add() { number.wrappingAdd(1, ordering: .relaxed) }
    }

    @Test func aKeyframeServesAllConsumersOfItsLayer() {
        let wanted = EncoderDemand(wake: {})
        let (network, recorder) = (wanted.addConsumer(), wanted.addConsumer())
        network.requestKeyframe(layer: 1)
        #expect(wanted.needsKeyframe(layer: 1) && !wanted.needsKeyframe(layer: 0))
        network.requestKeyframe(layer: 0)
        recorder.requestKeyframe(layer: 0)
        wanted.keyframeMade(layer: 0)
        #expect(!wanted.needsKeyframe(layer: 0) && wanted.needsKeyframe(layer: 1))
        for consumer in [network, recorder] {
            #expect(consumer.takes(Self.frame(isKeyframe: true)) && consumer.takes(Self.frame(isKeyframe: false)))
        }
    }

    /// A viewer that has vanished holds the layer; a recording goes on after `longestHold`.
    @Test func aHoldStopsTheOthersForAtMostLongestHold() {
        let wanted = EncoderDemand(wake: {})
        let network = wanted.addConsumer()
        let held = StreamDemand(isWatched: true, bitRate: 300_000, isHeld: true)
        network.set(held, layer: 0)
        // With one consumer a hold lasts as long as that consumer wants.
        #expect(wanted.demand(layer: 0, at: Self.time(1)).isHeld && wanted.holdEnd(layer: 0) == nil)
        #expect(wanted.demand(layer: 0, at: Self.time(100)).isHeld)
        network.set(StreamDemand(isWatched: true), layer: 0)
        let recorder = wanted.addConsumer()
        recorder.set(StreamDemand(isWatched: true), layer: 0)

        network.set(held, layer: 0)
        #expect(wanted.demand(layer: 0, at: Self.time(200)).isHeld)
        #expect(wanted.holdEnd(layer: 0) == Self.time(200) + EncoderDemand.longestHold)
        let end = Self.time(200) + EncoderDemand.longestHold
        #expect(wanted.demand(layer: 0, at: end - .milliseconds(1)).isHeld)
        // A hold shorter than `longestHold` needs no keyframe afterwards.
        network.set(StreamDemand(isWatched: true), layer: 0)
        #expect(!wanted.needsKeyframe(layer: 0) && network.takes(Self.frame(isKeyframe: false)))

        network.set(held, layer: 0)
        #expect(wanted.demand(layer: 0, at: Self.time(300)).isHeld)
        #expect(
            wanted.demand(layer: 0, at: Self.time(302)) == StreamDemand(isWatched: true),
            "the rate of a consumer that is passed over doesn't count")
        #expect(wanted.holdEnd(layer: 0) == nil)
        // Frames are now for the recorder only, so the network's keyframe requests don't count.
        network.requestKeyframe(layer: 0)
        #expect(!wanted.needsKeyframe(layer: 0), "a consumer that is passed over requests nothing")
        for isKeyframe in [false, true] {
            let frame = Self.frame(isKeyframe: isKeyframe)
            #expect(!network.takes(frame) && recorder.takes(frame))
        }
        // Layer 1 is not affected.
        #expect(network.takes(Self.frame(isKeyframe: false, layer: 1)))

        // When the hold ends, a keyframe is made at once, and the network resumes with it.
        network.set(StreamDemand(isWatched: true, bitRate: 300_000), layer: 0)
        #expect(wanted.demand(layer: 0, at: Self.time(303)).bitRate == 300_000)
        #expect(wanted.needsKeyframe(layer: 0) && !network.takes(Self.frame(isKeyframe: false)))
        wanted.keyframeMade(layer: 0)
        #expect(network.takes(Self.frame(isKeyframe: true)) && network.takes(Self.frame(isKeyframe: false)))
    }

    @Test func aConsumerThatStopsWatchingIsNoLongerPassedOver() {
        let wanted = EncoderDemand(wake: {})
        let (network, recorder) = (wanted.addConsumer(), wanted.addConsumer())
        recorder.set(StreamDemand(isWatched: true), layer: 0)
        network.set(StreamDemand(isWatched: true, isHeld: true), layer: 0)
        _ = wanted.demand(layer: 0, at: Self.time(1))
        _ = wanted.demand(layer: 0, at: Self.time(3))
        #expect(!network.takes(Self.frame(isKeyframe: true)))
        network.set(StreamDemand(), layer: 0)
        network.set(StreamDemand(isWatched: true), layer: 0)
        network.requestKeyframe(layer: 0)
        #expect(wanted.needsKeyframe(layer: 0) && network.takes(Self.frame(isKeyframe: true)))
    }

    // MARK: With the stage

    /// Viewers come and go while the stage is being made: the last demand counts.
    @Test func theLastDemandCountsEvenBeforeTheStageExists() async throws {
        let size = PixelSize(width: 64, height: 64)
        let settings = EncodeStage.Settings(encoder: "libx264", frameRate: 60, bitRate: 1_000_000)
        for round in 0..<60 {
            let isWatchedAtLast = round.isMultiple(of: 2)
            let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
            let wanted = EncoderDemand(wake: { slot.nudge() })
            let consumer = wanted.addConsumer()
            // The stage doesn't exist yet.
            consumer.set(StreamDemand(isWatched: !isWatchedAtLast), layer: 0)
            consumer.requestKeyframe(layer: 0)
            let writer = StageThread("writer") {
                for step in 0..<50 { consumer.set(StreamDemand(isWatched: step.isMultiple(of: 2)), layer: 0) }
                consumer.set(StreamDemand(isWatched: isWatchedAtLast), layer: 0)
            }
            let collector = CollectingSink()
            let active = Mutex(false)
            let stage = EncodeStage(
                settings, encoder: try VideoEncoder(settings.encoderSettings(for: size)), size: size, from: slot,
                wanted: wanted, into: [collector],
                handlers: EncodeStage.Handlers(
                    onActivity: { isActive in active.withLock { $0 = isActive } }, onResize: { _ in },
                    onFallback: { _, _ in }, onFailure: { Issue.record("\($0)") }))
            writer.join()
            try await eventually {
                active.withLock { $0 } == isWatchedAtLast
                    && stage.report(sinceStart: true).layers[0].isWatched == isWatchedAtLast
            }
            if isWatchedAtLast {
                slot.put(Picture(buffer: PixelBuffer(format: .bgrx, size: size), time: .now))
                try await eventually { collector.frames.first?.isKeyframe == true }
            }
            slot.close()
            stage.join()
            #expect(active.withLock { $0 } == isWatchedAtLast)
        }
    }

    /// One sink's hold delays the other by `longestHold` at most, and costs it no frame.
    @Test func aHoldingSinkIsPassedOverAndResumesAtAKeyframe() async throws {
        let size = PixelSize(width: 64, height: 64)
        let settings = EncodeStage.Settings(encoder: "libx264", frameRate: 60, bitRate: 1_000_000)
        let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
        let wanted = EncoderDemand(wake: { slot.nudge() })
        let (slow, recorder) = (SelectiveSink(wanted.addConsumer()), SelectiveSink(wanted.addConsumer()))
        let stage = EncodeStage(
            settings, encoder: try VideoEncoder(settings.encoderSettings(for: size)), size: size, from: slot,
            wanted: wanted, into: [slow, recorder],
            handlers: EncodeStage.Handlers(
                onActivity: { _ in }, onResize: { _ in }, onFallback: { _, _ in },
                onFailure: { Issue.record("\($0)") }))
        defer {
            slot.close()
            stage.join()
        }
        func show(_ shade: UInt8) {
            let buffer = PixelBuffer(format: .bgrx, size: size)
            for y in 0..<size.height {
                memset(buffer.planes[0].base + y * buffer.planes[0].stride, Int32(shade), size.width * 4)
            }
            slot.put(Picture(buffer: buffer, time: .now))
        }
        for sink in [slow, recorder] { sink.consumer.set(StreamDemand(isWatched: true), layer: 0) }
        show(10)
        try await eventually { slow.pictures == 1 && recorder.pictures == 1 }
        slow.consumer.set(StreamDemand(isWatched: true, isHeld: true), layer: 0)
        show(200)
        // The stage wakes by itself after `longestHold`.
        try await eventually { recorder.pictures == 2 }
        #expect(slow.pictures == 1 && slow.frames.count(where: \.isKeyframe) == 1)
        slow.consumer.set(StreamDemand(isWatched: true), layer: 0)
        try await eventually { slow.frames.count(where: \.isKeyframe) == 2 }
        // Both streams decode from beginning to end.
        for sink in [slow, recorder] {
            let decoder = try VideoDecoder()
            for frame in sink.frames { #expect(try decoder.decode(frame) != nil) }
        }
    }

    private final class SelectiveSink: FrameSink {
        let consumer: EncoderDemand.Consumer
        private let kept = Mutex<[EncodedFrame]>([])

        init(_ consumer: EncoderDemand.Consumer) { self.consumer = consumer }

        var frames: [EncodedFrame] { kept.withLock { $0 } }
        /// Frames of new pictures, not counting repeated or refined ones.
        var pictures: Int { frames.count { !$0.isRepeated } }
        func open() {}
        func push(_ sound: EncodedSound) {}

        func push(_ frame: EncodedFrame) { if consumer.takes(frame) { kept.withLock { $0.append(frame) } } }
        func close() {}
    }
}
