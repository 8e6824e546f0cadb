import BeamCapture
import BeamMedia
import BeamPixels
import Benchmark

/// Exact patches of a desktop and of a page of text, in the sizes of a cursor's surroundings, a line, a window and the
/// screen. Their lengths are in the column of bytes.
func patchSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "exact") { suite in
        for (content, words) in [(PatternContent.still, "desktop"), (.scroll, "text")] {
            let picture = Kept { try screen(content) }
            for rect in rectangles {
                let name = "\(rect.width)x\(rect.height), \(words)"
                var codec = PatchCodec()
                suite.benchmark("compress \(name)") { state in
                    let picture = try picture.value
                    var length = 0
                    try state.measureAllocating {
                        length = try made(codec.encode([rect], of: picture, atMost: .max)).count
                        return 0
                    }
                    state.increment(counter: "bytes", by: Double(length))
                }
                let patch = Kept {
                    var codec = PatchCodec()
                    return try made(codec.encode([rect], of: picture.value, atMost: .max))
                }
                let shown = Kept { PixelBuffer(format: .bgrx, size: size) }
                suite.benchmark("restore \(name)") { state in
                    let (patch, plane) = (try patch.value, try shown.value.planes[0])
                    try state.measureAllocating {
                        try codec.decode(patch, pictureSize: size).copy(0, part: rect, into: plane)
                        return 0
                    }
                    state.increment(counter: "bytes", by: Double(patch.count))
                }
            }
        }
        let damage = scattered()
        suite.benchmark("align 16 rectangles to tiles") { state in
            try state.measureAllocating {
                guard !PatchCodec.tileAligned(damage, in: size).isEmpty else {
                    throw BenchmarkFailure("damage has no tiles")
                }
                return 0
            }
        }
    }
}

private let size = PixelSize(width: 1920, height: 1080)

/// Where the desktop has text, on the grid of tiles.
private let rectangles = [
    PixelRect(x: 80, y: 320, width: 64, height: 64), PixelRect(x: 80, y: 336, width: 304, height: 48),
    PixelRect(x: 640, y: 240, width: 640, height: 352), PixelRect(size),
]

private func made(_ content: [UInt8]?) throws -> [UInt8] {
    guard let content else { throw BenchmarkFailure("a patch can't be made") }
    return content
}

/// The test pattern in RGB, as a screen would have it.
private func screen(_ content: PatternContent) throws -> PixelBuffer {
    let pattern = try PatternRenderer(PatternOptions(size: size, frameRate: 60, content: content)).picture(0)
    let screen = PixelBuffer(format: .bgrx, size: size)
    PixelConversion.toBGRX(
        pattern.buffer, colour: pattern.colour, into: screen.planes[0].base, stride: screen.planes[0].stride,
        rect: PixelRect(size))
    return screen
}

/// As many rectangles as damage has, all over the screen.
private func scattered() -> DamageRegion {
    var damage = DamageRegion()
    for index in 0..<DamageRegion.limit {
        damage.insert(PixelRect(x: 113 * index, y: index * 397 % 1000, width: 75, height: 50))
    }
    return damage
}
