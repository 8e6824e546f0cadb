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
}
