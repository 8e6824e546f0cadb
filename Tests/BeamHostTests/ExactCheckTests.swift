import BeamMedia
import BeamPixels
import BeamSession
import Testing

@testable import BeamHost

/// A viewer that compares what it shows with its host's hashes, in virtual time, with real pixels: requests and answers are lost,
/// come twice and late.
@Suite struct ExactCheckTests {
    @Test(arguments: [0, 10, 30]) func aStillScreenBecomesVerified(lost: Int) {
        for seed in 0..<10 {
            var world = ExactCheckWorld(seed: UInt64(seed), lost: lost)
            world.run(.seconds(200))
            #expect(world.isVerified, "seed \(seed)")
            #expect(world.isEqual && world.wrongRows == 0 && world.tilesAsked == 0)
            // Then nothing is sent any more.
            let requests = world.requests
            #expect(requests <= (lost == 0 ? 1 : 10))
            world.run(.seconds(600))
            #expect(world.requests == requests && world.isVerified)
        }
    }

    /// As by an error: one pixel of what counts as exact is another one. The hash finds its row, and a repair mends it.
    @Test(arguments: [0, 30]) func aWrongTileIsFoundAndMended(lost: Int) {
        for seed in 0..<10 {
            var world = ExactCheckWorld(seed: UInt64(seed), lost: lost)
            world.spoil(x: 37, y: 50)
            #expect(!world.isEqual && world.map.isAllExact)
            world.run(.seconds(200))
            #expect(world.isEqual && world.isVerified && world.wrongRows == 1, "seed \(seed)")
            // The row of tiles, 7 tiles wide; again while no answer comes.
            #expect(world.tilesAsked >= 7 && world.tilesAsked <= 7 * 12)
        }
    }

    /// Changes between request and answer, known here or not: nothing is taken for wrong, and in the end all is verified.
    @Test func changesMeanwhileAreNoErrors() {
        for seed in 0..<20 {
            var world = ExactCheckWorld(seed: UInt64(seed), lost: 20)
            for _ in 0..<60 {
                world.change(isLost: world.below(3) == 0)
                world.run(.milliseconds(Int64(1 + world.below(900))))
                world.tellAll()
                world.run(.milliseconds(Int64(1 + world.below(600))))
                #expect(!world.isVerified || world.isEqualToSome, "seed \(seed)")
            }
            world.tellAll()
            world.run(.seconds(60))
            #expect(world.isVerified && world.isEqual && world.wrongRows == 0, "seed \(seed)")
        }
    }

    /// Hashes that are never right: the viewer asks again a few times, and then not any more.
    @Test func aLyingHostIsGivenUp() {
        var world = ExactCheckWorld(seed: 1, lost: 0)
        world.lies = true
        world.run(.seconds(120))
        let (requests, asked) = (world.requests, world.tilesAsked)
        #expect(!world.isVerified && world.isEqual)
        #expect(requests <= 4 && asked <= 4 * 35 * 4)
        world.run(.seconds(1000))
        #expect(world.requests == requests && world.tilesAsked == asked)
        // Also when the screen changes.
        for _ in 0..<50 {
            world.change(isLost: false)
            world.run(.seconds(5))
        }
        #expect(world.requests == requests)
        #expect(!world.isVerified)
    }

    /// What nobody has asked for, of another size, of rows that aren't there, or older than what is shown.
    @Test func otherHashesAreIgnored() {
        let size = PixelSize(width: 64, height: 64)
        var now = MediaTime(nanoseconds: 1_000_000_000)
        var map = ExactMap(size, now: now)
        _ = map.take(.all(of: size, at: 100), now: now)
        _ = map.take(PatchPlan(rects: [PixelRect(size)]), capturedAt: 100, isLast: true, now: now)
        var check = ExactCheck()
        let right = PictureHashes(size: size, time: 100, since: 100, rows: [1, 2, 3, 4])
        check.take(right, map, now: now)
        var isAsked = check.takeRequest(map, now: now)
        #expect(!check.hasRows(map) && !isAsked)
        now = now + .milliseconds(400)
        #expect(check.deadline(map).map { $0 <= now } == true)
        isAsked = check.takeRequest(map, now: now)
        let isAskedAgain = check.takeRequest(map, now: now)
        #expect(isAsked && !isAskedAgain)
        var others = [right, right, right, right]
        others[0].size.width = 65
        others[1].firstRow = 1
        others[2].firstRow = -1
        (others[3].time, others[3].since) = (99, 99)
        for other in others { check.take(other, map, now: now) }
        #expect(!check.hasRows(map))
        check.take(right, map, now: now)
        let first = check.nextRow(map, now: now)
        #expect(first == 0)
        for row in 0..<4 { check.hashed(row, UInt32(row + 1), &map, now: now) }
        #expect(check.isVerified(map) && check.deadline(map) == nil)
        // A frame that says nothing new leaves it so; a change doesn't.
        _ = map.take(FrameChanges(captureTime: 200, changes: []), now: now)
        #expect(check.isVerified(map))
        let change = FrameChanges.Change(rect: PixelRect(x: 0, y: 0, width: 16, height: 16), time: 250)
        _ = map.take(FrameChanges(captureTime: 300, changes: [change]), now: now)
        isAsked = check.takeRequest(map, now: now + .seconds(9))
        #expect(!check.isVerified(map) && !isAsked)
    }
}

/// A host's screen, what a viewer shows of it, and the messages between them.
private struct ExactCheckWorld {
    private enum Message {
        case request
        case hashes(PictureHashes)
        case tiles([PixelRect])
        case patch(PixelRect, PixelBuffer, time: UInt64, basis: PatchPlan.Basis?)
    }

    private let size = PixelSize(width: 100, height: 70)
    private var random: SplitMix
    private let lost: Int
    private(set) var now = MediaTime(nanoseconds: 1_000_000_000)
    private var screen: PixelBuffer
    private var changed: UInt64
    private var shown: PixelBuffer
    private(set) var map: ExactMap
    private var check = ExactCheck()
    private var messages: [(due: MediaTime, message: Message)] = []
    private var askedAt: MediaTime?
    /// Looks of the screen, each until it changed.
    private var history: [PixelBuffer] = []
    var lies = false
    private(set) var requests = 0
    private(set) var tilesAsked = 0

    private var time: UInt64 { UInt64(now.nanoseconds / 1000) }

    init(seed: UInt64, lost: Int) {
        random = SplitMix(state: seed)
        self.lost = lost
        screen = PixelBuffer(format: .bgrx, size: size)
        for y in 0..<size.height { for x in 0..<size.width { Self.set(screen, x, y, UInt32(x * 977 + y * 131_071)) } }
        shown = Self.copy(screen)
        map = ExactMap(size, now: now)
        changed = UInt64(now.nanoseconds / 1000)
        _ = map.take(.all(of: size, at: changed), now: now)
        _ = map.take(PatchPlan(rects: [PixelRect(size)]), capturedAt: changed, isLast: true, now: now)
    }

    mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    var isVerified: Bool { check.isVerified(map) }
    var wrongRows: UInt64 { check.wrongRows }
    var isEqual: Bool { Self.isEqual(shown, screen) }
    /// It looks as the screen does or did.
    var isEqualToSome: Bool { isEqual || history.contains { Self.isEqual(shown, $0) } }

    private static func set(_ buffer: PixelBuffer, _ x: Int, _ y: Int, _ value: UInt32) {
        (buffer.planes[0].base + y * buffer.planes[0].stride + 4 * x).storeBytes(of: value, as: UInt32.self)
    }

    private static func get(_ buffer: PixelBuffer, _ x: Int, _ y: Int) -> UInt32 {
        (buffer.planes[0].base + y * buffer.planes[0].stride + 4 * x).load(as: UInt32.self) & 0xff_ffff
    }

    private static func isEqual(_ one: PixelBuffer, _ other: PixelBuffer) -> Bool {
        (0..<one.size.height).allSatisfy { y in
            (0..<one.size.width).allSatisfy { get(one, $0, y) == get(other, $0, y) }
        }
    }

    private static func copy(_ buffer: PixelBuffer) -> PixelBuffer {
        let copy = PixelBuffer(format: .bgrx, size: buffer.size)
        copy.planes[0].base.copyMemory(
            from: buffer.planes[0].base, byteCount: buffer.planes[0].stride * buffer.size.height)
        return copy
    }

    /// An error: a pixel that is shown changes by itself.
    mutating func spoil(x: Int, y: Int) { Self.set(shown, x, y, Self.get(shown, x, y) ^ 4) }

    /// The screen changes in one tile, and its patch may be lost.
    mutating func change(isLost: Bool) {
        now = now + .microseconds(1)
        history.append(screen)
        screen = Self.copy(screen)
        let tile = PixelRect(x: below(7), y: below(5), width: 1, height: 1)
        let rect = ExactTiles.pixels(of: tile, in: size)
        Self.set(screen, rect.x, rect.y, UInt32(truncatingIfNeeded: random.next()) & 0xff_ffff)
        let previous = changed
        changed = time
        guard !isLost else { return }
        let basis = PatchPlan.Basis(previous: UInt32(time - previous), needed: .max)
        send(.patch(rect, screen, time: time, basis: basis), mayBeLost: false)
    }

    /// A frame that says all, whose tiles the viewer then asks for.
    mutating func tellAll() {
        let change = FrameChanges.Change(rect: PixelRect(size), time: changed)
        _ = map.take(FrameChanges(captureTime: time, changes: [change]), now: now)
    }

    private mutating func send(_ message: Message, mayBeLost: Bool = true) {
        for _ in 0...(below(4) == 0 ? 1 : 0) where !mayBeLost || below(100) >= lost {
            messages.append((now + .microseconds(Int64(100 + below(mayBeLost ? 100_000 : 20_000))), message))
        }
    }

    mutating func run(_ duration: Duration) {
        let end = now + duration
        while now < end {
            deliver()
            if check.takeRequest(map, now: now) {
                requests += 1
                send(.request)
            }
            askForTiles()
            // Straight to what comes next, as a program sleeps.
            var next = min(end, messages.map(\.due).min() ?? end)
            if let deadline = check.deadline(map) { next = min(next, deadline) }
            if !map.isAllExact { next = min(next, now + .milliseconds(20)) }
            now = max(next, now + .microseconds(100))
        }
    }

    private mutating func askForTiles() {
        guard !map.isAllExact, askedAt.map({ now - $0 >= .milliseconds(120) }) ?? true else { return }
        let lacking = map.lacking(for: .milliseconds(80), most: 31, now: now)
        guard !lacking.isEmpty else { return }
        askedAt = now
        tilesAsked += lacking.reduce(0) { $0 + $1.area }
        send(.tiles(lacking))
    }

    private mutating func deliver() {
        let due = messages.filter { $0.due <= now }
        messages.removeAll { $0.due <= now }
        for (_, message) in due {
            switch message {
            case .request:
                let rows = (0..<ExactTiles.down(size)).map { row in
                    TileRowHash.of(row: row, in: screen) ^ (lies ? UInt32(row + 1) : 0)
                }
                // In two pieces, as large ones come.
                let whole = PictureHashes(size: size, time: time, since: changed, rows: rows)
                for (first, last) in [(0, 2), (2, rows.count)] {
                    var piece = whole
                    (piece.firstRow, piece.rows) = (first, Array(rows[first..<last]))
                    send(.hashes(piece))
                }
            case .tiles(let tiles):
                for tiles in tiles {
                    send(.patch(ExactTiles.pixels(of: tiles, in: size), screen, time: time, basis: nil))
                }
            case .hashes(let hashes):
                check.take(hashes, map, now: now)
                while let row = check.nextRow(map, now: now) {
                    check.hashed(row, TileRowHash.of(row: row, in: shown), &map, now: now)
                }
            case .patch(let rect, let picture, let time, let basis):
                let plan = PatchPlan(rects: [rect], basis: basis)
                guard case .show(_, let parts) = map.take(plan, capturedAt: time, isLast: true, now: now) else {
                    continue
                }
                for part in parts.joined() {
                    for y in part.y..<part.maxY {
                        for x in part.x..<part.maxX { Self.set(shown, x, y, Self.get(picture, x, y)) }
                    }
                }
            }
        }
    }
}
