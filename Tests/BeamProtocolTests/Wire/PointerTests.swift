import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Pointers on the wire, and what a viewer makes of them.
struct PointerTests {
    static func look(_ width: Int = 3, _ height: Int = 2, seed: UInt32 = 1) throws -> PointerLook {
        try #require(
            PointerLook(
                size: PixelSize(width: width, height: height), hotspot: PixelPoint(x: 1, y: -1),
                pixels: (0..<UInt32(width * height)).map { 0xff00_0000 | $0 &* 977 &+ seed }))
    }

    static func place(
        _ sequence: UInt32, look: UInt32 = 1, x: Int = 10, y: Int = 20,
        _ visibility: PointerPlace.Visibility = .shown
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        PointerPlace(
            sequence: SequenceNumber(sequence), visibility: visibility, look: look, point: PixelPoint(x: x, y: y),
            pictureSize: PixelSize(width: 640, height: 360)
        ).append(to: &bytes)
        return bytes
    }

    /// The plaintexts of a look's datagrams.
    static func parts(_ look: PointerLook, number: UInt32 = 1, size: DatagramSize = .full) throws -> [[UInt8]] {
        var memory: [UInt8] = []
        let length = try PointerLookPart.write(
            look, number: number, size: size, sealedBy: DatagramSealer(key: .golden), to: &memory)
        var opener = DatagramOpener(key: .golden)
        let segment = PointerLookPart.datagramLength(in: size)
        return try stride(from: 0, to: length, by: segment).map { start in
            let datagram = Array(memory[start..<min(start + segment, length)])
            #expect(datagram.count <= size.length)
            let (opened, plaintext) = try opener.open(datagram)
            #expect(opened.kind == .pointer)
            return plaintext
        }
    }

    @discardableResult static func insert(
        _ bytes: [UInt8], _ receiver: inout PointerReceiver, at seconds: Double = 1
    ) throws(PointerDatagramError) -> Bool {
        var result: Result<Bool, PointerDatagramError> = .success(false)
        bytes.withUnsafeBytes { bytes in
            do throws(PointerDatagramError) {
                result = .success(try receiver.insert(PointerDatagram(bytes), now: .at(seconds)))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    // MARK: Formats

    @Test func goldenBytes() throws {
        #expect(
            Self.place(0x0102_0304, look: 0x0A0B_0C0D, x: -2, y: 258) == [
                0, 1, 2, 3, 4, 2, 0x0A, 0x0B, 0x0C, 0x0D, 0xFF, 0xFF, 0xFF, 0xFE, 0, 0, 1, 2, 2, 0x80, 1, 0x68,
            ])
        #expect(Self.place(9, look: 0, x: 0, y: 0, .hidden)[5] == 1)
        #expect(Self.place(9, look: 0, x: 0, y: 0, .inPicture)[5] == 0)
        let look = try #require(
            PointerLook(
                size: PixelSize(width: 2, height: 1), hotspot: PixelPoint(x: 1, y: -1),
                pixels: [0x8040_2010, 0xff01_0203]))
        #expect(
            try Self.parts(look, number: 5) == [
                [1, 0, 0, 0, 5, 0, 2, 0, 1, 0, 1, 0xFF, 0xFF, 0, 0, 0x10, 0x20, 0x40, 0x80, 3, 2, 1, 0xff]
            ])
        var feedback = Feedback()
        feedback.look = 0x0102_0304
        #expect(feedback.plaintext == [9, 4, 1, 2, 3, 4] && feedback.encodedLength == 6 && !feedback.isEmpty)
        #expect(feedback.plaintext.withUnsafeBytes { Feedback($0) } == feedback)
        // Cut short: left out.
        #expect([UInt8]([9, 3, 1, 2, 3]).withUnsafeBytes { Feedback($0) }.look == nil)
    }

    @Test(arguments: [(1, 1), (24, 24), (128, 128), (17, 1)], DatagramSize.allCases)
    func aLookArrivesInAnyOrder(_ size: (Int, Int), datagram: DatagramSize) throws {
        let look = try Self.look(size.0, size.1)
        var parts = try Self.parts(look, size: datagram)
        var random = SeededGenerator(seed: UInt64(size.0))
        parts.shuffle(using: &random)
        var receiver = PointerReceiver()
        // Without a look there is nothing to show.
        try Self.insert(Self.place(0), &receiver)
        #expect(receiver.pointer == .hidden)
        for (index, part) in parts.enumerated() {
            #expect(try Self.insert(part, &receiver) == (index == parts.count - 1))
            // The same again changes nothing.
            #expect(try !Self.insert(part, &receiver))
        }
        let expected = ScreenPointer.shown(
            look, at: PixelPoint(x: 10, y: 20), in: PixelSize(width: 640, height: 360))
        #expect(receiver.pointer == expected && receiver.deadline == nil)
    }

    @Test func aLookHasBounds() {
        let hotspot = PixelPoint(x: 0, y: 0)
        for (width, height) in [(0, 1), (1, 0), (129, 1), (1, 129), (-1, 1)] {
            #expect(
                PointerLook(
                    size: PixelSize(width: width, height: height), hotspot: hotspot,
                    pixels: Array(repeating: 0, count: abs(width * height))) == nil)
        }
        #expect(PointerLook(size: PixelSize(width: 2, height: 2), hotspot: hotspot, pixels: [1, 2, 3]) == nil)
    }

    @Test func malformedPlacesAreRefused() throws {
        var receiver = PointerReceiver()
        func refusal(_ change: (inout [UInt8]) -> Void) -> PointerDatagramError? {
            var bytes = Self.place(7)
            change(&bytes)
            do throws(PointerDatagramError) {
                try Self.insert(bytes, &receiver)
                return nil
            } catch {
                return error
            }
        }
        for length in 0...21 { #expect(refusal { $0 = Array($0.prefix(length)) } == .length(length)) }
        #expect(refusal { $0 += [UInt8](repeating: 0, count: 1500) } == .length(1522))
        #expect(refusal { $0[0] = 2 } == .form(2))
        #expect(refusal { $0[5] = 3 } == .visibility(3))
        #expect(refusal { ($0[18], $0[19]) = (0, 0) } == .pictureSize(width: 0, height: 360))
        #expect(refusal { ($0[20], $0[21]) = (0, 0) } == .pictureSize(width: 640, height: 0))
        for end in [Int32.min, .max, 131_073, -131_073] {
            let bytes = withUnsafeBytes(of: end.bigEndian) { Array($0) }
            #expect(refusal { $0.replaceSubrange(10..<14, with: bytes) } == .place(x: end, y: 20))
            #expect(refusal { $0.replaceSubrange(14..<18, with: bytes) } == .place(x: 10, y: end))
        }
        #expect(receiver.pointer == .inPicture)
        // Of a pointer that isn't shown, its place means nothing; bytes of a later version are ignored.
        #expect(refusal { ($0[5], $0[18], $0[19], $0[10]) = (1, 0, 0, 0x80) } == nil)
        #expect(refusal { $0 += [1, 2, 3] } == nil)
        // What a host can't say is at the nearest place.
        #expect(Self.place(1, x: .max, y: .min)[10..<18] == [0, 2, 0, 0, 0xFF, 0xFE, 0, 0])
    }

    @Test func malformedLooksAreRefused() throws {
        let good = try Self.parts(Self.look(24, 24))[0]
        var receiver = PointerReceiver()
        func refusal(_ change: (inout [UInt8]) -> Void) -> PointerDatagramError? {
            var bytes = good
            change(&bytes)
            do throws(PointerDatagramError) {
                try Self.insert(bytes, &receiver)
                return nil
            } catch {
                return error
            }
        }
        for length in [1, 14, 15, 16, 18, 20] {
            #expect(refusal { $0 = Array($0.prefix(length)) } == .length(length))
        }
        #expect(refusal { ($0[5], $0[6]) = (0, 0) } == .lookSize(width: 0, height: 24))
        #expect(refusal { ($0[7], $0[8]) = (0, 129) } == .lookSize(width: 24, height: 129))
        #expect(refusal { ($0[5], $0[6]) = (0xFF, 0xFF) } == .lookSize(width: 65_535, height: 24))
        #expect(refusal { ($0[9], $0[10]) = (0x80, 0) } == .hotspot(x: .min, y: -1))
        #expect(refusal { ($0[11], $0[12]) = (0x10, 1) } == .hotspot(x: 1, y: 4097))
        #expect(refusal { ($0[13], $0[14]) = (0xFF, 0xFF) } == .pixels(65_535..<65_535 + 289, of: 576))
        #expect(refusal { ($0[7], $0[8]) = (0, 12) } == .pixels(0..<289, of: 288))
        // Of the same number, and of another size or hotspot.
        #expect(refusal { _ in } == nil)
        #expect(refusal { ($0[5], $0[6]) = (0, 25) } == .contradiction)
        #expect(refusal { ($0[9], $0[10]) = (0, 2) } == .contradiction)
    }

    // MARK: What is shown

    @Test func theNewestPlaceCounts() throws {
        var receiver = PointerReceiver()
        try Self.insert(Self.parts(Self.look())[0], &receiver)
        func x() -> Int? { if case .shown(_, let point, _) = receiver.pointer { point.x } else { nil } }
        // The numbers wrap around.
        for (sequence, x1, expected) in [
            (UInt32.max - 1, 1, 1), (.max, 2, 2), (.max - 1, 3, 2), (.max, 3, 2), (0, 4, 4), (2, 5, 5), (1, 6, 5),
        ] {
            try Self.insert(Self.place(sequence, x: x1), &receiver)
            #expect(x() == expected)
        }
        #expect(try Self.insert(Self.place(3, .hidden), &receiver) && receiver.pointer == .hidden)
        #expect(try Self.insert(Self.place(4, .inPicture), &receiver) && receiver.pointer == .inPicture)
    }

    @Test func aLookThatIsLackingIsAskedForSeldom() throws {
        var receiver = PointerReceiver()
        let first = try Self.look()
        try Self.insert(Self.parts(first)[0], &receiver)
        try Self.insert(Self.place(0), &receiver)
        #expect(receiver.deadline == nil)
        // The last look stands for it meanwhile.
        try Self.insert(Self.place(1, look: 2), &receiver, at: 2)
        #expect(
            receiver.pointer
                == .shown(first, at: PixelPoint(x: 10, y: 20), in: PixelSize(width: 640, height: 360)))
        var asked: [Double] = []
        while let deadline = receiver.deadline, deadline < .at(20) {
            #expect(receiver.takeRequest(now: deadline - .nanoseconds(1)) == nil)
            #expect(receiver.takeRequest(now: deadline) == 2)
            asked.append(deadline.seconds)
        }
        #expect(abs((asked.first ?? 0) - 2.02) < 0.001)
        #expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 > 0.0999 } && asked.count < 30)
        try Self.insert(Self.parts(Self.look(seed: 5), number: 2)[0], &receiver, at: 20)
        #expect(receiver.deadline == nil)
        // Nothing is lacking of a pointer that isn't shown.
        try Self.insert(Self.place(2, look: 77, .hidden), &receiver, at: 21)
        #expect(receiver.deadline == nil)
    }

    /// A pointer whose looks follow one another faster than they are waited for.
    @Test func aLookIsAskedForWhileThePointerIsAnimated() throws {
        var receiver = PointerReceiver()
        var asked = 0
        for step in 0..<200 {
            let now = 1 + Double(step) * 0.01
            try Self.insert(Self.place(UInt32(step), look: UInt32(step % 20)), &receiver, at: now)
            if receiver.takeRequest(now: .at(now)) != nil { asked += 1 }
        }
        #expect((4...30).contains(asked), "\(asked)")
    }

    @Test func aMillionLooksTakeLittle() throws {
        var receiver = PointerReceiver()
        let large = try Self.parts(Self.look(128, 128))
        let small = try Self.parts(Self.look(24, 24))
        var number: UInt32 = 0
        func numbered(_ part: [UInt8]) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { part[..<1] + Array($0) + part[5...] }
        }
        // Of most, something is missing.
        for round in 0..<2000 {
            number += 1
            let parts = round % 3 == 0 ? large : small
            for part in parts.dropLast(round % 4 == 0 ? 0 : 1) { try Self.insert(numbered(part), &receiver) }
        }
        #expect(receiver.kept.looks <= PointerLimits.looks && receiver.kept.bytes <= PointerLimits.lookBytes)
        #expect(receiver.kept.underWay <= 4)
        // The newest whole one is there.
        number += 1
        for part in small { try Self.insert(numbered(part), &receiver) }
        try Self.insert(Self.place(1, look: number), &receiver)
        #expect(receiver.pointer != .hidden && receiver.deadline == nil)
    }

    // MARK: The host

    @Test func aHostNumbersLooksAndRepeatsTheLastPlace() throws {
        var stream = PointerStream()
        let (arrow, beam) = (try Self.look(seed: 1), try Self.look(seed: 2))
        func shown(_ look: PointerLook, _ x: Int) -> ScreenPointer {
            .shown(look, at: PixelPoint(x: x, y: 0), in: PixelSize(width: 64, height: 48))
        }
        #expect(stream.deadline == nil && stream.place == nil)
        #expect(stream.take(shown(arrow, 1), now: .at(1)) == 1)
        #expect(stream.take(shown(beam, 1), now: .at(1)) == 2)
        #expect(stream.take(shown(arrow, 2), now: .at(1)) == nil)
        #expect(stream.place?.look == 1 && stream.place?.sequence == SequenceNumber(2))
        #expect(stream.look(1) == arrow && stream.look(2) == beam && stream.look(3) == nil)
        var repeats: [Double] = []
        while let deadline = stream.deadline {
            let isEarly = stream.deadlineReached(now: deadline - .nanoseconds(1))
            let isDue = stream.deadlineReached(now: deadline)
            #expect(!isEarly && isDue)
            repeats.append(deadline.seconds)
        }
        #expect(repeats.map { ($0 * 1000).rounded() } == [1020, 1100])
        #expect(stream.take(.inPicture, now: .at(2)) == nil && stream.place?.visibility == .inPicture)
        // An animated pointer with more looks than are kept: each is new again.
        for seed in 0..<200 {
            _ = stream.take(shown(try Self.look(128, 128, seed: UInt32(seed)), 1), now: .at(3))
        }
        #expect(stream.look(1) == nil && stream.take(shown(arrow, 1), now: .at(4)) == 203)
    }
}
