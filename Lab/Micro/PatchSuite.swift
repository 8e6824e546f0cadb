import BeamCapture
import BeamMedia
import BeamPixels
import Benchmark

/// Exact patches of a desktop and of a page of text, in the sizes of a letter, a cursor's surroundings, a line, a window and
/// the screen. Their lengths are in the column of bytes.
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
        for (name, area) in [
            ("800x600", PixelRect(x: 208, y: 100, width: 800, height: 600)), ("the screen", PixelRect(size)),
        ] {
            let pages = Kept { (try screen(.scroll, 0), try screen(.scroll, 1)) }
            var planner = ChangePlanner()
            var number = 0
            suite.benchmark("find what has moved in \(name) of scrolled text") { state in
                let (before, after) = try pages.value
                try state.measureAllocating {
                    number += 1
                    let picture = Picture(
                        buffer: number % 2 == 0 ? before : after,
                        time: MediaTime(nanoseconds: Int64(number) * 16_000_000),
                        damage: DamageRegion(area))
                    guard planner.plan(picture, mostPixels: 640 * 360)?.plan.move != nil || number == 1 else {
                        throw BenchmarkFailure("nothing has moved")
                    }
                    return 0
                }
            }
            let shown = Kept { PixelBuffer(format: .bgrx, size: size) }
            let move = PatchPlan(
                rects: [],
                move: PixelMove(
                    target: PixelRect(x: area.x, y: area.y, width: area.width, height: area.height - 17), dx: 0, dy: 17),
                basis: .init(previous: 0, needed: 0))
            suite.benchmark("move \(name)") { state in
                var codec = PatchCodec()
                let plane = try shown.value.planes[0]
                let patch = try codec.decode(made(codec.encode(move, of: shown.value, atMost: .max)), pictureSize: size)
                try state.measureAllocating {
                    patch.move(in: plane)
                    return 0
                }
            }
        }
    }
}

private let size = PixelSize(width: 1920, height: 1080)

/// Where the desktop has text, on the grid of tiles.
private let rectangles = [
    PixelRect(x: 80, y: 336, width: 16, height: 16), PixelRect(x: 80, y: 320, width: 64, height: 64),
    PixelRect(x: 80, y: 336, width: 304, height: 48),
    PixelRect(x: 640, y: 240, width: 640, height: 352), PixelRect(size),
]

private func made(_ content: [UInt8]?) throws -> [UInt8] {
    guard let content else { throw BenchmarkFailure("a patch can't be made") }
    return content
}

/// The test pattern in RGB, as a screen would have it.
private func screen(_ content: PatternContent, _ number: Int = 0) throws -> PixelBuffer {
    let pattern = try PatternRenderer(PatternOptions(size: size, frameRate: 60, content: content)).picture(number)
    let screen = PixelBuffer(format: .bgrx, size: size)
    PixelConversion.toBGRX(
        pattern.buffer, colour: pattern.colour, into: screen.planes[0].base, stride: screen.planes[0].stride,
        rect: PixelRect(size))
    return screen
}
