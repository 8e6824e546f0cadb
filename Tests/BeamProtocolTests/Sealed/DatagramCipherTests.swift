import Crypto
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// OpenSSL's AES-GCM against another implementation (Swift Crypto): each opens what the other seals, and nothing else.
struct DatagramCipherTests {
    private static let lengths = [0, 1, 15, 16, 17, 31, 32, 255, 1143, 1144, 1172, 1472]

    private func nonce(_ key: SealingKey, _ counter: UInt64) throws -> AES.GCM.Nonce {
        try AES.GCM.Nonce(data: key.salt + withUnsafeBytes(of: counter.bigEndian) { Array($0) })
    }

    private func header(_ key: SealingKey, _ counter: UInt64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: SealedHeader.length)
        bytes.withUnsafeMutableBytes {
            SealedHeader(kind: .media, keyNumber: key.number, counter: counter).write(to: $0)
        }
        return bytes
    }

    @Test func swiftCryptoOpensSealedDatagrams() throws {
        var random = SeededGenerator(seed: 21)
        for index: UInt16 in 0..<40 {
            let key = SealingKey.made(index, seed: 21)
            let counter = UInt64.random(in: 0..<(1 << 32), using: &random)
            let sealer = DatagramSealer(key: key, counter: counter)
            for (step, length) in Self.lengths.enumerated() {
                let plaintext = random.bytes(length)
                let sealed = try sealer.seal(.media, plaintext)
                let number = counter + UInt64(step)
                guard number < DatagramSealer.limit else { break }
                let box = try AES.GCM.SealedBox(
                    nonce: nonce(key, number), ciphertext: sealed[12..<12 + length], tag: sealed.suffix(16))
                let opened = try AES.GCM.open(
                    box, using: SymmetricKey(data: key.key), authenticating: header(key, number))
                #expect(Array(opened) == plaintext)
            }
        }
    }

    @Test func datagramsSealedBySwiftCryptoAreOpened() throws {
        var random = SeededGenerator(seed: 22)
        for index: UInt16 in 0..<40 {
            let key = SealingKey.made(index, seed: 22)
            var opener = DatagramOpener(key: key)
            for (step, length) in Self.lengths.enumerated() {
                let counter = UInt64(step) << 40 | UInt64(random.next() >> 32)
                let plaintext = random.bytes(length)
                let header = header(key, counter)
                let box = try AES.GCM.seal(
                    plaintext, using: SymmetricKey(data: key.key), nonce: nonce(key, counter), authenticating: header)
                let datagram = header + box.ciphertext + box.tag
                #expect(try opener.open(datagram).plaintext == plaintext)
                #expect(throws: SealedDatagramError.replayed(counter)) { try opener.open(datagram) }
            }
        }
    }

    /// Flips each bit of a datagram of full length, and cuts off each suffix.
    @Test func everyBitIsAuthenticated() throws {
        var random = SeededGenerator(seed: 23)
        let key = SealingKey.made(7)
        let cipher = try #require(DatagramCipher(key: key, .open))
        let plaintext = random.bytes(100)
        let sealed = try DatagramSealer(key: key).seal(.media, plaintext)
        func open(_ datagram: [UInt8], counter: UInt64 = 0) -> [UInt8]? {
            var content = Array(datagram[12..<datagram.count - 16])
            let isOpen = content.withUnsafeMutableBytes { content in
                datagram.withUnsafeBytes { bytes in
                    cipher.open(
                        content, header: UnsafeRawBufferPointer(rebasing: bytes[..<12]),
                        nonce: DatagramCipher.Nonce(salt: key.saltWord, counter: counter),
                        tag: UnsafeRawBufferPointer(rebasing: bytes.suffix(16)))
                }
            }
            if !isOpen { #expect(content.allSatisfy { $0 == 0 }, "the plaintext of a forged datagram is wiped") }
            return isOpen ? content : nil
        }
        #expect(open(sealed) == plaintext)
        for bit in 0..<sealed.count * 8 {
            var spoiled = sealed
            spoiled[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(open(spoiled) == nil, "bit \(bit)")
        }
        for length in 28..<sealed.count { #expect(open(Array(sealed.prefix(length))) == nil) }
        #expect(open(sealed, counter: 1) == nil)
        // A failure doesn't affect the next datagram.
        #expect(open(sealed) == plaintext)
    }

    /// Sealers and openers may move between threads, and several threads may seal at once.
    @Test func manyThreadsCanSeal() async throws {
        let sealer = DatagramSealer(key: .golden)
        let sealed = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
            for task in 0..<4 {
                group.addTask {
                    try (0..<500).map { try sealer.seal(.media, [UInt8](repeating: UInt8(task), count: 40 + $0)) }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        var opener = DatagramOpener(key: .golden)
        for datagram in sealed {
            let plaintext = try opener.open(datagram).plaintext
            #expect(plaintext.count == datagram.count - 28 && Set(plaintext).count == 1)
        }
        #expect(sealer.datagramsSealed == 2000)
    }

    @Test func keysOfOtherLengthsAreRefused() {
        #expect(SealingKey(number: 1, key: [UInt8](repeating: 1, count: 15), salt: [1, 2, 3, 4]) == nil)
        #expect(DatagramCipher(key: .golden, .seal) != nil)
    }
}
