import BeamMedia
import Testing

@testable import BeamPixels

@Suite struct LikelyAreaTests {
    private static let size = PixelSize(width: 1000, height: 500)

    /// Where something has changed, with two tiles of 64 × 16 pixels around it, within the picture.
    @Test(arguments: [
        (PixelRect(x: 320, y: 160, width: 9, height: 12), PixelRect(x: 192, y: 128, width: 320, height: 80)),
        (PixelRect(x: 3, y: 1, width: 5, height: 5), PixelRect(x: 0, y: 0, width: 192, height: 48)),
        (PixelRect(x: 990, y: 499, width: 10, height: 1), PixelRect(x: 832, y: 464, width: 168, height: 36)),
    ])
    func itIsAroundTheLastChange(change: PixelRect, area: PixelRect) {
        var likely = LikelyArea()
        #expect(likely.rect == nil)
        likely.note(DamageRegion(change), of: Self.size)
        #expect(likely.rect == area)
        // A picture without a change says nothing.
        likely.note(DamageRegion(), of: Self.size)
        #expect(likely.rect == area)
        #expect(likely.encloses(DamageRegion(change)))
    }

    @Test func changesFarApartAreComparedAtOnce() {
        var likely = LikelyArea()
        var damage = DamageRegion(PixelRect(x: 10, y: 10, width: 64, height: 16))
        likely.note(damage, of: Self.size)
        damage.insert(PixelRect(x: 900, y: 400, width: 64, height: 16))
        #expect(likely.rect != nil)
        likely.note(damage, of: Self.size)
        #expect(likely.rect == nil)
        #expect(!likely.encloses(damage))
    }

    /// What touches the area's edge may go on beyond it, unless that is the picture's edge.
    @Test func aChangeAtTheEdgeIsNotEnclosed() throws {
        var likely = LikelyArea()
        likely.note(DamageRegion(PixelRect(x: 320, y: 160, width: 64, height: 16)), of: Self.size)
        let area = try #require(likely.rect)
        #expect(!likely.encloses(DamageRegion()))
        for (x, y) in [(area.x, 160), (area.maxX - 64, 160), (320, area.y), (320, area.maxY - 16)] {
            #expect(!likely.encloses(DamageRegion(PixelRect(x: x, y: y, width: 64, height: 16))), "\(x), \(y)")
        }
        #expect(likely.encloses(DamageRegion(PixelRect(x: area.x + 64, y: area.y + 16, width: 64, height: 16))))
        likely.note(DamageRegion(PixelRect(x: 960, y: 480, width: 40, height: 20)), of: Self.size)
        #expect(likely.encloses(DamageRegion(PixelRect(x: 960, y: 480, width: 40, height: 20))))
    }
}
