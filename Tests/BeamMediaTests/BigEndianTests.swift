import BeamMedia
import Testing

struct BigEndianTests {
    /// Reads `bytes` from an odd address.
    private func read<Outcome>(_ bytes: [UInt8], _ body: (inout BigEndianReader) -> Outcome) -> Outcome {
        withUnsafeTemporaryAllocation(byteCount: bytes.count + 1, alignment: 16) { memory in
            let odd = UnsafeMutableRawBufferPointer(rebasing: memory[1...])
            odd.copyBytes(from: bytes)
            var reader = BigEndianReader(UnsafeRawBufferPointer(odd))
            return body(&reader)
        }
    }

    @Test func integersAreReadInNetworkOrderAtAnyAlignment() {
        read([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xFF, 0xFE]) { reader in
            #expect(reader.integer(UInt8.self) == 1)
            #expect(reader.integer(UInt16.self) == 0x0203)
            #expect(reader.integer(UInt32.self) == 0x0405_0607)
            #expect(reader.integer(UInt64.self) == 0x0809_0A0B_0C0D_0E0F)
            #expect(reader.integer(Int16.self) == -2)
            #expect(reader.rest.isEmpty)
            #expect(reader.integer(UInt8.self) == nil)
        }
    }

    @Test func incompleteFieldsAreNilAndConsumeNothing() {
        read([0, 3, 7, 8]) { reader in
            #expect(reader.integer(UInt64.self) == nil)
            #expect(reader.bytes(5) == nil && reader.bytes(-1) == nil && reader.bytes(.max) == nil)
            #expect(reader.counted(by: UInt16.self) == nil, "3 bytes are announced, and 2 are there")
            #expect(reader.counted(by: UInt32.self) == nil)
            #expect(reader.rest.count == 4)
            #expect(reader.counted(by: UInt8.self).map(Array.init) == [])
            #expect(reader.counted(by: UInt8.self) == nil)
            #expect(reader.bytes(3).map(Array.init) == [3, 7, 8])
        }
        read([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]) { reader in
            #expect(reader.counted(by: UInt64.self) == nil, "more than memory can hold")
            #expect(reader.counted(by: Int8.self) == nil, "a negative length")
        }
        var nothing = BigEndianReader(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(nothing.integer(UInt8.self) == nil && nothing.bytes(0)?.count == 0)
    }

    @Test func writtenValuesAreReadBack() {
        let numbers: [UInt64] = [0, 1, 0x0102_0304_0506_0708, .max]
        for number in numbers {
            var appended: [UInt8] = []
            appended.append(bigEndian: UInt8(truncatingIfNeeded: number))
            appended.append(bigEndian: UInt16(truncatingIfNeeded: number))
            appended.append(bigEndian: number)
            var written = [UInt8](repeating: 0, count: appended.count)
            written.withUnsafeMutableBytes { bytes in
                var writer = BigEndianWriter(bytes)
                writer.write(UInt8(truncatingIfNeeded: number))
                writer.write(UInt16(truncatingIfNeeded: number))
                writer.write(number)
            }
            #expect(written == appended)
            read(written) { reader in
                #expect(reader.integer() == UInt8(truncatingIfNeeded: number))
                #expect(reader.integer() == UInt16(truncatingIfNeeded: number))
                #expect(reader.integer() == number)
            }
        }
    }
}
