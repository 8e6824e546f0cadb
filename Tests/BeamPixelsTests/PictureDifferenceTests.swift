import BeamMedia
import Testing

@testable import BeamPixels

/// What is found of a change: pixels that are new, and pixels that have moved. What the plan of a change makes of the picture
/// before has to be the picture, pixel for pixel.
@Suite struct PictureDifferenceTests {
    private static let size = PixelSize(width: 333, height: 201)

    /// A picture like text: runs of dark pixels on a ground of one colour.
    private static func text(_ random: inout SeededGenerator, _ size: PixelSize) -> PixelBuffer {
        let picture = PixelBuffer(format: .bgrx, size: size)
        for y in 0..<size.height {
            let isLine = y % 17 > 4
            for x in 0..<size.width {
                let isInk = isLine && UInt8.random(in: 0...2, using: &random) == 0
                for byte in 0..<3 { picture[plane: 0, 4 * x + byte, y] = isInk ? UInt8(x % 7 * 9) : 0xf0 }
                picture[plane: 0, 4 * x + 3, y] = UInt8.random(in: 0...255, using: &random)
            }
        }
        return picture
    }

    private static func copy(_ source: PixelBuffer) -> PixelBuffer {
        let copy = PixelBuffer(format: .bgrx, size: source.size)
        for y in 0..<source.size.height {
            for x in 0..<4 * source.size.width { copy[plane: 0, x, y] = source[plane: 0, x, y] }
        }
        return copy
    }

    private static func isEqual(_ a: PixelBuffer, _ b: PixelBuffer) -> Bool {
        (0..<a.size.height).allSatisfy { y in
            (0..<4 * a.size.width).allSatisfy { x in x % 4 == 3 || a[plane: 0, x, y] == b[plane: 0, x, y] }
        }
    }

    /// What a viewer has that had `before` and gets the change.
    private static func shown(_ plan: PatchPlan, of picture: PixelBuffer, on before: PixelBuffer) throws -> PixelBuffer
    {
        var codec = PatchCodec()
        let target = copy(before)
        let made = codec.encode(plan, of: picture, atMost: 1 << 20)
        let patch = try codec.decode(try #require(made), pictureSize: picture.size)
        patch.move(in: target.planes[0])
        for (index, rect) in patch.rects.enumerated() { patch.copy(index, part: rect, into: target.planes[0]) }
        return target
    }

    private static func moved(_ before: PixelBuffer, _ move: PixelMove) -> PixelBuffer {
        let after = copy(before)
        for y in move.target.y..<move.target.maxY {
            for x in 4 * move.target.x..<4 * move.target.maxX {
                after[plane: 0, x, y] = before[plane: 0, x + 4 * move.dx, y + move.dy]
            }
        }
        return after
    }

    /// Scrolled and dragged by any step, with something else that has changed: the plan makes the picture of it, and has few
    /// pixels.
    @Test(arguments: [PixelConversion.Kernel.best, .portable])
    func whatHasMovedIsFound(kernel: PixelConversion.Kernel) throws {
        for seed in 1...40 {
            var random = SeededGenerator(seed: UInt64(seed))
            let before = Self.text(&random, Self.size)
            let (dx, dy) =
                seed % 3 == 0
                ? (Int.random(in: -40...40, using: &random), Int.random(in: 1...30, using: &random))
                : (0, [-17, 17, 5, -3][seed % 4])
            let target = PixelRect(x: 50, y: 35, width: 240, height: 130)
            let after = Self.moved(before, PixelMove(target: target, dx: dx, dy: dy))
            // A caret.
            for y in 60..<70 { after[plane: 0, 4 * 100, y] = UInt8(seed) }
            var difference = PictureDifference(kernel: kernel)
            let result = difference.find(
                in: after, since: before, damage: DamageRegion(target), mostPixels: seed % 2 == 0 ? 1000 : 1 << 20)
            let found = try #require(result, "seed \(seed)")
            #expect(found.move?.dx == dx && found.move?.dy == dy, "seed \(seed)")
            let plan = PatchPlan(
                rects: found.new.rectangles(most: 64), move: found.move, basis: .init(previous: 0, needed: 0))
            #expect(Self.isEqual(try Self.shown(plan, of: after, on: before), after), "seed \(seed)")
            #expect(plan.rects.reduce(0) { $0 + $1.area } * 2 < target.area, "seed \(seed)")
        }
    }

    /// What moves is too small a part of what changes, again and again: it isn't looked for any more, until a look beside the
    /// pictures has found that all moves, or there was a pause.
    @Test func whatIsNotWorthAMoveIsAFilm() {
        var random = SeededGenerator(seed: 3)
        var difference = PictureDifference()
        let damage = DamageRegion(PixelRect(Self.size))
        func pictures(_ step: Int, isMoved: Bool) -> (after: PixelBuffer, before: PixelBuffer) {
            let before = Self.text(&random, Self.size)
            let moved = PixelRect(x: 48, y: 20, width: 240, height: isMoved ? 170 : 36)
            let after = Self.moved(before, PixelMove(target: moved, dx: 0, dy: 5))
            guard !isMoved else { return (after, before) }
            for y in 80..<201 {
                for x in 0..<4 * 333 { after[plane: 0, x, y] = UInt8(truncatingIfNeeded: 40 * step + 20) }
            }
            return (after, before)
        }
        func isFound(_ step: Int, isMoved: Bool) -> Bool {
            let (after, before) = pictures(step, isMoved: isMoved)
            return difference.find(in: after, since: before, damage: damage, mostPixels: 1000) != nil
        }
        func look(_ step: Int, isMoved: Bool) {
            let (after, before) = pictures(step, isMoved: isMoved)
            difference.lookAgain(in: after, since: before, damage: damage, mostPixels: 1000)
        }
        for step in 0..<6 { #expect(!isFound(step, isMoved: false), "step \(step)") }
        #expect(!difference.isLookDue)
        for step in 0..<8 { #expect(!isFound(step, isMoved: true), "step \(step)") }
        #expect(difference.isLookDue)
        look(0, isMoved: false)
        #expect(!difference.isLookDue && !isFound(0, isMoved: true))
        look(0, isMoved: true)
        #expect(isFound(0, isMoved: true))
        for step in 0..<6 { #expect(!isFound(step, isMoved: false), "step \(step)") }
        #expect(!isFound(0, isMoved: true))
        difference.endFilm()
        #expect(isFound(0, isMoved: true))
    }

    /// A film becomes text that scrolls: within some pictures it is moved, if what the next ones need is done after each.
    /// After a pause the first one is.
    @Test func afterAFilmWhatScrollsIsMoved() throws {
        var random = SeededGenerator(seed: 4)
        var planner = ChangePlanner()
        var shown = Self.text(&random, Self.size)
        var time: Int64 = 0
        func isMoved(_ next: PixelBuffer, after milliseconds: Int64 = 16) -> Bool {
            time += milliseconds
            let picture = Picture(
                buffer: next, time: MediaTime(nanoseconds: time * 1_000_000), damage: DamageRegion(PixelRect(Self.size))
            )
            let change = planner.plan(picture, mostPixels: 1000)
            planner.prepare()
            shown = next
            return change?.plan.move != nil
        }
        func scrolled() -> PixelBuffer {
            Self.moved(shown, PixelMove(target: PixelRect(x: 0, y: 0, width: 333, height: 190), dx: 0, dy: 5))
        }
        func film() { for seed in 0..<20 { #expect(!isMoved(.noise(.bgrx, Self.size, seed: UInt64(seed)))) } }
        film()
        #expect(!isMoved(Self.text(&random, Self.size)))
        let found = (0..<9).map { _ in isMoved(scrolled()) }
        #expect(found.first == false && found.last == true, "\(found)")
        film()
        #expect(!isMoved(Self.text(&random, Self.size)))
        #expect(isMoved(scrolled(), after: 200))
    }

    /// Cells that have changed, in any number of places; the fourth byte doesn't count.
    @Test func allThatHasChangedIsCovered() throws {
        for seed in 1...60 {
            var random = SeededGenerator(seed: UInt64(seed))
            let before = Self.text(&random, Self.size)
            let after = Self.copy(before)
            var damage = DamageRegion()
            for _ in 0..<(seed % 5 == 0 ? 300 : seed % 12) {
                let (x, y) = (Int.random(in: 0..<333, using: &random), Int.random(in: 0..<201, using: &random))
                after[plane: 0, 4 * x + seed % 3, y] &+= 1
                damage.insert(PixelRect(x: x, y: y, width: 1, height: 1))
            }
            after[plane: 0, 3, 0] &+= 1
            damage.insert(PixelRect(x: 0, y: 0, width: 5, height: 1))
            var difference = PictureDifference()
            let result = difference.find(in: after, since: before, damage: damage, mostPixels: 1 << 20)
            let found = try #require(result)
            let rects = found.new.rectangles(most: 64)
            #expect(rects.count <= 64)
            guard !rects.isEmpty || seed % 12 != 0 else { continue }
            let plan = PatchPlan(rects: rects, move: found.move, basis: .init(previous: 0, needed: 0))
            #expect(Self.isEqual(try Self.shown(plan, of: after, on: before), after), "seed \(seed)")
            for (index, rect) in rects.enumerated() {
                #expect(rects[..<index].allSatisfy { $0.intersection(rect).isEmpty })
            }
        }
    }

    @Test func whatHasNotMovedIsTheVideos() {
        var random = SeededGenerator(seed: 5)
        var difference = PictureDifference()
        for seed in 0..<40 {
            let (before, after) = (
                PixelBuffer.noise(.bgrx, Self.size, seed: UInt64(seed)),
                PixelBuffer.noise(.bgrx, Self.size, seed: UInt64(seed + 100))
            )
            let found = difference.find(
                in: after, since: before, damage: DamageRegion(PixelRect(Self.size)), mostPixels: 1000)
            #expect(found == nil)
        }
        // Nothing has changed, although it was drawn.
        let text = Self.text(&random, Self.size)
        let same = difference.find(
            in: text, since: text, damage: DamageRegion(PixelRect(Self.size)), mostPixels: 1 << 20)
        #expect(same?.changed.count == 0 && same?.move == nil)
    }

    /// A plan builds only on what was sent: the first has whole tiles, the next one as little as has changed.
    @Test func tilesThatWereNotSentAreSentWhole() throws {
        var random = SeededGenerator(seed: 9)
        var planner = ChangePlanner()
        func picture(_ buffer: PixelBuffer, _ time: Int64, _ rect: PixelRect) -> Picture {
            Picture(buffer: buffer, time: MediaTime(nanoseconds: time * 1_000_000), damage: DamageRegion(rect))
        }
        let first = Self.text(&random, Self.size)
        let nothing = planner.plan(picture(first, 10, PixelRect(Self.size)), mostPixels: 1 << 20)
        #expect(nothing == nil)
        let letter = PixelRect(x: 40, y: 50, width: 9, height: 12)
        func typed(on buffer: PixelBuffer) -> PixelBuffer {
            let after = Self.copy(buffer)
            for y in letter.y..<letter.maxY { for x in letter.x..<letter.maxX { after[plane: 0, 4 * x, y] &+= 1 } }
            return after
        }
        let second = typed(on: first)
        var made = planner.plan(picture(second, 20, letter), mostPixels: 1 << 20)
        var change = try #require(made)
        // Of rows 48 to 63 and columns 32 to 63, two tiles.
        #expect(change.plan.rects == [PixelRect(x: 32, y: 48, width: 32, height: 16)] && change.hasUnsent)
        #expect(change.plan.basis == .init(previous: 10_000, needed: .max))
        planner.sent(change)
        let third = typed(on: second)
        made = planner.plan(picture(third, 30, letter), mostPixels: 1 << 20)
        change = try #require(made)
        #expect(change.plan.rects == [PixelRect(x: 32, y: 50, width: 32, height: 12)] && !change.hasUnsent)
        #expect(change.plan.basis == .init(previous: 10_000, needed: 10_000))
        // It wasn't sent, or somebody lacks it.
        let fourth = typed(on: third)
        made = planner.plan(picture(fourth, 40, letter), mostPixels: 1 << 20)
        change = try #require(made)
        #expect(change.hasUnsent)
        planner.sent(change)
        planner.lacking([PixelRect(x: 0, y: 0, width: 65_535, height: 65_535)])
        let fifth = typed(on: fourth)
        made = planner.plan(picture(fifth, 50, letter), mostPixels: 1 << 20)
        #expect(try #require(made).hasUnsent)
        // A repair of what has changed since doesn't count.
        planner.repaired(
            PixelRect(x: 2, y: 3, width: 2, height: 1), of: Self.size, at: MediaTime(nanoseconds: 40_000_000))
        made = planner.plan(picture(typed(on: fifth), 60, letter), mostPixels: 1 << 20)
        #expect(try #require(made).hasUnsent)
        planner.repaired(
            PixelRect(x: 2, y: 3, width: 2, height: 1), of: Self.size, at: MediaTime(nanoseconds: 60_000_000))
        made = planner.plan(picture(fifth, 70, letter), mostPixels: 1 << 20)
        #expect(try #require(made).hasUnsent == false)
    }
}
