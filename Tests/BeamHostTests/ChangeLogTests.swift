import BeamMedia
import BeamPixels
import Testing

@testable import BeamHost

/// How many rectangles frames name of what is dragged.
@Suite struct ChangeLogTests {
    private static let size = PixelSize(width: 1920, height: 1080)
    private static let window = PixelSize(width: 400, height: 300)

    /// Words of a page, or noise, on which nothing repeats.
    private static func ground(isText: Bool) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        var value: UInt32 = 7
        func next() -> UInt32 {
            value = value &* 1_664_525 &+ 1_013_904_223
            return value >> 8
        }
        func row(_ y: Int) -> UnsafeMutablePointer<UInt32> {
            (buffer.planes[0].base + y * buffer.planes[0].stride)
                .bindMemory(to: UInt32.self, capacity: size.width)
        }
        for y in 0..<size.height { for x in 0..<size.width { row(y)[x] = isText ? 0xff_ff_ff : next() } }
        guard isText else { return buffer }
        for line in stride(from: 10, to: size.height - 20, by: 19) where next() % 6 > 0 {
            var x = 12
            while x < size.width - 80 {
                let width = 12 + Int(next() % 60)
                for y in line..<line + 12 { for x in x..<x + width where next() % 3 == 0 { row(y)[x] = 0x20_20_20 } }
                x += width + 6 + (next() % 9 == 0 ? 150 : 0)
            }
        }
        // The window's title and frame.
        for y in 0..<window.height {
            for x in 0..<window.width where y < 24 || x == 0 || x == window.width - 1 || y == window.height - 1 {
                row(y)[x] = 0x60_70_80
            }
        }
        return buffer
    }

    /// The ground with the window at that place, whose pixels are those of the ground's upper left part.
    private static func picture(_ ground: PixelBuffer, _ x: Int, _ y: Int) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        let (source, target) = (ground.planes[0], buffer.planes[0])
        target.base.copyMemory(from: source.base, byteCount: source.stride * size.height)
        for row in 0..<window.height {
            (target.base + (y + row) * target.stride + 4 * x).copyMemory(
                from: source.base + row * source.stride, byteCount: 4 * window.width)
        }
        return buffer
    }

    /// A window of 400 x 300 that is dragged for a second, 60 pictures: a frame names where it was by one rectangle a picture
    /// at most, whatever the patches have, so that frames needn't come often.
    @Test(arguments: [(3, 2), (9, 7), (20, 11), (16, 0)], [false, true])
    func aDraggedWindowIsNamedByFewRectangles(step: (x: Int, y: Int), isText: Bool) throws {
        let ground = Self.ground(isText: isText)
        var planner = ChangePlanner()
        var log = ChangeLog()
        var (parts, frames) = (0, 0)
        var last = PixelRect(Self.size)
        for number in 0..<60 {
            let place = PixelRect(
                x: 410 + step.x * number, y: 100 + step.y * number, width: Self.window.width,
                height: Self.window.height)
            let time = MediaTime(nanoseconds: 1_000_000_000 + Int64(number) * 16_666_667)
            let picture = Picture(
                buffer: Self.picture(ground, place.x, place.y), time: time, damage: DamageRegion(last.union(place)))
            last = place
            let made = planner.plan(picture, mostPixels: 640 * 360)
            guard number > 0 else {
                log.add(picture.damage, of: Self.size, at: time)
                _ = log.take(at: time, of: Self.size, isContinued: false)
                continue
            }
            let change = try #require(made)
            planner.sent(change)
            parts += change.parts.count
            log.add(
                change.parts.map { FrameChanges.Change(rect: $0, time: time.microseconds) }, of: Self.size, at: time)
            if log.isFilling {
                frames += 1
                let said = log.take(at: time, of: Self.size, isContinued: true)
                #expect(said.changes.first?.rect != PixelRect(Self.size) && said.changes.count <= number + 2)
            }
        }
        #expect(parts >= 59 && frames <= 1)
    }

    /// What frames say of each tile, after any changes that cover each other: when it changed last, if it has since the frame
    /// before; nothing of others. Only what can't be named any more may be said to have changed later.
    @Test func eachTileIsNamedWithItsLastChange() {
        let size = PixelSize(width: 317, height: 203)
        let (grid, whole) = (ExactTiles.grid(size), PixelRect(size))
        for seed in 1...60 {
            var random = SplitMix(state: UInt64(seed))
            func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
            var log = ChangeLog()
            var truth = [UInt64](repeating: 0, count: grid.area)
            var isNew = [Bool](repeating: false, count: grid.area)
            var (named, complete) = (0, 0)
            log.add(DamageRegion(whole), of: size, at: .zero)
            _ = log.take(at: .zero, of: size, isContinued: false)
            for step in 1...400 {
                let time = MediaTime(nanoseconds: Int64(step) * 1_000_000)
                let rects = (0...below(3)).map { _ in
                    PixelRect(
                        x: below(310), y: below(200), width: 1 + below(seed % 2 == 0 ? 20 : 150), height: 1 + below(80)
                    ).intersection(whole)
                }
                for tiles in rects.map(ExactTiles.touched) {
                    for row in tiles.y..<tiles.maxY {
                        for tile in row * grid.width + tiles.x..<row * grid.width + tiles.maxX {
                            (truth[tile], isNew[tile]) = (time.microseconds, true)
                        }
                    }
                }
                log.add(
                    rects.map { FrameChanges.Change(rect: $0, time: time.microseconds) }, of: size, at: time)
                guard below(15) == 0 else { continue }
                let isContinued = below(5) > 0
                let said = log.take(at: time, of: size, isContinued: isContinued)
                named += 1
                #expect(said.changes.count <= FrameChanges.most)
                var times = [UInt64](repeating: 0, count: grid.area)
                for change in said.changes {
                    let tiles = ExactTiles.touched(by: change.rect)
                    for row in tiles.y..<tiles.maxY {
                        for tile in row * grid.width + tiles.x..<row * grid.width + tiles.maxX {
                            times[tile] = max(times[tile], change.time)
                        }
                    }
                }
                let isComplete = isContinued && said.changes.first?.rect != whole
                if isComplete { complete += 1 }
                let isRight = times.indices.allSatisfy { tile in
                    isComplete
                        ? times[tile] == (isNew[tile] ? truth[tile] : 0)
                        : times[tile] >= truth[tile]
                }
                #expect(isRight, "seed \(seed), step \(step)")
                isNew = isNew.map { _ in false }
            }
            #expect(complete * 2 > named, "seed \(seed)")
        }
    }
}
