import BeamMedia
import Testing

@testable import BeamCodec

/// Limits on a stream's parameter sets, checked before libavcodec gets them.
struct StreamBoundsTests {
    /// Writes a sequence parameter set, bit by bit.
    private struct SetWriter {
        private var bits: [Bool] = []

        mutating func bits(_ count: Int, _ value: UInt32) {
            for shift in (0..<count).reversed() { bits.append(value >> UInt32(shift) & 1 == 1) }
        }

        /// An ue(v) (H.264 clause 9.1).
        mutating func number(_ value: UInt32) {
            let code = UInt64(value) + 1
            let length = 64 - code.leadingZeroBitCount
            bits(length - 1, 0)
            for shift in (0..<length).reversed() { bits.append(code >> UInt64(shift) & 1 == 1) }
        }

        /// With the stop bit and emulation prevention bytes.
        var unit: [UInt8] {
            var all = bits + [true]
            while all.count % 8 != 0 { all.append(false) }
            var bytes: [UInt8] = [0x67]
            for start in stride(from: 0, to: all.count, by: 8) {
                let byte = all[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
                if byte <= 3, bytes.suffix(2) == [0, 0] { bytes.append(3) }
                bytes.append(byte)
            }
            return bytes
        }
    }

    private struct Wanted {
        var profile: UInt32 = 77
        var chroma: UInt32 = 1
        var depth: UInt32 = 8
        var references: UInt32 = 1
        var width: UInt32 = 120
        var height: UInt32 = 68
        var cropBottom: UInt32 = 4
        var hasMatrices = false
        /// `max_num_reorder_frames` and `max_dec_frame_buffering`.
        var restriction: (UInt32, UInt32)?
    }

    private func set(_ wanted: Wanted) -> [UInt8] {
        var writer = SetWriter()
        writer.bits(8, wanted.profile)
        writer.bits(8, 0)
        writer.bits(8, 51)
        writer.number(0)
        if wanted.profile >= 100 {
            writer.number(wanted.chroma)
            if wanted.chroma == 3 { writer.bits(1, 0) }
            writer.number(wanted.depth - 8)
            writer.number(wanted.depth - 8)
            writer.bits(1, 0)
            writer.bits(1, wanted.hasMatrices ? 1 : 0)
            for matrix in 0..<(wanted.hasMatrices ? wanted.chroma == 3 ? 12 : 8 : 0) {
                writer.bits(1, matrix == 1 ? 0 : 1)
                guard matrix != 1 else { continue }
                // One list ends at once (`delta_scale` −8), the others are whole.
                let count = matrix == 0 ? 1 : matrix < 6 ? 16 : 64
                for _ in 0..<count { writer.number(matrix == 0 ? 16 : 0) }
            }
        }
        writer.number(0)
        writer.number(0)
        writer.number(4)
        writer.number(wanted.references)
        writer.bits(1, 0)
        writer.number(wanted.width - 1)
        writer.number(wanted.height - 1)
        writer.bits(1, 1)
        writer.bits(1, 1)
        writer.bits(1, 1)
        for crop in [0, 0, 0, wanted.cropBottom] { writer.number(crop) }
        writer.bits(1, wanted.restriction == nil ? 0 : 1)
        guard let (reordered, buffered) = wanted.restriction else { return writer.unit }
        writer.bits(1, 1)
        writer.bits(8, 255)
        writer.bits(32, 0x0001_0001)
        writer.bits(1, 0)
        writer.bits(1, 1)
        writer.bits(4, 10)
        writer.bits(1, 1)
        writer.bits(24, 0x01_01_01)
        writer.bits(1, 0)
        writer.bits(1, 1)
        writer.bits(32, 1)
        writer.bits(32, 120)
        writer.bits(1, 1)
        writer.bits(1, 1)
        writer.number(0)
        writer.bits(8, 0)
        writer.number(100)
        writer.number(100)
        writer.bits(1, 1)
        writer.bits(20, 0)
        writer.bits(1, 0)
        writer.bits(1, 0)
        writer.bits(1, 0)
        writer.bits(1, 1)
        writer.bits(1, 1)
        for value in [0, 0, 16, 16, reordered, buffered] { writer.number(value) }
        return writer.unit
    }

    private func unit(_ set: [UInt8], avcc: [UInt8] = [0, 0, 0, 2, 0x65, 0x88]) -> AccessUnit {
        AccessUnit(
            bytes: avcc, isKeyframe: true, parameterSets: ParameterSets(sps: [set], pps: [[0x68, 0xEE, 0x3C, 0x80]]),
            size: PixelSize(width: 64, height: 64))
    }

    @Test func theFieldsOfASetAreRead() throws {
        let plain = try #require(SequenceParameterSet(set(Wanted())[...]))
        #expect(
            plain.codedSize == PixelSize(width: 1920, height: 1088)
                && plain.size == PixelSize(width: 1920, height: 1080))
        #expect(plain.references == 1 && plain.bitDepth == 8 && plain.chromaFormat == 1 && plain.buffered == nil)
        for profile: UInt32 in [77, 100, 244] {
            for hasMatrices in [false, true] where profile > 77 || !hasMatrices {
                let wanted = Wanted(
                    profile: profile, chroma: profile == 244 ? 3 : 1, references: 5, cropBottom: profile == 244 ? 8 : 4,
                    hasMatrices: hasMatrices, restriction: (2, 6))
                let read = try #require(SequenceParameterSet(set(wanted)[...]), "\(profile) \(hasMatrices)")
                #expect(read.size == PixelSize(width: 1920, height: 1080) && read.references == 5)
                #expect(read.reordered == 2 && read.buffered == 6 && read.chromaFormat == wanted.chroma)
            }
        }
        // Any truncated set is refused or read, and nothing behind its end is read.
        let whole = set(Wanted(profile: 100, restriction: (0, 1)))
        for length in 0..<whole.count - 1 { #expect(SequenceParameterSet(whole[..<length]) == nil) }
    }

    @Test func streamsThatTakeTooMuchMemoryAreRefused() throws {
        func verdict(_ wanted: Wanted, _ largest: PixelSize? = nil) -> CodecError? {
            do {
                try (largest.map { StreamBounds(largest: $0) } ?? StreamBounds()).check(unit(set(wanted)))
                return nil
            } catch { return error }
        }
        func isBeyond(_ error: CodecError?) -> Bool { if case .streamBeyondBounds = error { true } else { false } }
        // 8192 × 4352 with 16 references made libavcodec take 1.25 GB.
        #expect(isBeyond(verdict(Wanted(references: 16, width: 512, height: 272, cropBottom: 0))))
        #expect(isBeyond(verdict(Wanted(references: 1, width: 512, height: 272, cropBottom: 0))))
        let huge = PixelSize(width: 8192, height: 4352)
        #expect(verdict(Wanted(references: 1, width: 512, height: 272, cropBottom: 0), huge) == nil)
        #expect(isBeyond(verdict(Wanted(references: 16, width: 512, height: 272, cropBottom: 0), huge)))
        // Sizes that iPhones and our own encoders send.
        for (width, height): (UInt32, UInt32) in [(120, 68), (240, 135), (256, 160), (256, 256), (81, 176)] {
            for references: UInt32 in 0...4 {
                #expect(verdict(Wanted(references: references, width: width, height: height)) == nil)
            }
        }
        // Screens side by side: 5120 × 1440, 5760 × 1080, 7680 × 2160; and the widest.
        for (width, height): (UInt32, UInt32) in [(320, 90), (360, 68), (480, 135), (512, 128), (128, 512)] {
            for references: UInt32 in 0...4 {
                #expect(verdict(Wanted(references: references, width: width, height: height, cropBottom: 0)) == nil)
            }
            #expect(isBeyond(verdict(Wanted(references: 16, width: width, height: height, cropBottom: 0))))
        }
        #expect(isBeyond(verdict(Wanted(width: 512, height: 132, cropBottom: 0))))
        #expect(isBeyond(verdict(Wanted(width: 514, height: 16, cropBottom: 0))))
        #expect(verdict(Wanted(references: 16)) == nil)
        #expect(isBeyond(verdict(Wanted(references: 16, width: 256, height: 144))))
        #expect(isBeyond(verdict(Wanted(profile: 244, chroma: 3, references: 16, width: 240, height: 135))))
        // A small picture cropped from a large one.
        #expect(isBeyond(verdict(Wanted(width: 256, height: 272, cropBottom: 2000))))
        #expect(isBeyond(verdict(Wanted(restriction: (12, 16)))))
        #expect(isBeyond(verdict(Wanted(width: 256, height: 144, restriction: (0, 16)))))
        if case .unsupportedStream = verdict(Wanted(profile: 110, depth: 10)) {} else { Issue.record("10 bits") }
        let small = PixelSize(width: 1280, height: 720)
        let refusal = try #require(verdict(Wanted(), small))
        #expect(isBeyond(refusal) && refusal.description.contains("--max-picture 1920x1080"))
        // No option takes this.
        let wide = try #require(verdict(Wanted(width: 514, height: 16, cropBottom: 0), small))
        #expect(isBeyond(wide) && !wide.description.contains("--max-picture"))
    }

    /// Libavcodec applies every set in the stream, wherever it is.
    @Test func setsAreFoundAnywhereInTheFrame() throws {
        let hostile = set(Wanted(references: 16, width: 512, height: 272, cropBottom: 0))
        let decent = set(Wanted())
        let slice: [UInt8] = [0, 0, 0, 2, 0x65, 0x88]
        func framed(_ unit: [UInt8]) -> [UInt8] { [0, 0, 0, UInt8(unit.count)] + unit }
        let bounds = StreamBounds()
        try bounds.check(unit(decent, avcc: framed(decent) + slice))
        for avcc in [framed(hostile) + slice, slice + framed(hostile), framed([0x27] + hostile.dropFirst()) + slice] {
            #expect(throws: CodecError.self) { try bounds.check(unit(decent, avcc: avcc)) }
        }
        // Inside another unit, behind a start code that libavcodec would split at.
        for hidden in [[6, 5, 0, 0, 1] + hostile, [6, 0, 0, 0, 1] + hostile, [0x65, 0x88, 0, 0, 0, 0, 1] + hostile] {
            #expect(throws: CodecError.damagedFrame(reason: "a NAL unit has a start code inside")) {
                try bounds.check(unit(decent, avcc: framed(hidden) + slice))
            }
            #expect(throws: CodecError.self) { try bounds.check(unit(decent + hidden.dropFirst())) }
        }
    }

    /// A decoder that has refused a stream decodes the next one.
    @Test func aDecoderWorksAfterRefusingAStream() throws {
        let units = try MovingContent(PixelSize(width: 320, height: 180)).coded(2)
        let decoder = try VideoDecoder(bounds: StreamBounds(largest: PixelSize(width: 400, height: 300)))
        var hostile = units[0]
        hostile.parameterSets?.sps = [set(Wanted(references: 16, width: 512, height: 272, cropBottom: 0))]
        for _ in 0..<3 {
            #expect(try decoder.decode(units[0]) != nil)
            do {
                _ = try decoder.decode(hostile)
                Issue.record("it was decoded")
            } catch CodecError.streamBeyondBounds {}
            #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[1]) }
        }
        let large = try MovingContent(PixelSize(width: 640, height: 360)).coded(1)
        #expect(throws: CodecError.self) { try decoder.decode(large[0]) }
    }

    @Test func anySetIsReadOrRefused() {
        let golden = [
            set(Wanted()), set(Wanted(profile: 100, hasMatrices: true, restriction: (0, 1))),
            set(Wanted(profile: 244, chroma: 3, references: 4, hasMatrices: true, restriction: (0, 4))),
        ]
        for seed in fuzzSeeds(20_000) {
            var random = SeededGenerator(seed: seed)
            var bytes = golden[Int(random.next() % 3)]
            for _ in 0..<Int(random.next() % 6) {
                let place = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 4 {
                case 0: bytes[place] ^= 1 << UInt8(random.next() % 8)
                case 1: bytes[place] = [0, 0xFF, 1, 0x80][Int(random.next() % 4)]
                case 2 where bytes.count > 2: bytes.removeSubrange(place...)
                default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                }
                if bytes.isEmpty { bytes = [0x67] }
            }
            guard let read = SequenceParameterSet(bytes[...]) else { continue }
            let most = StreamBounds().mostReferences(read)
            #expect((1...16).contains(most) && read.references <= 16 && read.size.width <= read.codedSize.width)
            try? StreamBounds().check(unit(bytes))
        }
    }
}
