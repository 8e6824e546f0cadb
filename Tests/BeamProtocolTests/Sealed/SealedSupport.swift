import BeamMedia

@testable import BeamProtocol

extension SealingKey {
    /// The key of the golden bytes.
    static let golden = SealingKey(number: 0x0203, key: Array(0x10..<0x20), salt: [0xA0, 0xA1, 0xA2, 0xA3])!

    /// A key that follows from its number and the seed.
    static func made(_ number: UInt16, seed: UInt64 = 0) -> SealingKey {
        var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x1_0001)
        return SealingKey(number: number, random: &random)
    }
}

/// A frame's version 2 datagrams, each by itself.
func sealedDatagrams(_ unit: AccessUnit, _ sequence: UInt32, _ sealer: DatagramSealer) throws -> [[UInt8]] {
    let bytes = try Fragmenter.datagrams(of: unit, sequence: SequenceNumber(sequence), sealedBy: sealer)
    return stride(from: 0, to: bytes.count, by: 1200).map { Array(bytes[$0..<min($0 + 1200, bytes.count)]) }
}

/// The same of a frame that may follow a disposable one.
func sealedDatagrams(
    _ unit: AccessUnit, _ sequence: UInt32, _ sealer: DatagramSealer, isAfterDisposable: Bool
) throws -> [[UInt8]] {
    let cutter = try FrameCutter(unit, as: .version2, isAfterDisposable: isAfterDisposable)
    return try (0..<cutter.partCount).map { part in
        var datagram = [UInt8](repeating: 0, count: cutter.length(ofPart: part))
        try datagram.withUnsafeMutableBytes {
            cutter.write(part: part, sequence: SequenceNumber(sequence), to: $0)
            try sealer.seal(.media, in: $0)
        }
        return datagram
    }
}

extension DatagramOpener {
    /// What `bytes` held.
    mutating func open(
        _ bytes: [UInt8], from sender: SealedHeader.Sender = .host
    ) throws(SealedDatagramError) -> (opened: Opened, plaintext: [UInt8]) {
        var plaintext: [UInt8] = [1, 2, 3]
        var result: Result<Opened, SealedDatagramError>?
        bytes.withUnsafeBytes { bytes in
            do throws(SealedDatagramError) {
                result = .success(try open(try SealedDatagram(bytes, from: sender), into: &plaintext))
            } catch {
                result = .failure(error)
            }
        }
        return (try (result ?? .failure(.forged)).get(), plaintext)
    }
}

/// A viewer's side of the sealed media plane: what comes goes through the key ring into the reassembler.
struct SealedReceiver {
    var keys = MediaKeyRing()
    var reassembler = Reassembler()
    var frames: [AccessUnit] = []
    var now = MediaTime.zero
    private var plaintext: [UInt8] = []

    /// The error that `bytes` met, if any.
    @discardableResult
    mutating func receive(_ bytes: [UInt8]) -> SealedDatagramError? {
        bytes.withUnsafeBytes { receive($0) }
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> SealedDatagramError? {
        do throws(SealedDatagramError) {
            _ = try keys.open(bytes, into: &plaintext, now: now)
        } catch {
            reassembler.refused(error, wireLength: bytes.count)
            return error
        }
        plaintext.withUnsafeBytes { plaintext in
            do throws(MediaDatagramError) {
                _ = reassembler.insert(try MediaDatagram(version2: plaintext), now: now)
            } catch {
                reassembler.refused(error, wireLength: bytes.count)
            }
        }
        while let unit = reassembler.nextFrame() { frames.append(unit) }
        return nil
    }
}

extension Pacer {
    /// Seals with `key` from the next frame on.
    mutating func use(_ key: SealingKey) { use(DatagramSealer(key: key)) }
}
