import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Exact patches on the wire, and how a viewer joins them.
struct PatchTests {
    private static func patch(_ bytes: Int, at time: Int64 = 5) -> ExactPatch {
        ExactPatch(
            content: (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7) },
            captureTime: MediaTime(nanoseconds: time * 1_000_000), pictureSize: PixelSize(width: 640, height: 360),
            isRepair: false)
    }

    /// The plaintexts of its datagrams.
    private static func plaintexts(
        _ patch: ExactPatch, number: UInt32 = 1, size: DatagramSize = .full
    ) throws -> [[UInt8]] {
        var memory: [UInt8] = []
        let length = try #require(
            try PatchDatagram.write(
                patch, number: number, size: size, sealedBy: DatagramSealer(key: .golden), to: &memory))
        var opener = DatagramOpener(key: .golden)
        return try stride(from: 0, to: length, by: size.length).map { start in
            let datagram = Array(memory[start..<min(start + size.length, length)])
            #expect(datagram.count <= size.length)
            let (opened, plaintext) = try opener.open(datagram)
            #expect(opened.kind == .patch)
            return plaintext
        }
    }

    private static func insert(
        _ bytes: [UInt8], _ assembly: inout PatchAssembly, at seconds: Double = 1
    ) throws(PatchDatagramError) -> PatchAssembly.Finished? {
        var result: Result<PatchAssembly.Finished?, PatchDatagramError> = .success(nil)
        bytes.withUnsafeBytes { bytes in
            do throws(PatchDatagramError) {
                result = .success(try assembly.insert(PatchDatagram(bytes), now: .at(seconds)))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    @Test func goldenBytes() throws {
        var small = Self.patch(3)
        small.content = [0xAA, 0xBB, 0xCC]
        #expect(
            try Self.plaintexts(small, number: 0x0102_0304) == [
                [1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x13, 0x88, 2, 0x80, 1, 0x68, 0, 0xAA, 0xBB, 0xCC]
            ])
        small.isRepair = true
        #expect(try Self.plaintexts(small, number: 1)[0][20] == 1)
    }

    @Test(arguments: [1, 1151, 1152, 5000, 262_144], DatagramSize.allCases)
    func aPatchArrivesInAnyOrder(length: Int, size: DatagramSize) throws {
        let patch = Self.patch(length)
        var parts = try Self.plaintexts(patch, size: size)
        var random = SeededGenerator(seed: UInt64(length))
        parts.shuffle(using: &random)
        var assembly = PatchAssembly()
        for (index, part) in parts.enumerated() {
            let finished = try Self.insert(part, &assembly)
            #expect((finished != nil) == (index == parts.count - 1))
            if let finished {
                #expect(finished.content == patch.content && finished.hostTime == 5000)
                #expect(finished.pictureSize == patch.pictureSize)
            }
            // The same again changes nothing.
            #expect(try Self.insert(part, &assembly) == nil)
        }
    }

    @Test func whatIsTooLongIsNotWritten() throws {
        var memory: [UInt8] = []
        let sealer = DatagramSealer(key: .golden)
        for patch in [Self.patch(0), Self.patch(PatchLimits.contentLength + 1)] {
            #expect(try PatchDatagram.write(patch, number: 0, size: .small, sealedBy: sealer, to: &memory) == nil)
        }
        var huge = Self.patch(1)
        huge.pictureSize.width = 65_536
        #expect(try PatchDatagram.write(huge, number: 0, size: .small, sealedBy: sealer, to: &memory) == nil)
    }

    @Test func malformedDatagramsAreRefused() throws {
        let good = try Self.plaintexts(Self.patch(2000))[0]
        var assembly = PatchAssembly()
        func refusal(_ change: (inout [UInt8]) -> Void) -> PatchDatagramError? {
            var bytes = good
            change(&bytes)
            do throws(PatchDatagramError) {
                _ = try Self.insert(bytes, &assembly)
                return nil
            } catch {
                return error
            }
        }
        for length in 0...20 { #expect(refusal { $0 = Array($0.prefix(length)) } == .length(length)) }
        #expect(refusal { $0 += [UInt8](repeating: 0, count: 400) } == .length(good.count + 400))
        #expect(refusal { $0[5] = 2 } == .part(2, of: 2))
        #expect(refusal { ($0[6], $0[7]) = (0, 0) } == .part(0, of: 0))
        #expect(refusal { $0[6] = 255 } == .part(0, of: 0xFF02))
        #expect(refusal { $0[8] = 255 } != nil)
        #expect(refusal { ($0[16], $0[17]) = (0, 0) } == .size(width: 0, height: 360))
        // The first part of the real one; then others that contradict it.
        #expect(refusal { _ in } == nil)
        #expect(refusal { $0[15] ^= 1 } == .contradiction)
        #expect(refusal { $0[19] ^= 1 } == .contradiction)
        #expect(refusal { ($0[5], $0[7]) = (1, 3) } == .contradiction)
        #expect(refusal { ($0[6], $0[7]) = (0, 1) } == .contradiction)
    }

    /// A peer that begins patches and never ends them.
    @Test func whatIsUnderWayIsBounded() throws {
        var assembly = PatchAssembly()
        let first = try Self.plaintexts(Self.patch(4000), number: 0)
        #expect(try Self.insert(first[0], &assembly) == nil)
        for number in 1...40 {
            let parts = try Self.plaintexts(Self.patch(4000), number: UInt32(number))
            #expect(try Self.insert(parts[0], &assembly) == nil)
        }
        // The oldest were dropped.
        for part in first.dropFirst() { #expect(try Self.insert(part, &assembly) == nil) }
        // And what is older than a second.
        let late = try Self.plaintexts(Self.patch(2000), number: 100)
        #expect(try Self.insert(late[0], &assembly, at: 2) == nil)
        #expect(try Self.insert(late[1], &assembly, at: 3.1) == nil)
        // Many large ones take no more than is allowed.
        for number in 200..<230 {
            for part in try Self.plaintexts(Self.patch(262_144), number: UInt32(number)).dropLast() {
                #expect(try Self.insert(part, &assembly, at: 4) == nil)
            }
        }
        let last = try Self.plaintexts(Self.patch(262_144), number: 229)
        #expect(try Self.insert(last[last.count - 1], &assembly, at: 4)?.content.count == 262_144)
    }

    /// What hasn't come is asked for some times, the newest first, and no more once it has come.
    @Test func whatIsMissingIsAskedFor() throws {
        var assembly = PatchAssembly()
        func change(_ number: UInt32, _ length: Int = 10) throws -> [[UInt8]] {
            try Self.plaintexts(Self.patch(length), number: number)
        }
        #expect(assembly.deadline == nil)
        assembly.announced(7, now: .at(1))
        #expect(assembly.deadline == nil)
        #expect(try Self.insert(change(8)[0], &assembly, at: 1) != nil)
        #expect(assembly.deadline == nil)
        let long = try change(11, 4000)
        #expect(long.count == 4)
        #expect(try Self.insert(long[2], &assembly, at: 1) == nil)
        #expect(assembly.deadline == .at(1.002) && assembly.takeRequests(now: .at(1.0019)).isEmpty)
        let first = assembly.takeRequests(now: .at(1.002))
        #expect(
            first == [
                .init(number: 11, parts: 0..<2), .init(number: 11, parts: 3..<4), .init(number: 10), .init(number: 9),
            ])
        #expect(assembly.deadline == .at(1.008))
        #expect(try Self.insert(change(9)[0], &assembly, at: 1.004) != nil)
        for part in [0, 1] { #expect(try Self.insert(long[part], &assembly, at: 1.004) == nil) }
        #expect(assembly.takeRequests(now: .at(1.01)) == [.init(number: 11, parts: 3..<4), .init(number: 10)])
        #expect(try Self.insert(long[3], &assembly, at: 1.01)?.content.count == 4000)
        for step in 1...5 {
            let asked = assembly.takeRequests(now: .at(1.01 + 0.02 * Double(step)))
            #expect(asked == (step < 4 ? [.init(number: 10)] : []), "\(step)")
        }
        #expect(assembly.deadline == nil)
        // The last one before a silence.
        assembly.announced(12, now: .at(2))
        #expect(assembly.takeRequests(now: .at(2.002)) == [.init(number: 12)])
        // A host that counts anew, or says anything.
        for number in [3, .max, 1 << 31, 500_000] as [UInt32] {
            assembly.announced(number, now: .at(3))
            #expect(assembly.takeRequests(now: .at(3.01)).count <= Feedback.mostMissingChanges)
        }
    }

    @Test func changesAreAskedForAsTheyWereWritten() {
        var asking = Feedback(layer: 0)
        asking.missingChanges = [.init(number: 0x0102_0304), .init(number: 9, parts: 3..<7)]
        let bytes = asking.plaintext
        #expect(bytes == [8, 16, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 9, 0, 3, 0, 4])
        #expect(bytes.count == asking.encodedLength && !asking.isEmpty)
        #expect(bytes.withUnsafeBytes { Feedback($0) } == asking)
        let many: [UInt8] = [8, 248] + [[UInt8]](repeating: [0, 1, 0, 1, 255, 255, 255, 255], count: 31).joined()
        #expect(many.withUnsafeBytes { Feedback($0) }.missingChanges.count == Feedback.mostMissingChanges)
    }

    @Test func tilesAreAskedForAsTheyWereWritten() {
        let feedback = Feedback(layer: 0)
        var asking = feedback
        asking.inexact = [TileRect(x: 1, y: 2, width: 3, height: 0x0405), TileRect(x: 0, y: 0, width: 1, height: 1)]
        let bytes = asking.plaintext
        #expect(bytes == [7, 16, 0, 1, 0, 2, 0, 3, 4, 5, 0, 0, 0, 0, 0, 1, 0, 1])
        #expect(bytes.count == asking.encodedLength && !asking.isEmpty && feedback.isEmpty)
        #expect(bytes.withUnsafeBytes { Feedback($0) } == asking)
        // Empty ones and those beyond what can be named end the list.
        for bad: [UInt8] in [[0, 0, 0, 0, 0, 0, 0, 1], [255, 255, 0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1, 0, 0]] {
            #expect(([7, 8] + bad).withUnsafeBytes { Feedback($0) }.inexact.isEmpty)
        }
        let many: [UInt8] = [7, 248] + [[UInt8]](repeating: [0, 1, 0, 1, 0, 1, 0, 1], count: 31).joined()
        let twice = (many + many).withUnsafeBytes { Feedback($0) }
        #expect(twice.inexact.count == Feedback.mostInexact)
    }
}

/// What frames say of the screen.
struct FrameChangesTests {
    private static let size = PixelSize(width: 200, height: 100)

    private static func unit(_ nals: [[UInt8]]) -> AccessUnit {
        var bytes: [UInt8] = []
        for nal in nals {
            bytes.append(bigEndian: UInt32(nal.count))
            bytes += nal
        }
        return AccessUnit(bytes: bytes, isKeyframe: false, parameterSets: nil, size: size)
    }

    private static let slice: [UInt8] = [0x41, 0x9A, 1, 2, 3]
    private static let said = FrameChanges(
        captureTime: 1000,
        changes: [
            FrameChanges.Change(rect: PixelRect(x: 16, y: 32, width: 32, height: 16), time: 0),
            FrameChanges.Change(rect: PixelRect(x: 192, y: 96, width: 8, height: 4), time: 1000),
        ])

    @Test func goldenBytes() {
        let unit = Self.said.inserted(into: Self.unit([Self.slice]))
        #expect(
            Array(unit.avcc) == [0, 0, 0, 69, 6, 5, 59]
                + [0x5c, 0x0e, 0x8f, 0x21, 0x6b, 0x0a, 0x4d, 0x6e, 0x9a, 0x3b, 0xd1, 0x47, 0x72, 0xe9, 0x05, 0xc8]
                + [1, 0, 0, 3, 0, 0, 0, 3, 0, 0, 3, 3, 0xE8, 0, 2] + [0, 16, 0, 32, 0, 32, 0, 16]
                + [0, 0, 3, 0, 0, 3, 0, 0, 3, 0, 0] + [0, 0xC0, 0, 0x60, 0, 8, 0, 4]
                + [0, 0, 3, 0, 0, 3, 0, 0, 3, 3, 0xE8] + [0x80] + [0, 0, 0, 5] + Self.slice
                || FrameChanges(unit) == Self.said)
        #expect(FrameChanges(unit) == Self.said)
        #expect(unit.bytes.suffix(9) == [0, 0, 0, 5] + Self.slice)
        // No two zeros are followed by less than 4 inside the unit.
        let nal = unit.bytes[4..<unit.bytes.count - 9]
        for index in nal.indices.dropLast(2) where nal[index] == 0 && nal[index + 1] == 0 {
            #expect(nal[index + 2] == 3)
        }
    }

    @Test func anyChangesAreReadAsTheyWereWritten() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            var said = FrameChanges(captureTime: UInt64.random(in: 0..<1 << 50, using: &random), changes: [])
            for _ in 0..<Int.random(in: 0...FrameChanges.most, using: &random) {
                let tiles = PixelRect(
                    x: Int.random(in: 0..<13, using: &random), y: Int.random(in: 0..<7, using: &random),
                    width: Int.random(in: 1...13, using: &random), height: Int.random(in: 1...7, using: &random))
                said.changes.append(
                    FrameChanges.Change(
                        rect: ExactTiles.pixels(of: tiles, in: Self.size),
                        time: UInt64.random(in: 0...said.captureTime, using: &random)))
            }
            #expect(FrameChanges(said.inserted(into: Self.unit([Self.slice]))) == said)
        }
    }

    @Test func whatIsMalformedSaysNothing() {
        #expect(FrameChanges(Self.unit([Self.slice])) == nil)
        #expect(FrameChanges(Self.unit([])) == nil)
        let good = Self.said.inserted(into: Self.unit([Self.slice]))
        // Behind a slice nobody looks, nor behind many units.
        let nal = Array(good.bytes[4..<good.bytes.count - 9])
        #expect(FrameChanges(Self.unit([Self.slice, nal])) == nil)
        #expect(FrameChanges(Self.unit([[9, 0x10], nal, Self.slice])) == Self.said)
        #expect(FrameChanges(Self.unit([[UInt8]](repeating: [9, 0x10], count: 8) + [nal])) == nil)
        for length in 0..<nal.count - 1 {
            #expect(FrameChanges(Self.unit([Array(nal.prefix(length)), Self.slice])) == nil)
        }
        // Changes off the grid, outside, empty, or later than the picture.
        for rect in [
            PixelRect(x: 1, y: 0, width: 16, height: 16), PixelRect(x: 0, y: 0, width: 208, height: 16),
            PixelRect(x: 0, y: 0, width: 0, height: 16), PixelRect(x: 0, y: 96, width: 16, height: 16),
        ] {
            var said = Self.said
            said.changes[0].rect = rect
            #expect(FrameChanges(said.inserted(into: Self.unit([Self.slice]))) == nil, "\(rect)")
        }
        var late = Self.said
        late.changes[0].time = 1001
        #expect(FrameChanges(late.inserted(into: Self.unit([Self.slice]))) == nil)
    }

    @Test func anyUnitIsReadWithinBounds() {
        let good = Self.said.inserted(into: Self.unit([[9, 0x10], Self.slice]))
        for seed in Fuzzing.seeds(20_000) {
            var mutator = Mutator(seed: seed)
            var unit = good
            unit.bytes = mutator.mutate(good.bytes, with: [good.bytes])
            unit.range = 0..<unit.bytes.count
            guard let said = FrameChanges(unit) else { continue }
            #expect(said.changes.count <= FrameChanges.most, "seed \(seed)")
            #expect(
                said.changes.allSatisfy {
                    ExactTiles.contains($0.rect, in: Self.size) && $0.time <= said.captureTime
                }, "seed \(seed)")
        }
    }

    @Test func anyPatchDatagramsAreJoinedWithinBounds() {
        for seed in Fuzzing.seeds(2000) {
            var mutator = Mutator(seed: seed)
            var assembly = PatchAssembly()
            var now = 1.0
            for _ in 0..<30 {
                var bytes = [UInt8](repeating: 0, count: 20)
                for index in [3, 5, 7, 15] { bytes[index] = UInt8.random(in: 0...2, using: &mutator.random) }
                (bytes[17], bytes[19]) = (64, 64)
                bytes += [UInt8](repeating: 1, count: Int.random(in: 1...60, using: &mutator.random))
                if mutator.random.chance(0.2) { bytes = mutator.mutate(bytes, with: [bytes]) }
                now += Double.random(in: 0...0.3, using: &mutator.random)
                bytes.withUnsafeBytes { bytes in
                    guard let datagram = try? PatchDatagram(bytes),
                        let finished = try? assembly.insert(datagram, now: .at(now))
                    else { return }
                    #expect(
                        !finished.content.isEmpty && finished.content.count <= PatchLimits.contentLength,
                        "seed \(seed)")
                }
            }
        }
    }
}
