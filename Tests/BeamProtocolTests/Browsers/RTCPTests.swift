import BeamMedia
import Testing

@testable import BeamWire

/// RTCP's bytes, written out by hand from RFC 3550, 4585 and 5104.
struct RTCPTests {
    static func items(_ bytes: [UInt8]) -> (items: [RTCPReader.Item], error: RTCPError?) {
        var items: [RTCPReader.Item] = []
        do {
            try bytes.withUnsafeBytes { try RTCPReader.read($0) { items.append($0) } }
            return (items, nil)
        } catch {
            return (items, error as? RTCPError)
        }
    }

    @Test func goldenSenderReport() {
        let report = SenderReport(
            source: 0x0102_0304, time: NTPTime(.at(1.5)), timestamp: 0x0A0B_0C0D, packets: 7, bytes: 0x1000)
        #expect(
            report.compound(name: "b")
                == [0x80, 200, 0, 6, 1, 2, 3, 4, 0, 0, 0, 1, 0x80, 0, 0, 0]
                + [0x0A, 0x0B, 0x0C, 0x0D, 0, 0, 0, 7, 0, 0, 0x10, 0]
                // SDES: one chunk; CNAME, 1 byte; zero bytes to the next word, at least one.
                + [0x81, 202, 0, 2, 1, 2, 3, 4, 1, 1, 0x62, 0])
        // A name that would fill its words exactly gets a whole word of zeros behind it.
        let bytes = report.compound(name: "ab")
        #expect(bytes.suffix(16) == [0x81, 202, 0, 3, 1, 2, 3, 4, 1, 2, 0x61, 0x62, 0, 0, 0, 0])
        #expect(bytes.count % 4 == 0)
    }

    /// From a browser: a receiver report, its name, missing packets, and a lost picture.
    static let golden: [UInt8] =
        [0x81, 201, 0, 7, 0, 0, 0, 1] + [0x11, 0x22, 0x33, 0x44, 0x40, 0xFF, 0xFF, 0xFE, 0, 1, 0x12, 0x34]
        + [0, 0, 0, 90, 0xAA, 0xBB, 0xCC, 0xDD, 0, 1, 0, 0]
        + [0x81, 202, 0, 2, 0, 0, 0, 1, 1, 1, 0x78, 0]
        + [0x81, 205, 0, 4, 0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44, 0xFF, 0xFF, 0x80, 0x01, 0, 9, 0, 0]
        + [0x81, 206, 0, 2, 0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44]

    @Test func whatABrowserSaysIsRead() {
        let report = ReceptionReport(
            source: 0x1122_3344, fractionLost: 0x40, cumulativeLost: -2, highestSequence: 0x0001_1234, jitter: 90,
            lastReport: 0xAABB_CCDD, delay: 0x10000)
        let (items, error) = Self.items(Self.golden)
        #expect(error == nil)
        #expect(
            items == [
                .report(report), .missing(source: 0x1122_3344, first: 0xFFFF, following: 0x8001),
                .missing(source: 0x1122_3344, first: 9, following: 0), .keyframe(source: 0x1122_3344),
            ])
    }

    @Test func aFullIntraRequestNamesItsSource() {
        let bytes: [UInt8] = [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 5, 0, 0, 0]
        #expect(Self.items(bytes).items == [.keyframe(source: 0x1122_3344)])
    }

    @Test func senderReportsAndPaddingAreRead() {
        var bytes: [UInt8] = [0x81, 200, 0, 12, 0, 0, 0, 1] + [UInt8](repeating: 7, count: 20)
        bytes += [0x11, 0x22, 0x33, 0x44] + [UInt8](repeating: 0, count: 20)
        #expect(Self.items(bytes).items == [.report(ReceptionReport(source: 0x1122_3344))])
        let padded: [UInt8] = [0xA1, 206, 0, 3, 0, 0, 0, 1, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 4]
        #expect(Self.items(padded).items == [.keyframe(source: 0x1122_3344)])
        #expect(Self.items([0x81, 203, 0, 1, 0, 0, 0, 1]).items == [.goodbye])
        #expect(Self.items([0x80, 201, 0, 1, 0, 0, 0, 1]).items == [.presence])
    }

    @Test func lyingLengthsEndTheReading() {
        // More words, more blocks, or more padding than there are; too short; another version.
        let lies: [[UInt8]] = [
            [0x81, 206, 0, 3, 0, 0, 0, 1, 1, 1, 1, 1], [0x82, 201, 0, 1, 0, 0, 0, 1],
            [0xA1, 206, 0, 2, 0, 0, 0, 1, 1, 1, 1, 9], [0xA1, 206, 0, 2, 0, 0, 0, 1, 1, 1, 1, 0],
            [0x81, 206, 0, 1, 0, 0, 0, 1], [0x80, 200, 0, 1, 0, 0, 0, 1],
        ]
        for bytes in lies {
            let (items, error) = Self.items(bytes)
            #expect(error == .lengthLies && items.isEmpty, "\(bytes)")
        }
        for bytes in [[], [0x81, 206, 0], [0x41, 206, 0, 0], [UInt8](repeating: 0x80, count: 1501)] as [[UInt8]] {
            #expect(Self.items(bytes).error == .malformed, "\(bytes.count)")
        }
        // What stands before the lie counts.
        let (items, error) = Self.items(Self.golden + [0x81, 206, 0xFF, 0xFF])
        #expect(error == .lengthLies && items.count == 4)
    }
}
