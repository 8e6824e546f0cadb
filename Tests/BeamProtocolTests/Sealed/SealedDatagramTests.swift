import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The bytes of sealed datagrams, and what is refused.
struct SealedDatagramTests {
    /// The frame of `MediaDatagramTests.smallKeyframe` with number 258, captured at 4886718345 µs, with stage times:
    /// the golden key's first datagram. The sealed bytes come from another implementation (Python's cryptography
    /// package).
    static let media: [UInt8] = [
        0xB1, 0x00,  // media
        0x02, 0x03,  // key 515
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // counter 0
        0xC2, 0x07, 0xF0, 0x9B, 0xEE, 0x9C, 0x06, 0x58, 0xCB, 0xBB, 0x10, 0xA4, 0xF1, 0xCB, 0x36, 0x9F, 0xAA, 0x35,
        0x33, 0x54, 0x65, 0xFE, 0x29, 0xF8, 0x65, 0xC1, 0x76, 0x54, 0x1F, 0x78, 0xB6, 0xA2, 0xFA, 0xAA, 0xBC, 0x57,
        0x3D, 0x8D, 0xE8, 0x22, 0x43, 0x02, 0x07, 0x9D, 0x3A, 0xD6, 0x4F, 0x04, 0x8C, 0x30, 0x00, 0xFA,
        0xEA, 0xF8, 0x67, 0xCA, 0x54, 0xD1, 0xF8, 0x9C, 0x39, 0xA8, 0x45, 0xA6, 0x1C, 0x52, 0x80, 0xCB,  // tag
    ]

    static let mediaPlaintext: [UInt8] = [
        0x00, 0x00, 0x01, 0x02,  // frame 258
        0x00, 0x00, 0x00, 0x01,  // part 0 of 1
        0x03, 0x00,  // keyframe, parameter sets
        0x05, 0x56, 0x02, 0xFF,  // 1366 × 767
        0x00, 0x0D,  // 13 bytes of parameter sets
        0x00, 0x00, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89,  // 4886718345 µs
        0x01, 0x02,  // waited 2.58 ms
        0xFF, 0xFF,  // encoded in 655.35 ms or more
        0x01, 0x01,  // one SPS, one PPS
        0x00, 0x04, 0x67, 0x4D, 0x00, 0x28,
        0x00, 0x03, 0x68, 0xEE, 0x3C,
        0x00, 0x00, 0x00, 0x02, 0x65, 0x88,
        0x00, 0x00, 0x00, 0x01, 0x06,
    ]

    static let hello: [UInt8] = [
        0xB2, 0x00,  // hello
        0x02, 0x03,  // key 515
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,  // counter 1
        0x97, 0x30, 0x2B, 0xF8, 0xB9, 0x68, 0xD3, 0xA4,
        0xC2, 0x98, 0xB7, 0xCE, 0xDD, 0xEF, 0x54, 0xF2, 0x08, 0x52, 0x44, 0xC4, 0xE8, 0x70, 0x71, 0x69,  // tag
    ]

    /// The last datagram that the key may seal: empty feedback.
    static let last: [UInt8] = [
        0xB3, 0x00,  // feedback
        0x02, 0x03,  // key 515
        0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF,  // counter 2^32 − 1
        0xD1, 0xA2, 0x23, 0x9D, 0x69, 0x50, 0xBE, 0x2F, 0x86, 0xAC, 0x6A, 0xBE, 0x36, 0x97, 0x8A, 0x41,  // tag
    ]

    // MARK: Golden bytes

    @Test func aFrameIsSealedAsTheProtocolSays() throws {
        let unit = AccessUnit(
            bytes: [0xEE, 0, 0, 0, 2, 0x65, 0x88, 0, 0, 0, 1, 0x06], range: 1..<12, isKeyframe: true,
            parameterSets: ParameterSets(sps: [[0x67, 0x4D, 0x00, 0x28]], pps: [[0x68, 0xEE, 0x3C]]),
            size: PixelSize(width: 1366, height: 767))
        let frame = EncodedFrame(
            unit: unit, captureTime: MediaTime(nanoseconds: 4_886_718_345_999),
            stages: StageTimes(waited: .microseconds(2589), encode: .seconds(1)))
        let sealer = DatagramSealer(key: .golden)
        let bytes = try Fragmenter.datagrams(of: frame, sequence: SequenceNumber(258), sealedBy: sealer)
        #expect(bytes == Self.media)
        #expect(sealer.datagramsSealed == 1)
        var opener = DatagramOpener(key: .golden)
        let (opened, plaintext) = try opener.open(bytes)
        #expect(plaintext == Self.mediaPlaintext)
        #expect(opened == DatagramOpener.Opened(kind: .media, counter: 0, isNewest: true))
    }

    @Test func aHelloCarriesTheViewersClock() throws {
        let sealer = DatagramSealer(key: .golden, counter: 1)
        let hello = SealedHello(time: MediaTime(nanoseconds: 4_886_718_345_000))
        #expect(try sealer.seal(.hello, hello.plaintext) == Self.hello)
        var opener = DatagramOpener(key: .golden)
        let (opened, plaintext) = try opener.open(Self.hello, from: .viewer)
        #expect(opened.kind == .hello)
        #expect(plaintext.withUnsafeBytes { SealedHello($0) } == hello)
        #expect((plaintext + [1, 2]).withUnsafeBytes { SealedHello($0) } == hello, "a later version may append fields")
        let answer = plaintext + [1, 2, 3, 4, 5, 6, 7, 8]
        #expect(answer == SealedHello(time: hello.time, token: 0x0102_0304_0506_0708).plaintext)
        #expect((answer + [9]).withUnsafeBytes { SealedHello($0)?.token } == 0x0102_0304_0506_0708)
        #expect(plaintext.dropLast().withUnsafeBytes { SealedHello($0) } == nil)
        #expect([UInt8](repeating: 0xFF, count: 8).withUnsafeBytes { SealedHello($0) } == nil)
    }

    @Test func aKeySealsAtMost2To32Datagrams() throws {
        let sealer = DatagramSealer(key: .golden, counter: (1 << 32) - 1)
        #expect(try sealer.seal(.feedback, []) == Self.last)
        #expect(sealer.datagramsSealed == DatagramSealer.limit)
        for _ in 0..<3 {
            let error = #expect(throws: SealingError.exhausted(keyNumber: 0x0203)) { try sealer.seal(.feedback, []) }
            #expect(error?.description.contains("515") == true)
        }
        #expect(sealer.datagramsSealed == DatagramSealer.limit)
        #expect(throws: FragmentationError.sealing(.exhausted(keyNumber: 0x0203))) {
            try sealedDatagrams(TestFrame.make(1), 1, sealer)
        }
        var opener = DatagramOpener(key: .golden)
        #expect(try opener.open(Self.last, from: .viewer).plaintext == [])
    }

    @Test func datagramsOfAnySizeAreOpened() throws {
        let sealer = DatagramSealer(key: .golden)
        var opener = DatagramOpener(key: .golden)
        var random = SeededGenerator(seed: 4)
        for length in [0, 1, 15, 16, 17, 100, 1144, 1171, 1172, 1471, 1472] {
            let plaintext = random.bytes(length)
            let sealed = try sealer.seal(.media, plaintext)
            #expect(sealed.count == length + 28)
            #expect(try opener.open(sealed).plaintext == plaintext)
        }
        let tooLong = try sealer.seal(.media, random.bytes(1473))
        #expect(throws: SealedDatagramError.length(1501)) { try opener.open(tooLong) }
    }

    // MARK: What is refused

    /// Each bit of header, ciphertext and tag is authenticated.
    @Test func everyChangedBitIsNoticed() throws {
        var opener = DatagramOpener(key: .golden)
        for bit in 0..<Self.media.count * 8 {
            var bytes = Self.media
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let expected: SealedDatagramError =
                switch bit / 8 {
                // One bit turns media into a parity datagram.
                case 0 where bytes[0] == 0xB5: .forged
                case 0: .kind(bytes[0])
                case 1: .reserved(bytes[1])
                case 2, 3: .unknownKey(UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
                default: .forged
                }
            let error = #expect(throws: expected) { try opener.open(bytes) }
            #expect(error?.description.isEmpty == false)
        }
        // The opener still works.
        #expect(try opener.open(Self.media).plaintext == Self.mediaPlaintext)
    }

    /// Header fields that are checked before decryption are authenticated, too.
    @Test func theHeaderIsBoundByTheCipher() throws {
        for (kind, sender) in [(SealedHeader.Kind.feedback, SealedHeader.Sender.viewer), (.media, .host)] {
            var bytes = Self.hello
            bytes[0] = kind.rawValue
            var opener = DatagramOpener(key: .golden)
            #expect(throws: SealedDatagramError.forged) { try opener.open(bytes, from: sender) }
        }
        // The same key with another number.
        let other = SealingKey(number: 0x0204, key: SealingKey.golden.key, salt: SealingKey.golden.salt)!
        var bytes = Self.media
        bytes[3] = 4
        var opener = DatagramOpener(key: other)
        #expect(throws: SealedDatagramError.forged) { try opener.open(bytes) }
        // Another salt.
        let salted = SealingKey(number: 0x0203, key: SealingKey.golden.key, salt: [0xA0, 0xA1, 0xA2, 0xA4])!
        opener = DatagramOpener(key: salted)
        #expect(throws: SealedDatagramError.forged) { try opener.open(Self.media) }
    }

    @Test func everyTruncationIsRefused() throws {
        var opener = DatagramOpener(key: .golden)
        for length in 0..<Self.media.count {
            let expected: SealedDatagramError = length < 28 ? .length(length) : .forged
            #expect(throws: expected) { try opener.open(Array(Self.media.prefix(length))) }
        }
        for length in [1, 16, 1424, 1425, 64_000] {
            let bytes = Self.media + [UInt8](repeating: 0, count: length)
            let expected: SealedDatagramError = bytes.count > 1500 ? .length(bytes.count) : .forged
            #expect(throws: expected) { try opener.open(bytes) }
        }
        #expect(try opener.open(Self.media).opened.counter == 0)
    }

    /// Each side refuses datagrams of a kind that only it may send, and version 1's.
    @Test func datagramsOfTheWrongSenderAreRefused() {
        for byte in UInt8.min...UInt8.max {
            var bytes = Self.media
            bytes[0] = byte
            for sender in [SealedHeader.Sender.host, .viewer] {
                let isRight = (sender == .host ? [0xB1, 0xB4, 0xB5, 0xB6, 0xB7, 0xB8] : [0xB2, 0xB3]).contains(byte)
                var opener = DatagramOpener(key: .golden)
                let expected: SealedDatagramError? = !isRight ? .kind(byte) : byte == 0xB1 ? nil : .forged
                do {
                    _ = try opener.open(bytes, from: sender)
                    #expect(expected == nil)
                } catch {
                    #expect(error == expected)
                }
            }
        }
    }

    @Test func aForgedDatagramLeavesNoPlaintext() throws {
        var plaintext: [UInt8] = [9, 9, 9]
        var opener = DatagramOpener(key: .golden)
        var bytes = Self.media
        bytes[40] ^= 1
        bytes.withUnsafeBytes { bytes in
            _ = #expect(throws: SealedDatagramError.forged) {
                _ = try opener.open(try SealedDatagram(bytes, from: .host), into: &plaintext)
            }
        }
        #expect(plaintext.isEmpty, "no plaintext of a forged datagram")
    }

    // MARK: Replays and order

    @Test func aReplayIsRefused() throws {
        var opener = DatagramOpener(key: .golden)
        _ = try opener.open(Self.media)
        for _ in 0..<3 { #expect(throws: SealedDatagramError.replayed(0)) { try opener.open(Self.media) } }
    }

    @Test func orderDoesNotMatterWithinTheWindow() throws {
        let sealer = DatagramSealer(key: .golden)
        let datagrams = try (0..<8193).map { try sealer.seal(.media, [UInt8(truncatingIfNeeded: $0)]) }
        var opener = DatagramOpener(key: .golden)
        #expect(try opener.open(datagrams[8191]).opened.isNewest)
        var random = SeededGenerator(seed: 8)
        for index in (0..<8191).shuffled(using: &random).prefix(500) {
            let (opened, plaintext) = try opener.open(datagrams[index])
            #expect(opened == DatagramOpener.Opened(kind: .media, counter: UInt64(index), isNewest: false))
            #expect(plaintext == [UInt8(truncatingIfNeeded: index)])
            #expect(throws: SealedDatagramError.replayed(UInt64(index))) { try opener.open(datagrams[index]) }
        }
        #expect(try opener.open(datagrams[8192]).opened.isNewest)
        #expect(throws: SealedDatagramError.tooOld(0)) { try opener.open(datagrams[0]) }
    }

    /// A sender without the key can't move the window, whatever counter it writes.
    @Test func aForgedCounterDoesNotMoveTheWindow() throws {
        let sealer = DatagramSealer(key: .golden)
        var opener = DatagramOpener(key: .golden)
        let first = try sealer.seal(.media, [1])
        let second = try sealer.seal(.media, [2])
        _ = try opener.open(second)
        for counter in [UInt64.max, 1 << 63, 1 << 32, 8192, 2, 0] {
            var forged = first
            withUnsafeBytes(of: counter.bigEndian) { forged.replaceSubrange(4..<12, with: $0) }
            forged[20] ^= 0x40
            #expect(throws: SealedDatagramError.forged) { try opener.open(forged) }
        }
        #expect(try opener.open(first).plaintext == [1])
    }

    // MARK: Nonces

    @Test func copiesOfASealerShareTheCounter() throws {
        let bench = {
            var bench = LayerBench(key: .golden)
            bench.add(.version2, at: NetworkAddress(ip: .v4(1), port: 1))
            return bench
        }()
        var counters: [UInt64] = []
        for index: UInt32 in 0..<5 {
            // A copy of a session, as a test or a mistake may make one.
            var copy = bench
            copy.send(TestFrame.make(index, bytes: 3000))
            copy.step()
            guard let burst = copy.bursts.first?.burst else { continue }
            for start in stride(from: 0, to: burst.range.upperBound, by: 1200) {
                let bytes = Array(burst.bytes[start..<min(start + 1200, burst.range.upperBound)])
                counters.append(try bytes.withUnsafeBytes { try SealedDatagram($0, from: .host).header.counter })
            }
        }
        #expect(counters == Array(0..<15))
    }

    @Test func aKeysDescriptionHasNoSecrets() {
        let text =
            "\(SealingKey.golden) \(String(reflecting: SealingKey.golden))"
            + "\(Mirror(reflecting: SealingKey.golden).children.map { "\($0)" })"
        #expect(!text.contains("16, 17"))
        #expect(!text.contains("160"))
    }
}
