import BeamMedia
import BeamPixels
import Testing

@testable import BeamCodec

/// Disposable frames: without them, the other frames decode to the same pictures, bit for bit.
@Suite struct TemporalLayerTests {
    private static let size = PixelSize(width: 640, height: 360)

    private static func encoder(
        _ size: PixelSize = size, _ chroma: ChromaFormat = .subsampled, bitRate: Int? = nil
    ) throws -> VideoEncoder {
        let encoder = try VideoEncoder(
            EncoderSettings(name: "libx264", size: size, frameRate: 30, bitRate: bitRate, chroma: chroma))
        encoder.usesTemporalLayers = true
        return encoder
    }

    /// Decodes all frames; each one must give a picture at once.
    private static func decoded(_ frames: [ReceivedFrame], threads: Int = 1) throws -> [UInt32: Picture] {
        let decoder = try VideoDecoder(threads: threads)
        var pictures: [UInt32: Picture] = [:]
        for frame in frames {
            let picture: Picture = try #require(try decoder.decode(frame))
            pictures[frame.number] = picture
        }
        return pictures
    }

    private static func isEqual(_ a: PixelBuffer, _ b: PixelBuffer) -> Bool {
        guard a.format == b.format, a.size == b.size else { return false }
        return (0..<a.format.planeCount).allSatisfy { PictureQuality.psnr(a, b, plane: $0) == .infinity }
    }

    /// Drops the disposable frames that `isLeftOut` names, and compares the remaining pictures with those of the whole
    /// stream.
    private static func check(_ frames: [ReceivedFrame], leavingOut isLeftOut: (ReceivedFrame) -> Bool) throws {
        let whole = try decoded(frames)
        let kept = frames.filter { !$0.unit.isDisposable || !isLeftOut($0) }
        for (number, picture) in try decoded(kept) {
            let same = try #require(whole[number])
            #expect(isEqual(picture.buffer, same.buffer), "frame \(number)")
        }
        for unit in frames.map(\.unit) {
            // nal_ref_idc of every slice.
            let bytes = Array(unit.avcc)
            var offset = 0
            for slice in unit.nalUnits {
                #expect((bytes[offset + 4] & 0x60 == 0) == unit.isDisposable)
                offset += 4 + slice.size
            }
            #expect(offset == bytes.count)
        }
    }

    private static func picture(_ content: MovingContent, _ number: Int, _ chroma: ChromaFormat) -> Picture {
        let picture = content.picture(number)
        guard chroma == .full else { return picture }
        let buffer = PixelBuffer(format: .i444, size: content.size)
        for plane in 0..<3 {
            for y in 0..<content.size.height {
                buffer.row(plane, y).copyBytes(from: picture.buffer.row(0, (y + plane * 5) % content.size.height))
            }
        }
        return Picture(buffer: buffer, time: picture.time, number: picture.number)
    }

    /// 80 frames, so that `frame_num` with its 4 bits wraps around twice.
    @Test(arguments: [
        (size, ChromaFormat.subsampled), (PixelSize(width: 321, height: 183), .subsampled), (size, .full),
        (PixelSize(width: 321, height: 183), .full), (PixelSize(width: 48, height: 32), .subsampled),
    ])
    func everyDisposableFrameCanBeDropped(_ size: PixelSize, _ chroma: ChromaFormat) throws {
        let content = MovingContent(size)
        let encoder = try Self.encoder(size, chroma)
        #expect(encoder.supportsTemporalLayers && encoder.usesTemporalLayers)
        let frames = try (0..<80).map { number in
            let coded = try #require(
                try encoder.encode(Self.picture(content, number, chroma), keyframe: number == 40))
            return ReceivedFrame(coded.unit, number: number)
        }
        #expect(frames.map(\.unit.isDisposable) == (0..<80).map { $0 % 2 == 1 })
        #expect(frames.filter(\.isKeyframe).map(\.number) == [0, 40])
        try Self.check(frames) { _ in true }
    }

    /// Random: the mode's changes, keyframes, partial changes, refinement, and which disposable frames are dropped.
    @Test(arguments: 1...12) func anyDisposableFramesCanBeDropped(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let isPathBound = seed % 3 == 0
        let encoder = try Self.encoder(bitRate: isPathBound ? 2_000_000 : nil)
        encoder.setRate(encoder.settings.bitRate, isPathBound: isPathBound)
        let content = MovingContent(Self.size, seed: seed)
        let buffer = content.picture(0).buffer
        var frames: [ReceivedFrame] = []
        var time = MediaTime.zero
        func add(_ coded: EncodedFrame?) {
            if let coded { frames.append(ReceivedFrame(coded.unit, number: frames.count)) }
        }
        for step in 0..<90 {
            if random.next() % 12 == 0 { encoder.usesTemporalLayers.toggle() }
            time = time + .milliseconds(Int(20 + random.next() % 60))
            var damage = DamageRegion()
            for _ in 0..<random.next() % 4 {
                let rect = PixelRect(
                    x: Int(random.next() % 600), y: Int(random.next() % 330), width: Int(1 + random.next() % 300),
                    height: Int(1 + random.next() % 100)
                ).intersection(PixelRect(Self.size))
                let value = UInt8(16 + random.next() % 200)
                for y in rect.y..<rect.maxY {
                    let row = buffer.row(0, y)
                    for x in rect.x..<rect.maxX { row[x] = UInt8(truncatingIfNeeded: x &* y) % 40 &+ value }
                }
                damage.insert(rect)
            }
            let picture = Picture(buffer: buffer, time: time, damage: damage)
            add(try encoder.encode(picture, keyframe: step % 37 == 36))
            while random.next() % 3 == 0 {
                time = time + .milliseconds(100)
                var again = picture
                again.time = time
                add(try encoder.refine(again))
            }
        }
        let units = frames.map(\.unit)
        #expect(units.count { $0.isDisposable } > 10)
        #expect(zip(units, units.dropFirst()).allSatisfy { !$0.isDisposable || !$1.isDisposable })
        #expect(units.allSatisfy { !$0.isKeyframe || !$0.isDisposable })
        try Self.check(frames) { _ in true }
        try Self.check(frames) { _ in random.next() % 2 == 0 }
        // The last picture also matches the source.
        let last = try #require(try Self.decoded(frames)[UInt32(frames.count - 1)])
        #expect(PictureQuality.psnr(last.buffer, buffer) > 30)
    }

    private func changed(_ buffer: PixelBuffer, _ rect: PixelRect, number: Int) -> Picture {
        for y in rect.y..<rect.maxY {
            let row = buffer.row(0, y)
            for x in rect.x..<rect.maxX { row[x] = 251 - row[x] }
        }
        return Picture(buffer: buffer, time: MovingContent.time(number), damage: DamageRegion(rect))
    }

    /// The next frame doesn't refer to the disposable one, so it has to code that frame's changes again.
    @Test func theFrameAfterADisposableOneRepeatsItsChanges() throws {
        let encoder = try Self.encoder()
        let decoder = try VideoDecoder()
        let buffer = MovingContent(Self.size).picture(0).buffer
        _ = try decoder.decode(
            try #require(try encoder.encode(Picture(buffer: buffer, time: .zero), keyframe: true)).unit)
        for number in 0..<10 {
            let rects = [
                PixelRect(x: 32 + number, y: 48, width: 90, height: 70),
                PixelRect(x: 400, y: 200, width: 64, height: 64),
            ]
            let first = try #require(
                try encoder.encode(changed(buffer, rects[0], number: 2 * number), keyframe: false)
            ).unit
            let second = try #require(
                try encoder.encode(changed(buffer, rects[1], number: 2 * number + 1), keyframe: false)
            ).unit
            #expect(first.isDisposable && !second.isDisposable)
            let shown = try #require(try decoder.decode(second))
            #expect(PictureQuality.psnr(shown.buffer, buffer) >= 40)
        }
    }

    @Test func aFrameInWhichNothingChangesIsNotDisposable() throws {
        let encoder = try Self.encoder()
        var picture = MovingContent(Self.size).picture(0)
        _ = try encoder.encode(picture, keyframe: true)
        picture.damage = DamageRegion()
        #expect(try encoder.encode(picture, keyframe: false)?.unit.isDisposable == false)
    }

    /// Refinement after a disposable frame reaches the same quality, and never gets worse on the way.
    @Test(arguments: [(600_000, false), (1_500_000, true)])
    func aDisposableFrameAtRestIsRefinedTo46dB(rate: Int, isPathBound: Bool) throws {
        let encoder = try Self.encoder(bitRate: rate)
        encoder.setRate(rate, isPathBound: isPathBound)
        let content = MovingContent(Self.size)
        let decoders = [try VideoDecoder(), try VideoDecoder()]
        for number in 0..<6 {
            let unit = try #require(try encoder.encode(content.picture(number), keyframe: number == 0)).unit
            #expect(unit.isDisposable == (number % 2 == 1))
            for (index, decoder) in decoders.enumerated() where index == 0 || !unit.isDisposable {
                _ = try decoder.decode(unit)
            }
        }
        #expect(!encoder.isRefined)
        var picture = content.picture(5)
        var quality: [[Double]] = [[], []]
        for _ in 0..<200 where !encoder.isRefined {
            picture.time = picture.time + .milliseconds(50)
            guard let unit = try encoder.refine(picture)?.unit else { continue }
            #expect(!unit.isDisposable && !unit.isKeyframe)
            for (index, decoder) in decoders.enumerated() {
                let shown = try #require(try decoder.decode(unit))
                quality[index].append(PictureQuality.psnr(shown.buffer, picture.buffer))
            }
        }
        #expect(encoder.isRefined)
        #expect(quality[0].count > 1 && quality[0] == quality[1])
        // Where a part is coded again, luma may get 0.01 dB worse.
        #expect(zip(quality[0], quality[0].dropFirst()).allSatisfy { $1 > $0 - 0.1 })
        #expect((quality[0].last ?? 0) >= 46)
    }

    /// The encoder keeps two pictures; a decoder needs one.
    @Test(arguments: ChromaFormat.allCases) func aDecoderNeedsOneReference(_ chroma: ChromaFormat) throws {
        let encoder = try Self.encoder(Self.size, chroma)
        let unit = try #require(
            try encoder.encode(Self.picture(MovingContent(Self.size), 0, chroma), keyframe: true)
        ).unit
        let set = try #require(unit.parameterSets?.sps.first)
        let read = try #require(SequenceParameterSet(set[...]))
        #expect(read.references == 1 && read.buffered == 1 && read.reordered == 0)
    }

    @Test func withTheModeOffSliceHeadersAreTheLibrarys() throws {
        let content = MovingContent(Self.size)
        let encoder = try VideoEncoder(EncoderSettings(name: "libx264", size: Self.size, frameRate: 30))
        for number in 0..<20 {
            let unit = try #require(try encoder.encode(content.picture(number), keyframe: false)).unit
            #expect(!unit.isDisposable)
            guard number > 0 else { continue }
            // `frame_num` counts every frame, and the list of references is the default one.
            var bits = BitReader(unit.avcc.dropFirst(5))
            _ = (bits.unsigned(), bits.unsigned(), bits.unsigned())
            #expect(bits.bits(4) == UInt32(number % 16))
            #expect(bits.bits(2) == 0)
        }
    }

    @Test func otherEncodersMakeNoDisposableFrames() throws {
        let encoder = try LibAVEncoder(EncoderSettings(name: "libx264", size: Self.size, frameRate: 30))
        #expect(!encoder.supportsTemporalLayers)
        encoder.usesTemporalLayers = true
        #expect(!encoder.usesTemporalLayers)
        for number in 0..<4 {
            let frame = try encoder.encode(MovingContent(Self.size).picture(number), keyframe: false)
            #expect(frame?.unit.isDisposable == false)
        }
    }

    /// A recording without the disposable frames plays in other players.
    @Test(.enabled(if: Probe.isThere, "there is no ffprobe here"), arguments: ["mkv", "mp4"])
    func aRecordingWithoutDisposableFramesPlays(_ ending: String) throws {
        let directory = try TemporaryDirectory()
        let content = MovingContent(Self.size)
        let encoder = try Self.encoder()
        for (name, isWhole) in [("whole", true), ("half", false)] {
            let file = directory.file("\(name).\(ending)")
            let recorder = try StreamRecorder(path: file)
            var count = 0
            for number in 0..<60 {
                let unit = try #require(try encoder.encode(content.picture(number), keyframe: number == 0)).unit
                guard isWhole || !unit.isDisposable else { continue }
                try recorder.write(unit, at: MovingContent.time(number))
                count += 1
            }
            try recorder.finish()
            let result = try Probe.run(file, "-v", "warning", "-show_entries", "frame=pict_type")
            #expect(result.errors.isEmpty, "\(result.errors)")
            #expect(result.lines.count == count)
            let packets = try Probe.run(file, "-show_entries", "packet=flags")
            #expect(packets.lines.count == count && packets.errors.isEmpty)
        }
    }

    /// H.264 clause 7.4.1: payloads survive the round trip, and no unit contains a start code.
    @Test func emulationPreventionIsUndone() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            var payload = (0..<Int(random.next() % 40)).map { _ in
                UInt8(truncatingIfNeeded: random.next() % 5 == 0 ? random.next() : random.next() % 5)
            }
            if payload.last == 0 { payload.append(0x80) }
            var unit: [UInt8] = []
            payload.withUnsafeBufferPointer { NALUnits.append(payload: $0, to: &unit) }
            #expect(!zip(zip(unit, unit.dropFirst()), unit.dropFirst(2)).contains { $0.0 == 0 && $0.1 == 0 && $1 < 3 })
            var read: [UInt8] = []
            unit.withUnsafeBufferPointer { NALUnits.appendPayload(of: $0, to: &read) }
            #expect(read == payload)
        }
    }
}
