import BeamClock
import BeamCodec
import BeamMedia
import BeamPixels
import Foundation
import Synchronization
import Testing

@testable import BeamHost

/// The encode stage on its own thread, with real encoders and decoders.
@Suite struct EncodeStageTests {
    private static let size = PixelSize(width: 640, height: 360)

    /// A stage with a slot in front of it and a sink that collects its frames.
    private final class Bench: Sendable {
        let slot: LatestSlot<Picture>
        let consumer: EncoderDemand.Consumer
        private let collector = CollectingSink()
        let stage: EncodeStage

        init(chroma: ChromaFormat = .subsampled, frameRate: Double = 60) throws {
            let settings = EncodeStage.Settings(
                encoder: "libx264", frameRate: frameRate, bitRate: 20_000_000, chroma: chroma)
            let encoder = try VideoEncoder(settings.encoderSettings(for: size))
            let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
            self.slot = slot
            let wanted = EncoderDemand(wake: { slot.nudge() })
            consumer = wanted.addConsumer()
            stage = EncodeStage(
                settings, encoder: encoder, size: size, from: slot, wanted: wanted, into: [collector],
                handlers: EncodeStage.Handlers(
                    onActivity: { _ in }, onResize: { _ in },
                    onFallback: { name, error in Issue.record("\(name): \(error)") },
                    onFailure: { Issue.record("\($0)") }))
        }

        func put(_ number: Int, damage: DamageRegion? = nil) {
            slot.put(Picture(buffer: colourful(number), time: .now, damage: damage, number: UInt64(number)))
        }

        func frames(_ layer: Int) -> [EncodedFrame] { collector.frames.filter { $0.layer == layer } }

        /// Waits until a layer has `count` frames, at most 60 s.
        func wait(_ layer: Int, _ count: Int) async throws -> [EncodedFrame] {
            for _ in 0..<1000 {
                let frames = frames(layer)
                if frames.count >= count { return frames }
                try await Task.sleep(for: .milliseconds(10))
            }
            throw Hang(layer: layer, count: count, got: frames(layer).count)
        }

        /// Waits until a layer has frames of `count` pictures, not counting repeated or refined ones.
        func pictures(_ layer: Int, _ count: Int) async throws {
            var frames = try await wait(layer, count)
            while frames.count(where: { !$0.isRepeated }) < count { frames = try await wait(layer, frames.count + 1) }
        }

        /// Waits until a layer has `count` keyframes.
        func keyframes(_ layer: Int, _ count: Int) async throws -> [EncodedFrame] {
            var frames = try await wait(layer, count)
            while frames.filter(\.isKeyframe).count < count { frames = try await wait(layer, frames.count + 1) }
            return frames
        }

        func end() {
            slot.close()
            stage.join()
        }
    }

    private struct Hang: Error {
        var layer: Int
        var count: Int
        var got: Int
    }

    /// Coloured stripes, one pixel wide, shifted from picture to picture.
    private static func colourful(_ number: Int) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        for y in 0..<size.height {
            let row = buffer.planes[0].base + y * buffer.planes[0].stride
            for x in 0..<size.width {
                let isRed = (x + number + y / 8).isMultiple(of: 2)
                let pixel: UInt32 = isRed ? 0xff_c8_20_20 : 0xff_20_20_c8
                row.storeBytes(of: pixel.littleEndian, toByteOffset: 4 * x, as: UInt32.self)
            }
        }
        return buffer
    }

    /// Decodes the frames; true if the last picture is the stripes of that number.
    private static func lastPicture(of frames: [EncodedFrame], isLike number: Int) throws -> Bool {
        let decoder = try VideoDecoder()
        var shown: Picture?
        for frame in frames { shown = try decoder.decode(frame) }
        let expected = PixelBuffer(format: .i420, size: size)
        PixelConversion.bgrxToI420(colourful(number), into: expected, rects: DamageRegion(PixelRect(size)))
        return PictureQuality.psnr(try #require(shown).buffer, expected) > 30
    }

    @Test func eachLayerIsAStreamOfItsOwn() async throws {
        let bench = try Bench(chroma: .full)
        defer { bench.end() }
        bench.consumer.set(StreamDemand(isWatched: true), layer: 0)
        for number in 0..<3 {
            bench.put(number)
            try await bench.pictures(0, number + 1)
        }
        #expect(bench.frames(1).isEmpty)
        // Layer 1 gets its first viewer while the screen is still.
        bench.consumer.set(StreamDemand(isWatched: true, bitRate: 1_000_000), layer: 1)
        let first = try #require(try await bench.wait(1, 1).first)
        #expect(first.isKeyframe && first.isRepeated)
        bench.put(3)
        let (full, reduced) = (try await bench.wait(0, 4), try await bench.wait(1, 2))
        // Each layer decodes by itself, in its own chroma format.
        for (frames, format) in [(full, PixelFormat.i444), (reduced, .i420)] {
            let decoder = try VideoDecoder()
            for frame in frames { #expect(try decoder.decode(frame)?.format == format) }
        }
        #expect(full.filter(\.isKeyframe).count == 1 && reduced.filter(\.isKeyframe).count == 1)
        // A keyframe request for layer 1 makes no keyframe in layer 0.
        bench.consumer.requestKeyframe(layer: 1)
        bench.put(4)
        let (nextFull, nextReduced) = (try await bench.wait(0, 5), try await bench.keyframes(1, 2))
        #expect(nextReduced.filter(\.isKeyframe).count == 2)
        #expect(nextFull.filter(\.isKeyframe).count == 1)
        let report = bench.stage.report(sinceStart: true)
        #expect(report.layers[0].isWatched && report.layers[1].isWatched)
        #expect(report.layers[1].bitRateLimit == 1_000_000 && report.layers[1].isPathBound)
        #expect(report.layers[0].bitRateLimit == 20_000_000 && !report.layers[0].isPathBound)
    }

    /// The screen is still: after the picture that the capture grabs for the new viewer, none comes.
    @Test func theFirstPictureAfterAViewerJoinsIsEncoded() async throws {
        let bench = try Bench()
        defer { bench.end() }
        let buffer = Self.colourful(0)
        for number in 0..<50 {
            // The demand and the picture usually both arrive before the stage's thread wakes.
            bench.consumer.set(StreamDemand(isWatched: true), layer: 0)
            bench.slot.put(Picture(buffer: buffer, time: .now, damage: nil, number: UInt64(number)))
            try await bench.pictures(0, number + 1)
            bench.consumer.set(StreamDemand(), layer: 0)
        }
    }

    /// A viewer changes layers while a picture waits for the end of a hold: the other layer shows that one.
    @Test func aPictureThatWaitsIsNotLostWithItsLayer() async throws {
        let bench = try Bench()
        defer { bench.end() }
        bench.consumer.set(StreamDemand(isWatched: true), layer: 0)
        bench.put(0)
        _ = try await bench.wait(0, 1)
        bench.consumer.set(StreamDemand(isWatched: true, isHeld: true), layer: 0)
        bench.put(5)
        try await Task.sleep(for: .milliseconds(50))
        bench.consumer.set(StreamDemand(isWatched: true), layer: 1)
        bench.consumer.set(StreamDemand(), layer: 0)
        let frames = try await bench.wait(1, 1)
        #expect(try Self.lastPicture(of: Array(frames.prefix(1)), isLike: 5))
    }

    @Test func holdingOneLayerDoesNotStopTheOther() async throws {
        let bench = try Bench()
        defer { bench.end() }
        for layer in 0...1 { bench.consumer.set(StreamDemand(isWatched: true), layer: layer) }
        bench.put(0)
        _ = (try await bench.wait(0, 1), try await bench.wait(1, 1))
        bench.consumer.set(StreamDemand(isWatched: true, isHeld: true), layer: 1)
        bench.consumer.requestKeyframe(layer: 1)
        // The damage of each picture is one half; their union is the whole picture.
        let halves = [0, Self.size.height / 2].map {
            DamageRegion(PixelRect(x: 0, y: $0, width: Self.size.width, height: Self.size.height / 2))
        }
        let before = bench.frames(1).count
        for number in 1...6 {
            let frames = bench.frames(0).count
            bench.put(7, damage: halves[number % 2])
            _ = try await bench.wait(0, frames + 1)
        }
        #expect(bench.frames(1).count == before)
        bench.consumer.set(StreamDemand(isWatched: true), layer: 1)
        let frames = try await bench.wait(1, before + 1)
        #expect(frames[before].isKeyframe)
        #expect(try Self.lastPicture(of: frames, isLike: 7))
    }

    @Test func afterAHoldTheNewestPictureIsEncodedWithAllDamage() async throws {
        let bench = try Bench()
        defer { bench.end() }
        bench.consumer.set(StreamDemand(isWatched: true), layer: 0)
        bench.put(0)
        _ = try await bench.wait(0, 1)
        bench.consumer.set(StreamDemand(isWatched: true, isHeld: true), layer: 0)
        let count = bench.frames(0).count
        let halves = [0, Self.size.height / 2].map {
            DamageRegion(PixelRect(x: 0, y: $0, width: Self.size.width, height: Self.size.height / 2))
        }
        bench.put(9, damage: halves[0])
        try await Task.sleep(for: .milliseconds(50))
        bench.put(9, damage: halves[1])
        try await Task.sleep(for: .milliseconds(50))
        #expect(bench.frames(0).count == count)
        bench.consumer.set(StreamDemand(isWatched: true), layer: 0)
        let frames = try await bench.wait(0, count + 1)
        #expect(!frames[count].isKeyframe)
        #expect(try Self.lastPicture(of: frames, isLike: 9))
        #expect(bench.stage.report(sinceStart: true).leftOut == 1)
    }

    /// The stream decodes without the disposable frames. Switching the mode needs no keyframe.
    @Test func disposableFramesAreMadeOnlyOnDemand() async throws {
        let bench = try Bench()
        defer { bench.end() }
        for (number, wantsLayers) in [true, true, true, true, true, false, false, false].enumerated() {
            bench.consumer.set(StreamDemand(isWatched: true, wantsTemporalLayers: wantsLayers), layer: 0)
            bench.put(number)
            try await bench.pictures(0, number + 1)
        }
        let frames = bench.frames(0)
        #expect(frames.filter(\.isKeyframe).count == 1)
        #expect(frames.contains { $0.unit.isDisposable })
        #expect(zip(frames, frames.dropFirst()).allSatisfy { !$0.unit.isDisposable || !$1.unit.isDisposable })
        #expect(frames.allSatisfy { !$0.unit.isDisposable || !$0.isRepeated })
        let unlayered = frames.filter { !$0.isRepeated }.suffix(3)
        #expect(unlayered.allSatisfy { !$0.unit.isDisposable })
        let decoder = try VideoDecoder()
        for frame in frames where !frame.unit.isDisposable { #expect(try decoder.decode(frame) != nil) }
    }
}
