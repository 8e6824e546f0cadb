import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// What a viewer asks its host for, on behalf of several windows.
struct ExactRequestTests {
    /// 120 × 68 tiles.
    private static let size = PixelSize(width: 1920, height: 1080)

    private static func rect(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRect {
        PixelRect(x: x, y: y, width: width, height: height)
    }

    /// The tiles that rectangles have.
    private static func tiles(_ rects: [TileRect]) -> Set<[Int]> {
        Set(
            rects.flatMap { rect in
                (Int(rect.y)..<Int(rect.y) + Int(rect.height)).flatMap { row in
                    (Int(rect.x)..<Int(rect.x) + Int(rect.width)).map { [$0, row] }
                }
            })
    }

    @Test func theFirstIsAskedAtOnceAndTheOthersTogether() {
        var request = ExactRequest()
        #expect(request.deadline(now: .at(1)) == nil)
        request.add([Self.rect(1, 2, 3, 4)], of: Self.size, now: .at(1))
        #expect(request.deadline(now: .at(1)) == .at(1))
        #expect(request.take(now: .at(1)) == [TileRect(x: 1, y: 2, width: 3, height: 4)])
        #expect(request.deadline(now: .at(1)) == nil && request.take(now: .at(1)).isEmpty)
        // It is under way; then two others.
        request.add([Self.rect(2, 3, 1, 1)], of: Self.size, now: .at(1.01))
        #expect(request.deadline(now: .at(1.01)) == nil)
        request.add([Self.rect(10, 2, 3, 4)], of: Self.size, now: .at(1.02))
        request.add([Self.rect(10, 2, 3, 4), Self.rect(20, 2, 1, 1)], of: Self.size, now: .at(1.03))
        #expect(request.take(now: .at(1.03)).isEmpty)
        #expect(request.deadline(now: .at(1.03)) == .at(1.06))
        let both = request.take(now: .at(1.06))
        #expect(both == [TileRect(x: 10, y: 2, width: 3, height: 4), TileRect(x: 20, y: 2, width: 1, height: 1)])
        // No answer has come: it may be asked again.
        request.add([Self.rect(1, 2, 3, 4)], of: Self.size, now: .at(1.2))
        #expect(request.take(now: .at(1.2)).count == 1)
    }

    /// More rectangles than one request holds: all their tiles are asked for, and few others.
    @Test func manyAreJoined() {
        var request = ExactRequest()
        let rects = (0..<40).map { Self.rect($0 % 10 * 4, $0 / 10 * 3, 4, 3) }
        request.add(rects, of: Self.size, now: .at(1))
        let asked = request.take(now: .at(1))
        #expect(asked.count <= Feedback.mostInexact)
        #expect(Self.tiles(asked) == Self.tiles([TileRect(x: 0, y: 0, width: 40, height: 12)]))
        var scattered = ExactRequest()
        for x in 0..<60 { scattered.add([Self.rect(2 * x, x, 1, 1)], of: Self.size, now: .at(1)) }
        let many = scattered.take(now: .at(1))
        #expect(many.count <= Feedback.mostInexact)
        #expect((0..<60).allSatisfy { Self.tiles(many).contains([2 * $0, $0]) })
    }

    /// Whoever gets the picture from here may ask for anything.
    @Test func whatIsAskedForIsBounded() {
        var request = ExactRequest()
        let ends = [0, 1, 119, 120, 65_535]
        for x in ends { for y in ends { request.add([Self.rect(x, y, 0, 5)], of: Self.size, now: .at(1)) } }
        #expect(request.take(now: .at(1)).isEmpty)
        request.add([Self.rect(65_535, 0, 65_535, 65_535), Self.rect(0, 68, 1, 1)], of: Self.size, now: .at(1))
        #expect(request.take(now: .at(1)).isEmpty)
        // Large ones, none of them inside another one.
        for step in 0..<100_000 {
            request.add(
                [Self.rect(step % 50, step % 13, 65_535, 40 + step % 20)], of: Self.size, now: .at(1))
        }
        let asked = request.take(now: .at(1))
        #expect(!asked.isEmpty && asked.count <= Feedback.mostInexact)
        #expect(asked.allSatisfy { Int($0.x) + Int($0.width) <= 120 && Int($0.y) + Int($0.height) <= 68 })
        // A picture of another size, and none.
        request.add([Self.rect(0, 0, 1, 1)], of: Self.size, now: .at(2))
        request.add([Self.rect(0, 0, 9, 9)], of: PixelSize(width: 16, height: 16), now: .at(2))
        #expect(request.take(now: .at(2)) == [TileRect(x: 0, y: 0, width: 1, height: 1)])
        request.add([Self.rect(0, 0, 9, 9)], of: PixelSize(width: 0, height: 0), now: .at(3))
        #expect(request.deadline(now: .at(3)) == nil)
    }
}
