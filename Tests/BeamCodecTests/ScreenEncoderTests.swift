import BeamCodec
import BeamMedia
import BeamPixels
import Testing

/// What libx264, driven directly, does for screens: damage, the bit rate over time, and refinement at rest.
@Suite struct ScreenEncoderTests {
    private let size = PixelSize(width: 640, height: 360)

    private func decoded(_ decoder: VideoDecoder, _ frame: EncodedFrame?) throws -> Picture {
        let unit = try #require(frame).unit
        return try #require(try decoder.decode(unit))
    }

    /// A copy of `picture` with `rect` inverted in luma; its damage is `damage`.
    private func changed(_ picture: Picture, _ rect: PixelRect, damage: DamageRegion, number: Int) -> Picture {
        let buffer = PixelBuffer(format: .i420, size: size)
        for plane in 0..<3 {
            for y in 0..<buffer.format.plane(plane, of: size).rows {
                buffer.row(plane, y).copyMemory(from: UnsafeRawBufferPointer(picture.buffer.row(plane, y)))
            }
        }
        for y in rect.y..<rect.maxY {
            let row = buffer.row(0, y)
            for x in rect.x..<rect.maxX { row[x] = 251 - row[x] }
        }
        return Picture(buffer: buffer, time: MovingContent.time(number), damage: damage)
    }

    /// The largest difference in luma inside `rect`.
    private func difference(_ a: Picture, _ b: Picture, in rect: PixelRect) -> Int {
        var largest = 0
        for y in rect.y..<rect.maxY {
            let (left, right) = (a.buffer.row(0, y), b.buffer.row(0, y))
            for x in rect.x..<rect.maxX { largest = max(largest, abs(Int(left[x]) - Int(right[x]))) }
        }
        return largest
    }

    @Test func onlyDamageIsCoded() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30))
        let decoder = try VideoDecoder()
        let first = MovingContent(size).picture(0)
        let before = try decoded(decoder, try encoder.encode(first, keyframe: true))
        // A change off the macroblock grid, and another one far away that isn't in the damage.
        let (damaged, undamaged) = (
            PixelRect(x: 201, y: 99, width: 37, height: 23), PixelRect(x: 500, y: 300, width: 60, height: 40)
        )
        let second = changed(
            changed(first, damaged, damage: DamageRegion(), number: 1), undamaged, damage: DamageRegion(damaged),
            number: 1)
        let after = try decoded(decoder, try encoder.encode(second, keyframe: false))
        #expect(difference(after, second, in: damaged) < 40)
        #expect(difference(after, before, in: damaged) > 100)
        #expect(difference(after, before, in: undamaged) == 0)
        #expect(difference(after, before, in: PixelRect(x: 0, y: 0, width: 640, height: 96)) == 0)
    }

    @Test func damageMayReachBeyondThePicture() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30))
        let decoder = try VideoDecoder()
        let first = MovingContent(size).picture(0)
        _ = try decoded(decoder, try encoder.encode(first, keyframe: true))
        let corner = PixelRect(x: 600, y: 340, width: 40, height: 20)
        var damage = DamageRegion(PixelRect(x: 600, y: 340, width: 4000, height: 4000))
        for rect in [PixelRect(x: 5000, y: 0, width: 9, height: 9), PixelRect(x: -70, y: -70, width: 60, height: 60)] {
            damage.insert(rect)
        }
        let second = changed(first, corner, damage: damage, number: 1)
        let shown = try decoded(decoder, try encoder.encode(second, keyframe: false))
        #expect(difference(shown, second, in: corner) < 40)
    }

    /// Damage changes what is coded, not the quality of the result.
    @Test func partialDamageKeepsTheQuality() throws {
        let rect = PixelRect(x: 0, y: 120, width: 640, height: 61)
        let settings = EncoderSettings(size: size, frameRate: 30)
        let encoders = [try VideoEncoder(settings), try VideoEncoder(settings)]
        let decoders = [try VideoDecoder(), try VideoDecoder()]
        var picture = MovingContent(size).picture(0)
        for number in 0..<12 {
            if number > 0 { picture = changed(picture, rect, damage: DamageRegion(rect), number: number) }
            for (index, encoder) in encoders.enumerated() {
                var picture = picture
                if index == 1 { picture.damage = DamageRegion(PixelRect(size)) }
                let shown = try decoded(decoders[index], try encoder.encode(picture, keyframe: false))
                #expect(PictureQuality.psnr(shown.buffer, picture.buffer) >= 40)
            }
        }
    }

    /// A change that all see exactly already is coded well enough, and nothing else is improved with it: neither after a
    /// good keyframe nor after a coarse one that is legible.
    @Test(arguments: [(10_000_000, 20...27), (500_000, 29...38)])
    func whatIsSeenAlreadyTakesFewBits(_ bitRate: Int, _ quantisers: ClosedRange<Int>) throws {
        func bits(isSeen: Bool) throws -> Int {
            let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: bitRate))
            let decoder = try VideoDecoder()
            var picture = MovingContent(size).picture(0)
            var shown = try decoded(decoder, try encoder.encode(picture, keyframe: true))
            let quantiser = try #require(encoder.lastQuantiser)
            #expect(quantisers.contains(quantiser))
            var sum = 0
            for step in 1...8 {
                let letter = PixelRect(x: 24 * step, y: 40, width: 9, height: 17)
                picture = changed(picture, letter, damage: DamageRegion(letter), number: 30 * step)
                let frame = try encoder.encode(picture, keyframe: false, isSeen: isSeen)
                sum += try #require(frame).unit.bytes.count * 8
                let next = try decoded(decoder, frame)
                #expect(difference(next, picture, in: letter) < 64)
                if isSeen {
                    #expect(difference(next, shown, in: PixelRect(x: 0, y: 96, width: 640, height: 264)) == 0)
                }
                shown = next
            }
            return sum
        }
        let (seen, unseen) = (try bits(isSeen: true), try bits(isSeen: false))
        #expect(seen * 2 < unseen, "\(seen) and \(unseen) bits")
    }

    @Test func damageOfReplacedPicturesIsMerged() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30))
        let decoder = try VideoDecoder()
        let first = MovingContent(size).picture(0)
        _ = try decoded(decoder, try encoder.encode(first, keyframe: true))
        let rect = PixelRect(x: 32, y: 32, width: 64, height: 64)
        let second = changed(first, rect, damage: DamageRegion(rect), number: 1)
        var third = second
        third.damage = DamageRegion(PixelRect(x: 400, y: 200, width: 5, height: 5))
        let shown = try decoded(decoder, try encoder.encode(third.replacing(second), keyframe: false))
        #expect(difference(shown, third, in: rect) < 40)
    }

    /// The bits of each of `count` pictures of noise from picture `start` on, 60 a second. Picture 90 is a keyframe.
    private func noise(_ encoder: VideoEncoder, from start: Int, count: Int) throws -> [Int] {
        let size = encoder.settings.size
        var generator = SeededGenerator(seed: UInt64(start + 7))
        // Bytes from 96 to 159.
        let (low, base): (UInt64, UInt64) = (0x3f3f_3f3f_3f3f_3f3f, 0x6060_6060_6060_6060)
        let buffer = PixelBuffer(format: .i420, size: size)
        return try (start..<start + count).map { number in
            for plane in 0..<3 {
                for y in 0..<buffer.format.plane(plane, of: size).rows {
                    buffer.row(plane, y).withMemoryRebound(to: UInt64.self) { row in
                        for x in row.indices { row[x] = (generator.next() & low) + base }
                    }
                }
            }
            let time = MediaTime(nanoseconds: Int64(number) * 1_000_000_000 / 60)
            let frame = try encoder.encode(Picture(buffer: buffer, time: time), keyframe: number == 90)
            return try #require(frame).unit.bytes.count * 8
        }
    }

    /// Each picture is new noise; picture 90 is a keyframe.
    @Test(arguments: [2_000_000, 5_000_000]) func theBitsOfAnyHalfSecondAreBounded(_ bitRate: Int) throws {
        let size = PixelSize(width: 320, height: 176)
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 60, bitRate: bitRate))
        let bits = try noise(encoder, from: 0, count: 180)
        for start in 0...150 {
            let window = bits[start..<start + 30].reduce(0, +)
            // The rate of half a second, a bucket of half a second, and 10 %.
            #expect(window <= bitRate * 11 / 10, "from picture \(start)")
        }
        let second = bits[120...].reduce(0, +)
        #expect((bitRate * 7 / 10...bitRate * 12 / 10).contains(second))
    }

    @Test func aLowerRateIsKeptFromTheNextFrameOn() throws {
        let size = PixelSize(width: 320, height: 176)
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 60, bitRate: 20_000_000))
        let before = try noise(encoder, from: 0, count: 60).suffix(6).reduce(0, +)
        encoder.setRate(2_000_000, isPathBound: false)
        let after = try noise(encoder, from: 60, count: 24)
        let share = 2_000_000 / 60
        let (first, all) = (after.prefix(6).reduce(0, +), after.reduce(0, +))
        #expect(first * 4 < before)
        #expect(first < share * 12)
        #expect(all < share * 36)
        #expect(after.allSatisfy { $0 < share * 4 })
        // A higher rate is used after half a second.
        encoder.setRate(20_000_000, isPathBound: false)
        let again = try noise(encoder, from: 84, count: 60).suffix(30).reduce(0, +)
        #expect(again > 6_000_000)
    }

    @Test func aStillPictureIsRefinedTo46dB() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 600_000))
        let decoder = try VideoDecoder()
        var picture = MovingContent(size).picture(0)
        var shown = try decoded(decoder, try encoder.encode(picture, keyframe: true))
        #expect(!encoder.isRefined)
        var quality = [PictureQuality.psnr(shown.buffer, picture.buffer)]
        // 40 × 50 ms at rest.
        for _ in 0..<40 {
            picture.time = picture.time + .milliseconds(50)
            guard let frame = try encoder.refine(picture) else { continue }
            #expect(!frame.isKeyframe && frame.captureTime == picture.time)
            shown = try decoded(decoder, frame)
            quality.append(PictureQuality.psnr(shown.buffer, picture.buffer))
        }
        #expect(quality.count > 1)
        #expect(quality == quality.sorted())
        #expect((quality.last ?? 0) >= 46)
        #expect(encoder.isRefined)
        #expect(try encoder.refine(picture) == nil)

        // A small change leaves the rest as it is, and is sharp at once.
        let rect = PixelRect(x: 320, y: 160, width: 16, height: 16)
        let next = changed(picture, rect, damage: DamageRegion(rect), number: 200)
        let after = try decoded(decoder, try encoder.encode(next, keyframe: false))
        #expect(difference(after, shown, in: PixelRect(x: 0, y: 0, width: 640, height: 160)) == 0)
        #expect(PictureQuality.psnr(after.buffer, next.buffer) >= 46)
    }

    @Test(arguments: [(600_000, false, 60_000), (1_000_000, true, 20_000)])
    func refinementKeepsToItsBudget(rate: Int, isPathBound: Bool, budget: Int) throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: rate))
        encoder.setRate(rate, isPathBound: isPathBound)
        var picture = MovingContent(size).picture(0)
        _ = try encoder.encode(picture, keyframe: true)
        var frames = 0
        for _ in 0..<200 where !encoder.isRefined {
            picture.time = picture.time + .milliseconds(100)
            guard let unit = try encoder.refine(picture, budget: budget)?.unit else { continue }
            frames += 1
            #expect(unit.bytes.count * 8 < budget * 5 / 2)
        }
        #expect(frames > 1)
        #expect(encoder.isRefined)
    }

    @Test func nothingIsRefinedBeforeTheFirstPicture() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30))
        #expect(try encoder.refine(MovingContent(size).picture(0)) == nil)
        #expect(throws: CodecError.self) {
            try encoder.refine(MovingContent(PixelSize(width: 322, height: 180)).picture(0))
        }
    }

    private static let other = VideoEncoder.workingEncoders().first { $0 != "libx264" }

    @Test(.enabled(if: other != nil, "no encoder of libavcodec starts here but libx264"))
    func otherEncodersDoNotRefine() throws {
        let encoder = try VideoEncoder(EncoderSettings(name: Self.other, size: size, frameRate: 30))
        try #require(encoder.name != "libx264")
        #expect(encoder.isRefined)
        #expect(try encoder.refine(MovingContent(size).picture(0)) == nil)
    }
}
