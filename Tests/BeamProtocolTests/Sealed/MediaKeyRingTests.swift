import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Which keys a viewer opens media with, and for how long.
struct MediaKeyRingTests {
    struct Bench {
        var ring = MediaKeyRing()
        var now = MediaTime.zero
        private var sealers: [UInt16: DatagramSealer] = [:]

        mutating func sealed(_ number: UInt16) throws -> [UInt8] {
            let sealer = sealers[number] ?? DatagramSealer(key: .made(number))
            sealers[number] = sealer
            return try sealer.seal(.media, [1, 2, 3])
        }

        mutating func open(_ bytes: [UInt8]) throws -> DatagramOpener.Opened {
            var plaintext: [UInt8] = []
            return try bytes.withUnsafeBytes { try ring.open($0, into: &plaintext, now: now) }
        }

        mutating func come(_ number: UInt16) throws -> DatagramOpener.Opened { try open(try sealed(number)) }
    }

    @Test func nothingIsOpenedBeforeThereIsAKey() {
        var bench = Bench()
        #expect(throws: SealedDatagramError.unknownKey(1)) { try bench.come(1) }
    }

    /// Before any decryption: the header alone decides.
    @Test func unknownNumbersAreRefusedByTheirHeader() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        for number: UInt16 in [0, 2, 256, .max] {
            var bytes = try bench.sealed(1)
            bytes[2] = UInt8(number >> 8)
            bytes[3] = UInt8(number & 0xFF)
            #expect(throws: SealedDatagramError.unknownKey(number)) { try bench.open(bytes) }
        }
        #expect(throws: SealedDatagramError.kind(0xB2)) {
            try bench.open(try DatagramSealer(key: .made(1)).seal(.hello, []))
        }
    }

    @Test func theOldKeyIsValidForAMomentAfterARotation() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        #expect(try bench.come(1).isNewest)
        let late = try bench.sealed(1)
        let tooLate = try bench.sealed(1)
        bench.ring.add(.made(2))
        bench.now = .at(100)
        #expect(try bench.come(1).isNewest, "the announced key isn't in use yet")
        #expect(try bench.come(2).isNewest)
        bench.now = .at(100.999)
        #expect(try !bench.open(late).isNewest)
        #expect(bench.ring.numbers == [1, 2])
        bench.now = .at(101)
        #expect(throws: SealedDatagramError.unknownKey(1)) { try bench.open(tooLate) }
        #expect(bench.ring.numbers == [2])
        #expect(try bench.come(2).isNewest)
    }

    /// An evicted sender that goes on with the old key can't prolong its validity.
    @Test func useDoesNotProlongTheOldKey() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        bench.ring.add(.made(2))
        _ = try bench.come(1)
        _ = try bench.come(2)
        for step in 1..<10 {
            bench.now = .at(Double(step) / 10)
            _ = try bench.come(1)
            _ = try bench.come(2)
        }
        bench.now = .at(1)
        #expect(throws: SealedDatagramError.unknownKey(1)) { try bench.come(1) }
    }

    @Test func aKeyThatIsAnnouncedAgainKeepsItsReplayWindow() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        let bytes = try bench.sealed(1)
        _ = try bench.open(bytes)
        bench.ring.add(.made(1))
        #expect(throws: SealedDatagramError.replayed(0)) { try bench.open(bytes) }
    }

    @Test func anotherKeyOfTheSameNumberReplacesTheOldOne() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        let old = try bench.sealed(1)
        bench.ring.add(.made(1, seed: 7))
        #expect(throws: SealedDatagramError.forged) { try bench.open(old) }
        #expect(try bench.open(try DatagramSealer(key: .made(1, seed: 7)).seal(.media, [])).isNewest)
    }

    @Test func skippedKeysAreDropped() throws {
        var bench = Bench()
        for number: UInt16 in 1...4 { bench.ring.add(.made(number)) }
        _ = try bench.come(1)
        _ = try bench.come(3)
        #expect(bench.ring.numbers == [1, 3, 4])
        #expect(throws: SealedDatagramError.unknownKey(2)) { try bench.come(2) }
        #expect(try bench.come(4).isNewest)
        #expect(bench.ring.numbers == [3, 4])
    }

    /// However many keys are announced, few are held, and the one in use is among them.
    @Test func theRingIsBounded() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        bench.ring.add(.made(2))
        _ = try bench.come(1)
        _ = try bench.come(2)
        for number: UInt16 in 3...200 {
            bench.ring.add(.made(number))
            #expect(bench.ring.numbers.count <= MediaKeyRing.limit)
        }
        #expect(bench.ring.numbers == [2, 198, 199, 200])
        #expect(try bench.come(2).isNewest)
        #expect(try bench.come(200).isNewest)
        #expect(bench.ring.numbers == [2, 200])

        var fresh = MediaKeyRing()
        for number: UInt16 in 1...10 { fresh.add(.made(number)) }
        #expect(fresh.numbers == [7, 8, 9, 10])
    }

    /// A forged datagram with the number of an announced key doesn't switch keys.
    @Test func aForgedDatagramDoesNotRotateTheKey() throws {
        var bench = Bench()
        bench.ring.add(.made(1))
        _ = try bench.come(1)
        bench.ring.add(.made(2))
        var forged = try bench.sealed(1)
        forged[3] = 2
        #expect(throws: SealedDatagramError.forged) { try bench.open(forged) }
        bench.now = .at(60)
        #expect(try bench.come(1).isNewest)
    }
}
