import BeamCodec
import BeamMedia
import BeamPixels
import Benchmark

/// From the screen's pixels to the encoder's and back, 1080p.
func conversionSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "convert") { suite in
        let size = MovingText.size
        let text = MovingText()
        let screen = PixelBuffer(format: .bgrx, size: size)
        let planar = PixelBuffer(format: .i420, size: size)
        let whole = DamageRegion(PixelRect(size))
        _ = text.draw(0, into: screen)
        PixelConversion.bgrxToI420(screen, into: planar, rects: whole)

        suite.benchmark("screen to encoder, whole") { state in
            try state.measureAllocating {
                PixelConversion.bgrxToI420(screen, into: planar, rects: whole)
                return 0
            }
        }
        let converter = PictureConverter()
        var number = 0
        suite.benchmark("screen to encoder, 64x64 changed") { state in
            let picture = text.blink(number, in: screen)
            number += 1
            try state.measureAllocating {
                _ = try converter.convert(picture, to: size)
                return 0
            }
        }
        let shown = PixelBuffer(format: .bgrx, size: size)
        suite.benchmark("decoder to screen, whole") { state in
            try state.measureAllocating {
                PixelConversion.toBGRX(
                    planar, colour: .bt709Limited, into: shown.planes[0].base, stride: shown.planes[0].stride,
                    rect: PixelRect(size))
                return 0
            }
        }
    }
}

/// Comparing pictures as `beamroom measure` does, and converting those of a graphics device; 1080p.
func planeSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "planes") { suite in
        let size = MovingText.size
        let kept = Kept {
            let text = MovingText()
            let screen = PixelBuffer(format: .bgrx, size: size)
            return [0, 3].map { number in
                let planar = PixelBuffer(format: .i420, size: size)
                _ = text.draw(number, into: screen)
                PixelConversion.bgrxToI420(screen, into: planar, rects: DamageRegion(PixelRect(size)))
                return planar
            }
        }
        suite.benchmark("squared error") { state in
            let pictures = try kept.value
            try state.measureAllocating {
                guard PictureQuality.psnr(pictures[0], pictures[1]) < .infinity else {
                    throw BenchmarkFailure("different pictures are equal")
                }
                return 0
            }
        }
        suite.benchmark("similarity") { state in
            let pictures = try kept.value
            try state.measureAllocating {
                guard PictureQuality.ssim(pictures[0], pictures[1]) < 1 else {
                    throw BenchmarkFailure("different pictures are equal")
                }
                return 0
            }
        }
        // The picture's format doesn't matter: 4 bytes a pixel hold two pairs.
        let chroma = Kept {
            (
                pairs: PixelBuffer(format: .bgrx, size: PixelSize(width: size.width / 4, height: size.height / 2)),
                planar: PixelBuffer(format: .i420, size: size)
            )
        }
        suite.benchmark("separate chroma") { state in
            let (pairs, planar) = try chroma.value
            try state.measureAllocating {
                PixelConversion.separateChroma(pairs.planes[0], into: planar)
                return 0
            }
        }
    }
}

/// Finding what has changed since the last picture, where a source doesn't say; 1080p.
func comparisonSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "compare") { suite in
        let size = MovingText.size
        let kept = Kept {
            let text = MovingText()
            return [0, 3].map { number in
                let screen = PixelBuffer(format: .bgrx, size: size)
                _ = text.draw(number, into: screen)
                return screen
            }
        }
        var comparison = PictureComparison()
        suite.benchmark("equal pictures") { state in
            let picture = try kept.value[0].planes[0]
            _ = comparison.damage(of: picture, size: size)
            try state.measureAllocating {
                guard comparison.damage(of: picture, size: size).isEmpty else {
                    throw BenchmarkFailure("equal pictures differ")
                }
                return 0
            }
        }
        let copy = PixelBuffer(format: .bgrx, size: size)
        var number = 0
        suite.benchmark("scrolled text, copied") { state in
            number += 1
            let picture = try kept.value[number % 2].planes[0]
            try state.measureAllocating {
                guard !comparison.damage(of: picture, size: size, copyingTo: copy.planes[0]).isEmpty else {
                    throw BenchmarkFailure("different pictures are equal")
                }
                return 0
            }
        }
    }
}

/// The default encoder and decoder, 1080p60 at 10 Mbit/s.
func codecSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "codec") { suite in
        for content in CodedContent.Kind.allCases {
            let kept = Kept { try CodedContent(content) }
            suite.benchmark("encode 1080p, \(content.rawValue)") { state in
                let coding = try kept.value
                let picture = try coding.nextPicture()
                try state.measureAllocating {
                    coding.coded.append(try coding.encoder.encode(picture, keyframe: false))
                    return 0
                }
                coding.coded.removeAll(keepingCapacity: true)
            }
            let sequence = Kept { try CodedContent(content).sequence(120) }
            let decoder = Kept { try VideoDecoder() }
            var number = 0
            suite.benchmark("decode 1080p, \(content.rawValue)") { state in
                let frames = try sequence.value
                let frame = frames[number % frames.count]
                number += 1
                let decoder = try decoder.value
                try state.measureAllocating {
                    _ = try decoder.decode(frame)
                    return 0
                }
            }
        }
    }
}

/// Created on first use, so that a benchmark that is filtered out costs nothing.
final class Kept<Value> {
    private var made: Value?
    private let make: () throws -> Value

    init(_ make: @escaping () throws -> Value) { self.make = make }

    var value: Value {
        get throws {
            if let made { return made }
            let value = try make()
            made = value
            return value
        }
    }
}

/// Pictures that go through an encoder.
private final class CodedContent {
    enum Kind: String, CaseIterable {
        case scrolling = "scrolling text"
        case small = "64x64 changed"
    }

    let encoder: VideoEncoder
    var coded: [EncodedFrame?] = []
    private let kind: Kind
    private let text = MovingText()
    private let screen = PixelBuffer(format: .bgrx, size: MovingText.size)
    private let converter = PictureConverter()
    private var number = 0

    init(_ kind: Kind) throws {
        self.kind = kind
        encoder = try VideoEncoder(
            EncoderSettings(size: MovingText.size, frameRate: 60, bitRate: 10_000_000))
        coded.reserveCapacity(8)
        _ = text.draw(0, into: screen)
    }

    func nextPicture() throws -> Picture {
        defer { number += 1 }
        let picture =
            kind == .scrolling ? text.draw(number, into: screen) : text.blink(number, in: screen)
        return try converter.convert(picture, to: MovingText.size)
    }

    /// `count` encoded pictures as they arrive, the first a keyframe.
    func sequence(_ count: Int) throws -> [ReceivedFrame] {
        try (0..<count).compactMap { index in
            try encoder.encode(nextPicture(), keyframe: index == 0).map { frame in
                ReceivedFrame(
                    unit: frame.unit, number: UInt32(index), firstArrival: frame.captureTime,
                    lastArrival: frame.captureTime)
            }
        }
    }
}
