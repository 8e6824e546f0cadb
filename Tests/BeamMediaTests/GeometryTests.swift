import BeamMedia
import Testing

struct GeometryTests {
    @Test(arguments: [
        (PixelSize(width: 1920, height: 1080), 1280, PixelSize(width: 1280, height: 720)),
        (PixelSize(width: 1080, height: 1920), 1280, PixelSize(width: 720, height: 1280)),
        (PixelSize(width: 1366, height: 767), 1366, PixelSize(width: 1366, height: 767)),
        (PixelSize(width: 1366, height: 767), 5000, PixelSize(width: 1366, height: 767)),
        (PixelSize(width: 1366, height: 767), 683, PixelSize(width: 683, height: 384)),
        (PixelSize(width: 10_000, height: 1), 100, PixelSize(width: 100, height: 2)),
        (PixelSize(width: 640, height: 480), 0, PixelSize(width: 640, height: 480)),
    ])
    func sizesKeepTheirAspect(_ size: PixelSize, longest: Int, expected: PixelSize) {
        #expect(size.fitting(longest: longest) == expected)
    }

    @Test func intersectionsAndUnions() {
        let a = PixelRect(x: 0, y: 0, width: 10, height: 10)
        let b = PixelRect(x: 5, y: 6, width: 10, height: 10)
        let far = PixelRect(x: 100, y: 100, width: 1, height: 1)
        #expect(a.intersection(b) == PixelRect(x: 5, y: 6, width: 5, height: 4))
        #expect(a.intersection(far).isEmpty)
        #expect(a.union(b) == PixelRect(x: 0, y: 0, width: 15, height: 16))
        #expect(a.union(PixelRect(x: 50, y: 50, width: 0, height: 9)) == a)
        #expect(a.contains(PixelRect(x: 9, y: 9, width: 1, height: 1)))
        #expect(!a.contains(b))
        #expect(b.description == "10x10+5+6")
    }

    @Test func containedDamageIsIgnored() {
        var region = DamageRegion(PixelRect(x: 0, y: 0, width: 100, height: 100))
        region.insert(PixelRect(x: 10, y: 10, width: 5, height: 5))
        region.insert(PixelRect(x: 10, y: 10, width: 0, height: 5))
        #expect(region.rects == [PixelRect(x: 0, y: 0, width: 100, height: 100)])
        region.insert(PixelRect(x: 0, y: 0, width: 200, height: 100))
        #expect(region.rects == [PixelRect(x: 0, y: 0, width: 200, height: 100)])
    }

    /// Any number of insertions gives few rectangles that cover all damage.
    @Test func damageIsBoundedAndComplete() {
        var region = DamageRegion()
        var inserted: [PixelRect] = []
        for index in 0..<200 {
            let rect = PixelRect(
                x: index * 37 % 1900, y: index * 91 % 1000, width: 1 + index % 20, height: 1 + index % 7)
            inserted.append(rect)
            region.insert(rect)
            #expect(region.rects.count <= DamageRegion.limit)
        }
        for rect in inserted { #expect(region.rects.contains { $0.contains(rect) }) }
        let clipped = region.clipped(to: PixelRect(x: 0, y: 0, width: 500, height: 500))
        #expect(clipped.rects.allSatisfy { PixelRect(x: 0, y: 0, width: 500, height: 500).contains($0) })
        var union = DamageRegion(PixelRect(x: 3000, y: 0, width: 1, height: 1))
        union.formUnion(region)
        for rect in inserted { #expect(union.rects.contains { $0.contains(rect) }) }
    }

    @Test func timesAddUpWithoutOverflow() {
        #expect(MediaTime.zero + .milliseconds(5) == MediaTime(nanoseconds: 5_000_000))
        #expect(MediaTime.distantFuture + .seconds(1) == .distantFuture)
        #expect(MediaTime(nanoseconds: 7) - MediaTime(nanoseconds: 10) == .nanoseconds(-3))
        #expect(Duration.seconds(Int64.max).inNanoseconds == .max)
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
        #expect(Duration.microseconds(1500).inMilliseconds == 1.5)
    }
}
