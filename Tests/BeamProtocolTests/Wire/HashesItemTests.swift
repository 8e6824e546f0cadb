import BeamMedia
import Testing

@testable import BeamWire

/// Hashes of pictures as items of a stream's state, and the request for them.
struct HashesItemTests {
    private func state(_ bytes: [UInt8]) -> StreamState { bytes.withUnsafeBytes { StreamState($0) } }

    private static let bytes: [UInt8] =
        [7, 30, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3, 0] + [
            0, 100, 0, 70, 0, 3, 0xA1, 0xA2, 0xA3, 0xA4, 0, 0, 0, 9,
        ]

    static let golden: [[UInt8]] = [bytes, [10, 0]]

    private static var hashes: PictureHashes {
        PictureHashes(
            size: PixelSize(width: 100, height: 70), time: 0x0102_0304, since: 0x0102_0300, firstRow: 3,
            rows: [0xA1A2_A3A4, 9])
    }

    @Test func hashesHaveTheGoldenBytes() {
        var value = StreamState(newest: nil)
        value.hashes = [Self.hashes]
        #expect(value.plaintext == Self.bytes)
        #expect(state(Self.bytes) == value)
        #expect(state(Array(Self.bytes.dropLast(1))).hashes.isEmpty, "an item that is cut short")
        let request: [UInt8] = [10, 0]
        let feedback = request.withUnsafeBytes { Feedback($0) }
        #expect(feedback.wantsHashes && !feedback.isEmpty && feedback.plaintext == request)
        #expect(feedback.encodedLength == 2)
    }

    /// Rows that the picture doesn't have, no row, no picture, a change after the capture.
    @Test(
        arguments: [
            (23, 4), (23, 255), (19, 0), (21, 0), (21, 32), (10, 1),
        ] as [(Int, UInt8)]) func invalidOnesAreLeftOut(place: Int, value: UInt8)
    {
        var bytes = Self.bytes
        bytes[place] = value
        #expect(state(bytes).hashes.isEmpty)
    }

    @Test func anItemWithoutARowIsLeftOut() {
        #expect(state([7, 22] + Self.bytes[2..<24]).hashes.isEmpty)
        #expect(state([7, 25] + Self.bytes[2..<27]).hashes.isEmpty)
        // A later program may add less than a row to it.
        #expect(state([7, 27] + Self.bytes[2..<29]).hashes.map(\.rows) == [[0xA1A2_A3A4]])
    }

    /// Those of the largest picture take few datagrams, of each size that paths carry.
    @Test(arguments: DatagramSize.allCases) func allRowsFitIntoDatagrams(size: DatagramSize) {
        for height in [1, 16, 1080, 2160, 8192, 65535] {
            var hashes = PictureHashes(size: PixelSize(width: 64, height: height), time: 2, since: 1, rows: [])
            hashes.rows = (0..<ExactTiles.down(hashes.size)).map { UInt32($0) }
            let pieces = hashes.pieces
            #expect(pieces.flatMap { $0.rows } == hashes.rows)
            let some = PictureHashes.items(in: size)
            for start in stride(from: 0, to: pieces.count, by: some) {
                var value = StreamState(newest: nil)
                value.hashes = Array(pieces[start..<min(start + some, pieces.count)])
                #expect(value.plaintext.count + SealedHeader.overhead <= size.length)
                #expect(state(value.plaintext) == value)
            }
            #expect(height > 1080 || pieces.count <= some)
        }
    }
}
