import BeamClock
import BeamMedia
import BeamPixels
import BeamSession
import Testing

@testable import BeamViewer

/// What a window shows of decoded pictures and patches, and whether hashes find what is wrong with it.
@MainActor @Suite struct ExactPictureTests {
    private let size = PixelSize(width: 96, height: 64)

    private func pixels(_ seed: UInt32) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        var value = seed
        for y in 0..<size.height {
            for x in 0..<size.width {
                value = value &* 1_664_525 &+ 1_013_904_223
                set(buffer, x, y, value >> 8)
            }
        }
        return buffer
    }

    private func set(_ buffer: PixelBuffer, _ x: Int, _ y: Int, _ value: UInt32) {
        (buffer.planes[0].base + y * buffer.planes[0].stride + 4 * x).storeBytes(of: value, as: UInt32.self)
    }

    /// A decoded picture that is all grey, of a frame that says all has changed.
    private func decoded(at time: UInt64) -> Picture {
        let buffer = PixelBuffer(format: .i420, size: size)
        for (index, plane) in buffer.planes.enumerated() {
            let (_, rows) = PixelFormat.i420.plane(index, of: size)
            plane.base.initializeMemory(as: UInt8.self, repeating: 128, count: plane.stride * rows)
        }
        var picture = Picture(buffer: buffer, time: .now, damage: DamageRegion(PixelRect(size)))
        picture.changes = .all(of: size, at: time)
        return picture
    }

    private func patch(_ rect: PixelRect, of buffer: PixelBuffer, at time: UInt64) throws -> ReceivedPatch {
        var codec = PatchCodec()
        let content = codec.encode([rect], of: buffer, atMost: 1 << 20)
        return ReceivedPatch(
            content: try #require(content), hostTime: time, arrival: .now, pictureSize: size, isRepair: true)
    }

    /// A change since the picture at `previous`.
    private func change(_ rect: PixelRect, of buffer: PixelBuffer, at time: UInt64, since previous: UInt64) throws
        -> ReceivedPatch
    {
        var codec = PatchCodec()
        let plan = PatchPlan(rects: [rect], basis: .init(previous: UInt32(time - previous), needed: .max))
        let content = codec.encode(plan, of: buffer, atMost: 1 << 20)
        return ReceivedPatch(content: try #require(content), hostTime: time, arrival: .now, pictureSize: size)
    }

    private func hashes(of buffer: PixelBuffer, at time: UInt64) -> [ReceivedHashes] {
        let rows = (0..<ExactTiles.down(size)).map { TileRowHash.of(row: $0, in: buffer) }
        return [ReceivedHashes(PictureHashes(size: size, time: time, since: time, rows: rows), session: .zero)]
    }

    private func eventually<Result>(_ find: () -> Result?) async throws -> Result {
        for _ in 0..<2000 {
            if let result = find() { return result }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Hang()
    }

    private struct Hang: Error {}

    private func waitForRequest(_ exact: ExactPicture) async throws {
        _ = try await eventually { exact.takeHashRequest() ? true : nil }
    }

    @Test func whatIsShownIsVerified() async throws {
        let screen = pixels(1)
        let exact = ExactPicture()
        _ = exact.take(decoded(at: 100), [try patch(PixelRect(size), of: screen, at: 100)])
        #expect(exact.exactness == Exactness(share: 1))
        try await waitForRequest(exact)
        exact.take(hashes(of: screen, at: 100))
        #expect(exact.timeout == .zero)
        exact.compareSome()
        #expect(exact.exactness == Exactness(share: 1, isVerified: true))
        #expect(exact.timeout == nil)
        // Until the next change.
        set(screen, 20, 20, 7)
        let tile = PixelRect(x: 16, y: 16, width: 16, height: 16)
        _ = exact.take(nil, [try patch(tile, of: screen, at: 200)])
        #expect(exact.exactness == Exactness(share: 1))
    }

    /// A pixel that a patch has wrong: its row is asked for, shown anew, and verified.
    @Test func aWrongTileIsMended() async throws {
        let (screen, wrong) = (pixels(1), pixels(1))
        set(wrong, 40, 37, 0x12_3456)
        let exact = ExactPicture()
        _ = exact.take(decoded(at: 100), [try patch(PixelRect(size), of: wrong, at: 100)])
        try await waitForRequest(exact)
        exact.take(hashes(of: screen, at: 100))
        exact.compareSome()
        #expect(exact.exactness == Exactness(share: 0.75, wrongRows: 1))
        let wanted = try await eventually {
            let wanted = exact.takeWanted()
            return wanted.isEmpty ? nil : wanted
        }
        #expect(wanted == [PixelRect(x: 0, y: 2, width: 6, height: 1)])
        let row = PixelRect(x: 0, y: 32, width: 96, height: 16)
        let taken = exact.take(nil, [try patch(row, of: screen, at: 100)])
        let shown = try #require(taken)
        for row in 0..<4 { #expect(TileRowHash.of(row: row, in: shown.buffer) == TileRowHash.of(row: row, in: screen)) }
        try await waitForRequest(exact)
        exact.take(hashes(of: screen, at: 100))
        exact.compareSome()
        #expect(exact.exactness == Exactness(share: 1, isVerified: true, wrongRows: 1))
    }

    private let grid = PixelRect(x: 0, y: 0, width: 6, height: 4)

    /// What shows a screen exactly.
    private func exactPicture(of screen: PixelBuffer) throws -> ExactPicture {
        let exact = ExactPicture()
        _ = exact.take(decoded(at: 100), [try patch(PixelRect(size), of: screen, at: 100)])
        return exact
    }

    /// A change with other pixels than it says, one that can't be read at all, and a repair.
    @Test func aChangeThatIsRefusedIsAskedForAtOnce() async throws {
        let screen = pixels(1)
        let tile = PixelRect(x: 16, y: 16, width: 16, height: 16)
        var broken = try change(tile, of: screen, at: 200, since: 100)
        broken.content.removeLast(3)
        var exact = try exactPicture(of: screen)
        _ = exact.take(nil, [broken])
        #expect(exact.refused == 1 && exact.timeout == .zero)
        #expect(exact.takeWanted() == [PixelRect(x: 1, y: 1, width: 1, height: 1)])
        // The answer is shown, although nothing of it has changed since.
        let answer = try patch(tile, of: screen, at: 200)
        _ = try await eventually {
            _ = exact.take(nil, [answer])
            return exact.exactness?.share == 1 ? true : nil
        }

        broken.content = [9]
        exact = try exactPicture(of: screen)
        _ = exact.take(nil, [broken])
        #expect(exact.refused == 1 && exact.timeout == .zero && exact.takeWanted() == [grid])

        broken.isRepair = true
        exact = try exactPicture(of: screen)
        _ = exact.take(nil, [broken])
        #expect(exact.refused == 1 && exact.exactness?.share == 1 && exact.takeWanted().isEmpty)
    }

    /// A host that sends more than is restored here, and never what is asked for: of each change that is dropped the tiles are
    /// known to be outdated, and all is asked for in one request in a while.
    @Test func changesBeyondTheBudgetAreAskedForAtOnce() async throws {
        let screen = pixels(1)
        let exact = try exactPicture(of: screen)
        var time: UInt64 = 100
        // Until the last change of a burst is dropped: on a slow machine there is time to restore some.
        _ = try await eventually {
            let burst = (0..<30).compactMap { _ in
                time += 10
                return try? change(PixelRect(size), of: screen, at: time, since: time - 10)
            }
            _ = exact.take(nil, burst)
            return exact.exactness?.share == 0 ? true : nil
        }
        #expect(exact.timeout == .zero && exact.takeWanted() == [grid])
        let begin = MediaTime.now
        var requests = 0
        for _ in 0..<5000 {
            time += 10
            _ = exact.take(nil, [try change(PixelRect(size), of: screen, at: time, since: time - 10)])
            if !exact.takeWanted().isEmpty { requests += 1 }
        }
        let most = Int((MediaTime.now - begin).inSeconds / 0.06) + 1
        #expect(requests <= most)
        // A repair of the last change is shown as soon as it may be restored.
        let answer = try patch(PixelRect(size), of: screen, at: time)
        _ = try await eventually {
            _ = exact.take(nil, [answer])
            return exact.exactness?.share == 1 ? true : nil
        }
    }

    /// More changes than wait for a window that doesn't draw: all may be outdated, but for what is newer.
    @Test func changesThatDoNotFitAreAskedForAtOnce() throws {
        let screen = pixels(1)
        let box = PatchBox(ViewerState(ViewerStatus(connectingTo: "desk")))
        let tile = PixelRect(x: 16, y: 16, width: 16, height: 16)
        let exact = try exactPicture(of: screen)
        for step in 0..<20 { box.push(try change(tile, of: screen, at: 200 + UInt64(step), since: 199 + UInt64(step))) }
        var taken = box.takeAll()
        #expect(taken.patches.count == 20 && taken.dropped == nil)
        for step in 0..<300 {
            box.push(try change(tile, of: screen, at: 300 + UInt64(step), since: 299 + UInt64(step)))
        }
        taken = box.takeAll()
        #expect(taken.patches.count == 256 && taken.dropped?.time == 343)
        #expect(box.takeAll().dropped == nil)
        _ = exact.take(nil, taken.patches, dropped: taken.dropped)
        #expect(exact.timeout == .zero && exact.takeWanted() == [grid])
        // What was dropped is of another session, or only repairs: they are asked for again anyway.
        for _ in 0..<300 { box.push(try patch(tile, of: screen, at: 700)) }
        #expect(box.takeAll().dropped == nil)
        var other = try #require(taken.dropped)
        other.session = .now
        let next = try exactPicture(of: screen)
        _ = next.take(nil, [], dropped: other)
        #expect(next.exactness?.share == 1)
    }
}
