import BeamCodec
import BeamMedia
import BeamPixels
import Testing

@Suite struct VideoDecoderTests {
    private let content = MovingContent(PixelSize(width: 320, height: 180))

    @Test func newParameterSetsAreTakenAtAnyTime() throws {
        let decoder = try VideoDecoder()
        for size in [(320, 180), (641, 363), (64, 64), (320, 180)].map({ PixelSize(width: $0.0, height: $0.1) }) {
            for unit in try MovingContent(size).coded(3) { #expect(try decoder.decode(unit)?.size == size) }
        }
    }

    @Test func nothingIsDecodedBeforeAKeyframe() throws {
        let units = try content.coded(6, keyframes: [4])
        let decoder = try VideoDecoder()
        #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[1]) }
        #expect(try decoder.decode(units[0]) != nil)
        #expect(try decoder.decode(units[1]) != nil)
        decoder.flush()
        #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[2]) }
        #expect(try decoder.decode(units[4]) != nil)
        #expect(try decoder.decode(units[5]) != nil)
    }

    @Test func afterDamageNothingIsShownUntilAKeyframe() throws {
        let units = try content.coded(8, keyframes: [5])
        let decoder = try VideoDecoder()
        #expect(try decoder.decode(units[0]) != nil)
        var cut = units[1]
        cut.range = cut.range.lowerBound..<cut.range.upperBound - 3
        #expect(throws: CodecError.self) { try decoder.decode(cut) }
        for number in 1..<5 { #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[number]) } }
        for number in 5..<8 { #expect(try decoder.decode(units[number]) != nil) }
    }

    /// The NAL lengths add up, but the last slice is damaged or missing.
    @Test func damageInsideAFrameIsNoticed() throws {
        let units = try MovingContent(PixelSize(width: 640, height: 360)).coded(2)
        let last = try #require(units[1].nalUnits.last)
        let start = units[1].bytes.count - last.size - 4
        var missing = units[1]
        missing.range = 0..<start
        var halved = units[1]
        let half = last.size / 2
        halved.bytes.replaceSubrange(
            start..<start + 4, with: [0, UInt8(half >> 16), UInt8(half >> 8 & 0xff), UInt8(half & 0xff)])
        halved.range = 0..<start + 4 + half
        for damaged in [missing, halved] {
            let decoder = try VideoDecoder()
            #expect(try decoder.decode(units[0]) != nil)
            #expect(throws: CodecError.self) { try decoder.decode(damaged) }
            #expect(try decoder.decode(units[0]) != nil)
            #expect(try decoder.decode(units[1]) != nil)
        }
    }

    @Test func aMissingFrameIsNoticed() throws {
        let units = try content.coded(6)
        let decoder = try VideoDecoder()
        #expect(try decoder.decode(units[0]) != nil)
        #expect(try decoder.decode(units[1]) != nil)
        #expect(throws: CodecError.self) { try decoder.decode(units[3]) }
        #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[4]) }
    }

    @Test func anImplausibleSizeInTheHeaderIsIgnored() throws {
        for said in [(1, 1), (320, 178), (322, 180), (65535, 65535), (0, 0)] {
            var unit = try content.coded(1)[0]
            unit.size = PixelSize(width: said.0, height: said.1)
            #expect(try VideoDecoder().decode(unit)?.size == content.size)
        }
        var unit = try content.coded(1)[0]
        unit.size = PixelSize(width: 319, height: 179)
        #expect(try VideoDecoder().decode(unit)?.size == unit.size)
    }

    @Test func keyframesWithoutParameterSetsUseTheEarlierOnes() throws {
        let units = try content.coded(3, keyframes: [2])
        var bare = units[2]
        bare.parameterSets = nil
        #expect(throws: CodecError.self) { try VideoDecoder().decode(bare) }
        let decoder = try VideoDecoder()
        #expect(try decoder.decode(units[0]) != nil)
        #expect(try decoder.decode(bare) != nil)
    }

    /// Fuzz body: for any unit the decoder throws or shows a picture, and it works again with the next keyframe.
    @Test func `Fuzz: damaged access units`() throws {
        let units = try content.coded(6)
        for threads in [1, 4] {
            let decoder = try VideoDecoder(threads: threads)
            for seed in fuzzSeeds(60) {
                var generator = SeededGenerator(seed: seed)
                decoder.flush()
                for unit in units {
                    var damaged = unit
                    if Bool.random(using: &generator) { Self.damage(&damaged, &generator) }
                    if let picture = try? decoder.decode(damaged) { Self.touch(picture) }
                }
                #expect(try decoder.decode(units[0])?.size == content.size, "seed \(seed), \(threads) threads")
            }
        }
    }

    private static func damage(_ unit: inout AccessUnit, _ generator: inout SeededGenerator) {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
            unit.range = 0..<Int.random(in: 0...unit.bytes.count, using: &generator)
        case 1:
            let first = Int.random(in: 0...unit.bytes.count, using: &generator)
            unit.range = first..<unit.bytes.count
        case 2:
            unit.bytes = (0..<Int.random(in: 0..<400, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            unit.range = 0..<unit.bytes.count
        case 3 where unit.parameterSets != nil:
            guard var sets = unit.parameterSets else { return }
            sets.sps[0][Int.random(in: 0..<sets.sps[0].count, using: &generator)] ^=
                1 << UInt8.random(in: 0..<8, using: &generator)
            if Bool.random(using: &generator) {
                sets.pps[0][Int.random(in: 0..<sets.pps[0].count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            unit.parameterSets = sets
        default:
            // Behind the first length, so that the lengths stay right and the decoder sees the damage.
            for _ in 0...Int.random(in: 0..<8, using: &generator) {
                let place = Int.random(in: 4..<unit.bytes.count, using: &generator)
                unit.bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
        }
    }

    /// Reads every byte of the picture: all of it must be readable memory.
    private static func touch(_ picture: Picture) {
        var sum = 0
        for plane in 0..<picture.format.planeCount {
            for y in 0..<picture.format.plane(plane, of: picture.size).rows {
                let row = picture.buffer.row(plane, y)
                sum &+= Int(row[0]) &+ Int(row[row.count - 1])
            }
        }
        #expect(sum >= 0)
    }
}
