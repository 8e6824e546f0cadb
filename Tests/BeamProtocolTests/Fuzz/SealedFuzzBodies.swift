import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// A decrypted datagram is refused, or its parts lie within its bytes and can be written again.
    static func sealedPlaintext(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            guard let datagram = try? MediaDatagram(version2: bytes) else { return nil }
            let headerLength = MediaForm.version2.headerLength
            let lengths = headerLength + datagram.config.count + datagram.payload.count
            guard lengths == bytes.count else { return "the parts of the datagram don't add up" }
            var header = [UInt8](repeating: 0, count: headerLength)
            header.withUnsafeMutableBytes { datagram.header.write(to: $0, as: .version2) }
            // Stage times are ignored without a capture time.
            if datagram.header.frame.captureTime == nil {
                header.replaceSubrange(24..<28, with: bytes[24..<28])
            }
            return header == Array(bytes.prefix(headerLength)) ? nil : "a header differs after the round trip"
        }
    }

    /// Keys come and go, time passes, and datagrams are sealed with old, current, announced and unknown keys; some are
    /// damaged.
    static func keyRing(_ random: inout SeededGenerator) -> String? {
        var ring = MediaKeyRing()
        var sealers: [DatagramSealer] = []
        var opened: Set<SealedHeader> = []
        var now = MediaTime.zero
        var plaintext: [UInt8] = []
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            if random.chance(0.2) || sealers.isEmpty {
                let key = SealingKey.made(UInt16(sealers.count), seed: 3)
                sealers.append(DatagramSealer(key: key))
                if random.chance(0.9) { ring.add(key) }
                if random.chance(0.2) { ring.add(key) }
            }
            guard ring.numbers.count <= MediaKeyRing.limit else { return "too many keys are held" }
            now = now + .milliseconds(Int64.random(in: 0...700, using: &random))
            guard let sealer = sealers.suffix(6).randomElement(using: &random),
                let sealed = try? sealer.seal(.media, [1, 2, 3])
            else { return "a key is exhausted" }
            var datagram = sealed
            if random.chance(0.3) {
                var mutator = Mutator(seed: random.next())
                datagram = mutator.mutate(datagram, with: [datagram])
            }
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                let isOpen = datagram.withUnsafeBytes { (try? ring.open($0, into: &plaintext, now: now)) != nil }
                guard isOpen else {
                    guard plaintext.isEmpty else { return "a refused datagram left plaintext behind" }
                    continue
                }
                guard datagram == sealed, plaintext == [1, 2, 3] else { return "it opened what wasn't sealed" }
                let header = datagram.withUnsafeBytes { try? SealedDatagram($0, from: .host).header }
                guard let header, opened.insert(header).inserted else { return "it opened something twice" }
            }
        }
        return nil
    }
}
