import BeamMedia
import Testing

@testable import BeamWire

/// RTP's bytes, written out by hand from RFC 3550, 6184, 7587 and 8285.
struct RTPTests {
    static func packets(_ unit: AccessUnit, timestamp: UInt32 = 0, sequence: UInt16 = 0) throws -> [[UInt8]] {
        let picture = try RTPPicture(unit)
        return (0..<picture.count).map { index in
            let header = RTPHeader(
                payloadType: 96, marker: picture.isLast(index), sequence: sequence &+ UInt16(index),
                timestamp: timestamp, source: 0x1122_3344, playoutDelay: .immediate)
            return bytes { picture.write(index, header, to: $0) }
        }
    }

    static func bytes(_ write: (UnsafeMutableRawBufferPointer) -> Int) -> [UInt8] {
        var memory = [UInt8](repeating: 0xEE, count: RTPPicture.longestPacket)
        let length = memory.withUnsafeMutableBytes { write($0) }
        return Array(memory[..<length])
    }

    private static func unit(_ units: [[UInt8]], keyframe: Bool = false) -> AccessUnit {
        AccessUnit(
            bytes: units.flatMap { TestFrame.big(UInt32($0.count)) + $0 }, isKeyframe: keyframe,
            parameterSets: keyframe ? ParameterSets(sps: [[0x67, 1, 2, 3]], pps: [[0x68, 9]]) : nil,
            size: PixelSize(width: 64, height: 64))
    }

    /// Version 2 with an extension; payload type 96; sequence, timestamp, source; the extension: one word of one-byte
    /// elements, number 12 with three bytes.
    private static func header(marker: Bool, _ sequence: UInt8) -> [UInt8] {
        [0x90, marker ? 0xE0 : 0x60, 0, sequence, 0, 0, 0x23, 0x28, 0x11, 0x22, 0x33, 0x44]
            + [0xBE, 0xDE, 0, 1, 0xC2, 0, 0, 0]
    }

    /// In 12 bits each the least and the most delay, in 10 ms.
    @Test(arguments: [
        (PlayoutDelay?.none, [] as [UInt8]), (.immediate, [0xBE, 0xDE, 0, 1, 0xC2, 0, 0, 0]),
        (.forSound, [0xBE, 0xDE, 0, 1, 0xC2, 0, 0, 20]),
    ])
    func picturesMayWaitForSoundOnly(delay: PlayoutDelay?, bytes: [UInt8]) throws {
        let picture = try RTPPicture(Self.unit([[0x41, 1]]))
        let header = RTPHeader(
            payloadType: 96, marker: true, sequence: 1, timestamp: 9000, source: 7, playoutDelay: delay)
        #expect(header.length == 12 + bytes.count)
        let packet = Self.bytes { picture.write(0, header, to: $0) }
        #expect(packet[0] == (bytes.isEmpty ? 0x80 : 0x90) && Array(packet[12...]) == bytes + [0x41, 1])
    }

    @Test func aKeyframeBeginsWithItsParameterSets() throws {
        let packets = try Self.packets(Self.unit([[0x65, 7, 7, 7]], keyframe: true), timestamp: 9000, sequence: 5)
        #expect(
            packets == [
                Self.header(marker: false, 5) + [0x67, 1, 2, 3], Self.header(marker: false, 6) + [0x68, 9],
                Self.header(marker: true, 7) + [0x65, 7, 7, 7],
            ])
    }

    /// 2,500 bytes: two fragments of 1,178 and one of 143 behind FU indicator and header. The unit's own header isn't sent.
    @Test func longUnitsAreFragmented() throws {
        let body = (0..<2499).map { UInt8($0 % 251) }
        let packets = try Self.packets(Self.unit([[0x41] + body]), timestamp: 9000)
        #expect(packets.map(\.count) == [1200, 1200, 20 + 2 + 143])
        // NRI 2, type 28; then start, middle, end with type 1.
        #expect(packets.map { Array($0[20..<22]) } == [[0x5C, 0x81], [0x5C, 0x01], [0x5C, 0x41]])
        #expect(packets.flatMap { $0[22...] } == body)
        #expect(packets.map { $0[1] } == [0x60, 0x60, 0xE0])
        // The longest that is sent in one piece, and the shortest that isn't.
        #expect(try Self.packets(Self.unit([[UInt8](repeating: 1, count: 1180)])).map(\.count) == [1200])
        #expect(try Self.packets(Self.unit([[UInt8](repeating: 1, count: 1181)])).map(\.count) == [1200, 24])
    }

    @Test func eachUnitIsAPacketAndTheLastOneIsMarked() throws {
        let packets = try Self.packets(Self.unit([[0x06, 5], [0x41, 1], [0x41, 2]]))
        #expect(packets.map { Array($0[20...]) } == [[0x06, 5], [0x41, 1], [0x41, 2]])
        #expect(packets.map { $0[1] } == [0x60, 0x60, 0xE0])
    }

    @Test func whatIsNotInAVCCFormIsRefused() {
        let size = PixelSize(width: 2, height: 2)
        for bytes in [[0, 0, 0], [0, 0, 0, 2, 1], [0xFF, 0xFF, 0xFF, 0xFF, 1]] as [[UInt8]] {
            let unit = AccessUnit(bytes: bytes, isKeyframe: false, parameterSets: nil, size: size)
            #expect(throws: RTPPicture.Failure.notAVCC) { try RTPPicture(unit) }
        }
        for bytes in [[], [0, 0, 0, 0]] as [[UInt8]] {
            let unit = AccessUnit(bytes: bytes, isKeyframe: false, parameterSets: nil, size: size)
            #expect(throws: RTPPicture.Failure.isEmpty) { try RTPPicture(unit) }
        }
    }

    /// Opus is a packet's payload as it is, without the extension.
    @Test func goldenSound() throws {
        let sound = try #require(RTPSound([0xFC, 1, 2]))
        let header = RTPHeader(payloadType: 111, marker: true, sequence: 0xFFFF, timestamp: 480, source: 0x0A0B_0C0D)
        #expect(
            Self.bytes { sound.write(header, to: $0) }
                == [0x80, 0xEF, 0xFF, 0xFF, 0, 0, 0x01, 0xE0, 0x0A, 0x0B, 0x0C, 0x0D, 0xFC, 1, 2])
        #expect(RTPSound([]) == nil && RTPSound([UInt8](repeating: 0, count: 1276)) == nil)
    }

    @Test func timestampsCountTicksAndOnlyGrow() {
        var clock = RTPClock(rate: RTPClock.video, offset: 100)
        #expect(clock.next(.at(1)) == 90_100)
        // The same moment, and an earlier one, are later than what was sent.
        #expect(clock.next(.at(1)) == 90_101)
        #expect(clock.next(.at(0.5)) == 90_102)
        #expect(clock.next(.at(2)) == 180_100)
        #expect(clock.timestamp(of: .at(1)) == 90_100)
        // They begin anew after 2³² ticks.
        #expect(clock.next(.at(47721.858844)) == 99)
        _ = clock.next(.distantFuture)
        _ = clock.next(.distantFuture)
        _ = clock.next(.distantPast)
    }

    @Test func theTimeIsInSecondsAndTheirFractions() {
        #expect(NTPTime(.at(1.5)).value == 0x0000_0001_8000_0000)
        #expect(NTPTime(.at(65537.25)).middle == 0x0001_4000)
        #expect(NTPTime.duration(0x8000) == .milliseconds(500))
        _ = (NTPTime(.distantPast), NTPTime(.distantFuture), NTPTime.duration(.max))
    }

    @Test func aUnitsHeadSaysWhatItIs() throws {
        let sets = ParameterSets(sps: [[0x67, 0x4D, 0xC0, 0x2A, 0xAB]], pps: [[0x68, 0xCE]])
        let description = try #require(BrowserUnit.Description(sets, size: PixelSize(width: 1920, height: 1080)))
        #expect(description.codec == "avc1.4dc02a")
        #expect(
            description.record
                == [1, 0x4D, 0xC0, 0x2A, 0xFF, 0xE1, 0, 5, 0x67, 0x4D, 0xC0, 0x2A, 0xAB, 1, 0, 2, 0x68, 0xCE])
        let high = ParameterSets(sps: [[0x67, 0x64, 0, 0x0A]], pps: [])
        let record = try #require(BrowserUnit.Description(high, size: PixelSize(width: 2, height: 2))).record
        #expect(record.suffix(5) == [0, 0xFD, 0xF8, 0xF8, 0])
        #expect(BrowserUnit.Description(ParameterSets(sps: [], pps: []), size: PixelSize(width: 2, height: 2)) == nil)
        let kinds: [(BrowserUnit.Kind, UInt8)] = [(.keyframe(nil), 1), (.picture, 0), (.sound, 2)]
        for (kind, flags) in kinds {
            let unit = BrowserUnit(kind: kind, number: 0x0102_0304, time: .at(1), bytes: [9], range: 0..<1)
            #expect(unit.head == [flags, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40])
            #expect(unit.head.count == BrowserUnit.headLength)
        }
    }
}
