import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// The test pattern's contents other than the chart.
@Suite struct PatternContentTests {
    static let contents: [PatternContent] = [.still, .scroll, .video]
    static let sizes = [
        PixelSize(width: 2, height: 2), PixelSize(width: 3, height: 7), PixelSize(width: 160, height: 120),
        PixelSize(width: 320, height: 180), PixelSize(width: 321, height: 181), PixelSize(width: 641, height: 361),
    ]

    @Test(arguments: [
        (PatternContent.still, 0xd0fb7154c665204f as UInt64), (.scroll, 0x4ac208edb1bd59d8),
        (.video, 0xbd91c2a9ff3f8b8d),
    ])
    func aFrameIsTheSameBitForBitEverywhere(content: PatternContent, fingerprint: UInt64) throws {
        let options = PatternOptions(size: PixelSize(width: 641, height: 361), frameRate: 59.94, content: content)
        let buffer = PixelBuffer(format: .i420, size: options.size)
        try PatternRenderer(options).draw(100, time: MediaTime(nanoseconds: 123_456_789), into: buffer)
        #expect(buffer.fingerprint == fingerprint, "0x\(String(buffer.fingerprint, radix: 16))")
    }

    @Test(arguments: contents, sizes)
    func picturesDependOnTheirNumberOnly(content: PatternContent, size: PixelSize) throws {
        let options = PatternOptions(size: size, frameRate: 30, content: content)
        let (kept, fresh) = (try PatternRenderer(options), try PatternRenderer(options))
        let shown = PixelBuffer(format: .i420, size: size)
        for number in [0, 1, 8, 16, 17, 900, 7] {
            let buffer = PixelBuffer(format: .i420, size: size)
            fresh.draw(number, time: options.time(of: number), into: buffer)
            let picture = kept.picture(number)
            #expect(picture.buffer.allSamples == buffer.allSamples, "frame \(number)")
            // The damage covers all changes.
            for rect in picture.damage.rects { PatternCanvas(shown).copy(rect, from: picture.buffer) }
            #expect(shown.allSamples == buffer.allSamples, "frame \(number), its damage")
            let hasCode = PatternCode.Layout(size) != nil
            #expect((PatternCode.read(picture)?.number == UInt32(number)) == hasCode)
        }
    }

    @Test(arguments: contents)
    func picturesDiffer(content: PatternContent) throws {
        let options = PatternOptions(size: PixelSize(width: 640, height: 360), frameRate: 60, content: content)
        let renderer = try PatternRenderer(options)
        let top = PatternLayout(options.size).top
        func below(_ number: Int) -> [UInt8] {
            let buffer = renderer.picture(number).buffer
            return (top..<options.size.height).flatMap { Array(buffer.samples(0, $0)) }
        }
        let step = options.framesPerChange
        let (first, next) = (below(20 * step), below(21 * step))
        let changed = Double(zip(first, next).filter { $0 != $1 }.count) / Double(first.count)
        switch content {
        case .still: #expect(changed > 0 && changed < 0.01)
        case .scroll: #expect(changed > 0.05)
        default: #expect(changed > 0.5)
        }
        // Frames between two changes equal the first.
        if step > 1 { #expect(below(20 * step + step - 1) == first) }
    }

    @Test(arguments: contents, [PixelSize(width: 8192, height: 2), PixelSize(width: 2, height: 4096)])
    func extremeSizesCanBeDrawn(content: PatternContent, size: PixelSize) throws {
        let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: 240, content: content))
        for number in [0, Int(UInt32.max), Int(UInt32.max) + 1] { #expect(renderer.picture(number).size == size) }
    }

    @Test func stillContentChangesFourTimesASecond() throws {
        let options = PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 60, content: .still)
        #expect(options.framesPerChange == 15)
        #expect(PatternOptions(frameRate: 2, content: .still).framesPerChange == 1)
        #expect(PatternOptions(frameRate: 240, content: .video).framesPerChange == 1)
        let schedule = PatternSchedule(options, frame: 30, at: MediaTime(nanoseconds: 1_000_000_000))
        func next(_ milliseconds: Int64) -> Int {
            schedule.next(after: 30, at: MediaTime(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000))
        }
        #expect([0, 249, 251, 499, 501, 1100].map(next) == [45, 45, 45, 45, 60, 90])
    }

    @Test func aSourceSkipsIdenticalFrames() throws {
        let running = RunningSource(
            try PatternSource(
                PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 40, content: .still)))
        running.source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 3 })
        #expect(running.stop().pictures.allSatisfy { $0.number % 10 == 0 })
    }
}
