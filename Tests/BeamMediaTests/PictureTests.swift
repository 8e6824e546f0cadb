import BeamMedia
import Synchronization
import Testing

struct PictureTests {
    private let size = PixelSize(width: 1367, height: 767)

    @Test func planesHaveRoomForTheirSamples() {
        for format in [PixelFormat.bgrx, .i420, .i444] {
            let buffer = PixelBuffer(format: format, size: size)
            #expect(buffer.planes.count == format.planeCount)
            for (index, plane) in buffer.planes.enumerated() {
                let (rowBytes, rows) = format.plane(index, of: size)
                #expect(plane.stride >= rowBytes && plane.stride.isMultiple(of: 64))
                #expect(Int(bitPattern: plane.base).isMultiple(of: 64))
                // Touch the last byte of the plane.
                plane.base.storeBytes(of: 7, toByteOffset: (rows - 1) * plane.stride + rowBytes - 1, as: UInt8.self)
            }
        }
        #expect(PixelFormat.i420.plane(1, of: size) == (684, 384))
    }

    @Test func aPoolReusesMemory() {
        let pool = PixelBufferPool(limit: 1)
        var first: PixelBuffer? = pool.buffer(format: .i420, size: size)
        let base = first?.planes[0].base
        first = nil
        var second: PixelBuffer? = pool.buffer(format: .i420, size: size)
        #expect(second?.planes[0].base == base)
        // Memory in use isn't given out again.
        let third = pool.buffer(format: .i420, size: size)
        #expect(third.planes[0].base != base)
        second = nil
        let smaller = pool.buffer(format: .i420, size: PixelSize(width: 16, height: 16))
        #expect(smaller.size == PixelSize(width: 16, height: 16))
        #expect(smaller.planes[0].stride == 64)
    }

    @Test func aBufferOutlivesItsPool() {
        var pool: PixelBufferPool? = PixelBufferPool()
        let buffer = pool?.buffer(format: .bgrx, size: PixelSize(width: 4, height: 4))
        pool = nil
        buffer?.planes[0].base.storeBytes(of: 1, as: UInt8.self)
        #expect(buffer?.planes[0].base.load(as: UInt8.self) == 1)
    }

    @Test func wrappedMemoryIsReleasedOnce() {
        let returned = Mutex(0)
        var bytes = [UInt8](repeating: 0, count: 64)
        bytes.withUnsafeMutableBytes { memory in
            guard let base = memory.baseAddress else { return }
            var buffer: PixelBuffer? = PixelBuffer(
                format: .bgrx, size: PixelSize(width: 4, height: 4), planes: [Plane(base: base, stride: 16)],
                release: { returned.withLock { $0 += 1 } })
            let copy = buffer
            buffer = nil
            #expect(returned.withLock { $0 } == 0)
            _ = consume copy
        }
        #expect(returned.withLock { $0 } == 1)
    }

    @Test func aReplacedPicturesDamageIsKept() {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        let left = PixelRect(x: 0, y: 0, width: 10, height: 10)
        let right = PixelRect(x: 500, y: 0, width: 10, height: 10)
        let older = Picture(buffer: buffer, time: .zero, damage: DamageRegion(left), number: 1)
        let newer = Picture(buffer: buffer, time: .zero, damage: DamageRegion(right), number: 2)
        let both = newer.replacing(older)
        #expect(both.number == 2)
        #expect(Set(both.damage.rects) == [left, right])
        let other = Picture(
            buffer: PixelBuffer(format: .bgrx, size: PixelSize(width: 20, height: 20)), time: .zero,
            damage: DamageRegion(PixelRect(x: 1, y: 1, width: 1, height: 1)))
        #expect(other.replacing(older).damage == DamageRegion(PixelRect(x: 0, y: 0, width: 20, height: 20)))
    }

    @Test func percentilesAreAccurateToOnePercent() throws {
        var histogram = LatencyHistogram()
        #expect(histogram.summary == nil)
        for millisecond in 1...1000 { histogram.record(.milliseconds(millisecond)) }
        let summary = try #require(histogram.summary)
        #expect(abs(summary.median - 500) < 6)
        #expect(abs(summary.p95 - 950) < 11)
        #expect(summary.max == 1000)
        histogram.record(.seconds(-1))
        histogram.record(.seconds(1000))
        #expect(histogram.summary?.max == 1_000_000)

        var track = LatencyTrack()
        track.record(.milliseconds(10))
        #expect(track.takeRecent()?.max == 10)
        #expect(track.takeRecent() == nil)
        #expect(track.total.count == 1)
    }

    /// A viewer's window has skipped a picture: what both have changed, and everything if that isn't said of one of them.
    @Test func aPictureSaysWhatTheOneThatItReplacesHasChanged() {
        let size = PixelSize(width: 64, height: 32)
        let rect = PixelRect(x: 16, y: 0, width: 16, height: 16)
        func picture(_ time: UInt64, says: Bool = true) -> Picture {
            var picture = Picture(buffer: PixelBuffer(format: .bgrx, size: size), time: .zero)
            let change = FrameChanges.Change(rect: rect, time: time)
            picture.changes = says ? FrameChanges(captureTime: time, changes: [change]) : nil
            return picture
        }
        #expect(picture(9).replacing(picture(5)).changes?.changes.map(\.time) == [5, 9])
        #expect(picture(9).replacing(picture(5, says: false)).changes == .all(of: size, at: 9))
        #expect(picture(9, says: false).replacing(picture(5)).changes == nil)
        // Of another clock.
        #expect(picture(9).replacing(picture(50)).changes == .all(of: size, at: 9))
    }
}
