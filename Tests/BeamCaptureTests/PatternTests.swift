import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// The test pattern's content and damage.
@Suite struct PatternTests {
    static let sizes = [
        PixelSize(width: 2, height: 2), PixelSize(width: 3, height: 7), PixelSize(width: 160, height: 120),
        PixelSize(width: 319, height: 180), PixelSize(width: 320, height: 180), PixelSize(width: 321, height: 181),
        PixelSize(width: 640, height: 360), PixelSize(width: 333, height: 1201), PixelSize(width: 1366, height: 767),
    ]

    @Test(arguments: [
        (PixelSize(width: 1280, height: 720), 30.0, 0x7a92_8246_dd8d_6441 as UInt64),
        (PixelSize(width: 1366, height: 767), 59.94, 0xa58c_6891_a4ac_7684),
        (PixelSize(width: 101, height: 77), 25, 0xf0e8_cc9a_0580_8db0),
    ])
    func aFrameIsTheSameBitForBitEverywhere(size: PixelSize, frameRate: Double, fingerprint: UInt64) throws {
        let options = PatternOptions(size: size, frameRate: frameRate)
        let buffer = PixelBuffer(format: .i420, size: size)
        try PatternRenderer(options).draw(100, time: MediaTime(nanoseconds: 123_456_789), into: buffer)
        #expect(buffer.fingerprint == fingerprint, "0x\(String(buffer.fingerprint, radix: 16))")
    }

    @Test(arguments: sizes)
    func reusedMemoryGivesTheSamePicturesAsFreshMemory(size: PixelSize) throws {
        let options = PatternOptions(size: size, frameRate: 30)
        let (kept, fresh) = (try PatternRenderer(options), try PatternRenderer(options))
        for number in [0, 1, 2, 3, 4, 50, 51, 7, 2000] {
            let buffer = PixelBuffer(format: .i420, size: size)
            fresh.draw(number, time: options.time(of: number), into: buffer)
            #expect(kept.picture(number).buffer.allSamples == buffer.allSamples, "frame \(number)")
        }
    }

    @Test(arguments: sizes)
    func damageCoversAllChanges(size: PixelSize) throws {
        let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: 30))
        let shown = PixelBuffer(format: .i420, size: size)
        var held: [Picture] = []
        for number in [0, 1, 2, 3, 8, 30, 31, 100] {
            let picture = renderer.picture(number)
            #expect(number > 0 || picture.damage == DamageRegion(PixelRect(size)))
            for rect in picture.damage.rects {
                #expect(PixelRect(size).contains(rect))
                PatternCanvas(shown).copy(rect, from: picture.buffer)
            }
            #expect(shown.allSamples == picture.buffer.allSamples, "frame \(number)")
            // Some pictures are still in use while the next are drawn.
            held = held.suffix(2) + [picture]
        }
        #expect(held.count == 3)
    }

    @Test func littleOfALargePictureChanges() throws {
        let size = PixelSize(width: 1280, height: 720)
        let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: 30))
        _ = renderer.picture(0)
        #expect(renderer.picture(1).damage.area < size.area / 6)
    }

    @Test func aPictureInUseIsNeverDrawnOver() throws {
        let renderer = try PatternRenderer(PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 30))
        let pictures = (0..<10).map { renderer.picture($0) }
        for (number, picture) in pictures.enumerated() {
            #expect(PatternCode.read(picture)?.number == UInt32(number))
        }
    }

    @Test func theBarsMatchTheStandard() throws {
        let size = PixelSize(width: 1280, height: 720)
        let picture = try PatternRenderer(PatternOptions(size: size, frameRate: 30)).picture(0)
        let bars = PatternLayout(size).bars
        // 75 % bars in BT.709 limited range: white, yellow, cyan, green, magenta, red, blue, and black.
        let expected: [(UInt8, UInt8, UInt8)] = [
            (180, 128, 128), (168, 44, 136), (145, 147, 44), (133, 63, 52), (63, 193, 204), (51, 109, 212),
            (28, 212, 120), (16, 128, 128),
        ]
        for (index, colour) in expected.enumerated() {
            let (x, y) = (bars.x + bars.width * (2 * index + 1) / 16, bars.y + bars.height / 2)
            #expect(picture.buffer.samples(0, y)[x] == colour.0)
            #expect(picture.buffer.samples(1, y / 2)[x / 2] == colour.1)
            #expect(picture.buffer.samples(2, y / 2)[x / 2] == colour.2)
        }
        #expect(picture.colour == .bt709Limited)
    }

    @Test(arguments: [
        PixelSize(width: 8192, height: 2), PixelSize(width: 2, height: 8192), PixelSize(width: 8192, height: 180),
        PixelSize(width: 320, height: 8191), PixelSize(width: 3840, height: 2160),
    ])
    func extremeSizesCanBeDrawn(size: PixelSize) throws {
        let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: 240))
        for number in [0, 1, Int(UInt32.max), Int(UInt32.max) + 1] {
            let picture = renderer.picture(number)
            #expect(picture.size == size && picture.number == UInt64(number))
            guard PatternCode.Layout(size) != nil else { continue }
            #expect(PatternCode.read(picture)?.number == UInt32(truncatingIfNeeded: number))
        }
    }

    @Test(arguments: [
        (PixelSize(width: 1, height: 720), 30.0), (PixelSize(width: 1280, height: 8193), 30),
        (PixelSize(width: 1280, height: 720), 0.5), (PixelSize(width: 1280, height: 720), 241),
        (PixelSize(width: 1280, height: 720), .nan),
    ])
    func impossibleOptionsAreRefused(size: PixelSize, frameRate: Double) throws {
        let error = try #require(throws: CaptureError.self) {
            try PatternSource(PatternOptions(size: size, frameRate: frameRate))
        }
        #expect(error.description.contains("test pattern"))
    }
}

/// The pattern in real time.
@Suite struct PatternSourceTests {
    private static let options = PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 100)

    @Test func framesAreDueByTheirNumber() {
        let options = PatternOptions(frameRate: 25)
        let schedule = PatternSchedule(options, frame: 10, at: MediaTime(nanoseconds: 5_000_000_000))
        #expect(schedule.time(of: 10).nanoseconds == 5_000_000_000)
        #expect(schedule.time(of: 35).nanoseconds == 6_000_000_000)
        func next(_ milliseconds: Int64) -> Int {
            schedule.next(after: 10, at: MediaTime(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000))
        }
        #expect([0, 39, 40, 79].map(next) == [11, 11, 11, 11])
        #expect([80, 119, 120, 1000].map(next) == [12, 12, 13, 35])
    }

    @Test func nothingIsDrawnWhileNobodyWatches() throws {
        let running = RunningSource(try PatternSource(Self.options))
        Thread.sleep(forTimeInterval: 0.2)
        #expect(running.count == 0)
        running.source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 5 })
        running.source.setActive(false)
        Thread.sleep(forTimeInterval: 0.2)
        let paused = running.count
        Thread.sleep(forTimeInterval: 0.2)
        #expect(running.count == paused)
        running.source.setActive(true)
        #expect(running.wait { $0.pictures.count >= paused + 5 })

        let outcome = running.stop()
        #expect(outcome.error == nil && outcome.isEnded)
        let whole = DamageRegion(PixelRect(Self.options.size))
        #expect(outcome.pictures[0].damage == whole && outcome.pictures[paused].damage == whole)
        #expect(outcome.pictures[1].damage != whole)
        // The clock was paused: no number was skipped because of the pause.
        let numbers = outcome.pictures.map(\.number)
        #expect(numbers[0] == 0 && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(Int(numbers[numbers.count - 1]) < numbers.count + Int(running.source.skipped))
    }

    @Test func aFrameCarriesItsNumberAndTime() throws {
        let running = RunningSource(try PatternSource(Self.options))
        running.source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 3 })
        for picture in running.stop().pictures {
            let code = try #require(PatternCode.read(picture))
            #expect(UInt64(code.number) == picture.number && code.time == picture.time)
        }
    }

    @Test func aSlowConsumerSkipsFramesAndTheyAreCounted() throws {
        let running = RunningSource(try PatternSource(Self.options), delay: 0.05)
        running.source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 6 })
        let numbers = running.stop().pictures.map(\.number)
        #expect(running.source.skipped > 0)
        let missing = zip(numbers, numbers.dropFirst()).reduce(0) { $0 + $1.1 - $1.0 - 1 }
        // The last skip may have happened after the last delivery.
        #expect(missing > 0 && missing <= running.source.skipped)
    }

    @Test(arguments: [true, false]) func stoppingEndsItAtOnce(isActive: Bool) throws {
        let source = try PatternSource(PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 1))
        let running = RunningSource(source)
        running.source.setActive(isActive)
        if isActive { #expect(running.wait { $0.pictures.count == 1 }) }
        #expect(running.stop().pictures.count == (isActive ? 1 : 0))
        // Stopped before it runs: ends without a picture.
        #expect(RunningSource(source).stop().pictures.isEmpty)
    }

    @Test func reactivationDeliversAWholePictureAtOnce() throws {
        let source = try PatternSource(PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 1))
        let running = RunningSource(source)
        for count in 1...4 {
            // Before the next frame is due.
            source.setActive(true)
            #expect(running.wait(seconds: 30) { $0.pictures.count >= count })
            source.setActive(false)
        }
        #expect(running.stop().pictures.allSatisfy { $0.damage.area == 320 * 180 })
    }
}
