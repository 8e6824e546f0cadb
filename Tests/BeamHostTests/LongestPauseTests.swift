import BeamClock
import BeamCodec
import BeamMedia
import BeamPixels
import Testing

@testable import BeamHost

/// Frames of a still screen, at least so often, by the encode stage with the real encoder.
struct LongestPauseTests {
    private static let size = PixelSize(width: 1920, height: 1080)

    fileprivate final class Bench: Sendable {
        let slot = LatestSlot<Picture>(replacing: { $0.replacing($1) })
        let collector = CollectingSink()
        let consumer: EncoderDemand.Consumer
        private let stage: EncodeStage

        init() throws {
            let settings = EncodeStage.Settings(encoder: "libx264", frameRate: 60, bitRate: 20_000_000)
            let encoder = try VideoEncoder(settings.encoderSettings(for: size))
            let wanted = EncoderDemand(wake: { [slot] in slot.nudge() })
            consumer = wanted.addConsumer()
            stage = EncodeStage(
                settings, encoder: encoder, size: size, from: slot, wanted: wanted, into: [collector],
                handlers: EncodeStage.Handlers(
                    onActivity: { _ in }, onResize: { _ in },
                    onFallback: { name, error in Issue.record("\(name): \(error)") },
                    onFailure: { Issue.record("\($0)") }))
        }

        func want(every pause: Duration?, isHeld: Bool = false) {
            var demand = StreamDemand(isWatched: true, isHeld: isHeld)
            demand.longestPause = pause
            consumer.set(demand, layer: 0)
        }

        func put(_ number: Int) {
            slot.put(Picture(buffer: text(number), time: .now, damage: nil, number: UInt64(number)))
        }

        var count: Int { collector.frames.count }

        /// Waits until the picture is refined and nothing has come for a while.
        func rest() async throws {
            try await eventually { count > 0 }
            var (last, calm) = (count, 0)
            while calm < 10 {
                try await Task.sleep(for: .milliseconds(100))
                calm = count == last ? calm + 1 : 0
                last = count
            }
        }

        func end() {
            slot.close()
            stage.join()
        }
    }

    /// Grey letters of a kind on white, others for each number.
    private static func text(_ number: Int) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        for y in 0..<size.height {
            let row = buffer.planes[0].base + y * buffer.planes[0].stride
            for x in 0..<size.width {
                let isInk = (x / 3 * 7 + y / 2 * 13 + number) % 11 < 3 && y % 20 < 14
                row.storeBytes(of: isInk ? 0xff30_3030 : 0xffff_ffff as UInt32, toByteOffset: 4 * x, as: UInt32.self)
            }
        }
        return buffer
    }

    @Test func aStillPictureIsCodedAgainSoOften() async throws {
        let bench = try Bench()
        defer { bench.end() }
        bench.want(every: nil)
        bench.put(1)
        try await bench.rest()
        // Nobody wants it: nothing comes.
        let before = bench.count
        try await Task.sleep(for: .milliseconds(500))
        #expect(bench.count == before)
        bench.want(every: .milliseconds(50))
        try await eventually { bench.count >= before + 10 }
        let frames = bench.collector.frames
        let repeated = frames[before...]
        #expect(repeated.allSatisfy { !$0.isKeyframe && $0.isRepeated && !$0.unit.isDisposable && $0.stages == nil })
        #expect(repeated.allSatisfy { $0.unit.range.count < 400 }, "\(repeated.map(\.unit.range.count))")
        // Not more often than that.
        #expect(zip(repeated, repeated.dropFirst()).allSatisfy { $1.captureTime - $0.captureTime >= .milliseconds(50) })
        // They change nothing, and the next picture refers to them.
        bench.put(2)
        let next = bench.count
        try await eventually { bench.collector.frames.dropFirst(next - 1).contains { !$0.isRepeated } }
        try await bench.keyframe()
        let decoder = try VideoDecoder()
        var shown: [Picture] = []
        for frame in bench.collector.frames { if let picture = try decoder.decode(frame) { shown.append(picture) } }
        #expect(PictureQuality.psnr(shown[before - 1].buffer, shown[before + 5].buffer) > 60)
    }

    /// While the layer is held, or nobody watches it, nothing is made.
    @Test func nothingIsMadeWhileTheLayerIsHeld() async throws {
        let bench = try Bench()
        defer { bench.end() }
        bench.want(every: .milliseconds(20))
        bench.put(1)
        try await eventually { bench.count >= 20 }
        bench.want(every: .milliseconds(20), isHeld: true)
        // One may be in the making.
        try await Task.sleep(for: .milliseconds(300))
        let held = bench.count
        try await Task.sleep(for: .milliseconds(300))
        #expect(bench.count == held)
        bench.want(every: .milliseconds(20))
        try await eventually { bench.count >= held + 3 }
        bench.consumer.set(StreamDemand(), layer: 0)
        try await Task.sleep(for: .milliseconds(300))
        let unwatched = bench.count
        try await Task.sleep(for: .milliseconds(300))
        #expect(bench.count == unwatched)
    }
}

extension LongestPauseTests.Bench {
    /// A requested keyframe comes as without pauses.
    fileprivate func keyframe() async throws {
        let before = collector.frames.count(where: \.isKeyframe)
        consumer.requestKeyframe(layer: 0)
        try await eventually { collector.frames.count(where: \.isKeyframe) == before + 1 }
    }
}
