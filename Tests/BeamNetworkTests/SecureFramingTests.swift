import BeamIdentity
import Foundation
import NIOCore
import Testing

@testable import BeamNetwork

struct SecureFramingTests {
    private func framed(_ message: [UInt8]) -> [UInt8] {
        Array(MessageFraming.frame(message, allocator: ByteBufferAllocator()).readableBytesView)
    }

    private func messages(_ bytes: [UInt8], pieces size: Int, limit: Int = 1000) throws -> [[UInt8]] {
        var framing = MessageFraming()
        framing.limit = limit
        var messages: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            framing.append(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            while let message = try framing.next() { messages.append(message) }
        }
        return messages
    }

    @Test func `A message's bytes on the wire`() {
        #expect(framed([0xAA, 0xBB]) == [0, 0, 0, 2, 0xAA, 0xBB])
        #expect(framed([UInt8](repeating: 1, count: 0x01_02_03)).prefix(5) == [0, 1, 2, 3, 1])
    }

    @Test(arguments: [1, 2, 3, 4, 5, 7, 64, 100_000])
    func `In pieces of any size`(size: Int) throws {
        let sent = [[1], [2, 2], [], Array(repeating: 3, count: 300), [4]].filter { !$0.isEmpty } as [[UInt8]]
        #expect(try messages(sent.flatMap(framed), pieces: size) == sent)
    }

    @Test func `What is left out, and what is too long`() {
        #expect(throws: MessageFraming.Failure.empty) { try messages([0, 0, 0, 0], pieces: 4) }
        #expect(throws: MessageFraming.Failure.tooLong(1001, limit: 1000)) { try messages([0, 0, 3, 0xE9], pieces: 4) }
        #expect(throws: MessageFraming.Failure.tooLong(.max, limit: MessageFraming.longest)) {
            try messages([0xFF, 0xFF, 0xFF, 0xFF], pieces: 1, limit: .max)
        }
        // 10 MiB is the hard limit, even if `limit` is higher.
        #expect(throws: Never.self) { try messages([0x00, 0xA0, 0x00, 0x00], pieces: 4, limit: .max) }
        #expect(throws: MessageFraming.Failure.self) { try messages([0x00, 0xA0, 0x00, 0x01], pieces: 4, limit: .max) }
    }

    @Test func `Messages before the bad one are delivered`() {
        var framing = MessageFraming()
        framing.append(ByteBuffer(bytes: framed([1]) + framed([2]) + [0, 0, 0, 0]))
        #expect(throws: Never.self) { try #require(framing.next() == [1]) }
        #expect(throws: Never.self) { try #require(framing.next() == [2]) }
        #expect(throws: MessageFraming.Failure.empty) { try framing.next() }
    }

    @Test func `A new limit applies to the next message`() throws {
        var framing = MessageFraming()
        framing.limit = 10
        framing.append(ByteBuffer(bytes: framed([1]) + framed(Array(repeating: 2, count: 100))))
        #expect(try framing.next() == [1])
        framing.limit = 100
        #expect(try framing.next()?.count == 100)
    }

    @Test func `Memory grows with received bytes, not with the announced length`() throws {
        var framing = MessageFraming()
        framing.limit = MessageFraming.longest
        // Announces 10 MiB, but sends little.
        framing.append(ByteBuffer(bytes: [0x00, 0xA0, 0x00, 0x00]))
        #expect(try framing.next() == nil)
        #expect(framing.heldCapacity < 1024)
        for _ in 0..<10_000 { framing.append(ByteBuffer(bytes: [0])) }
        #expect(try framing.next() == nil)
        #expect(framing.heldCapacity <= 32 << 10)
    }

    @Test func `The memory of a large message is released`() throws {
        var framing = MessageFraming()
        framing.limit = MessageFraming.longest
        framing.append(ByteBuffer(bytes: framed([UInt8](repeating: 1, count: 4 << 20))))
        #expect(try framing.next()?.count == 4 << 20)
        #expect(framing.heldCapacity <= 64 << 10)
    }

    // MARK: Through TLS

    private func connected(limit: Int? = nil) async throws -> (SecureEnd, UnknownPeerConnection) {
        let host = try await SecureEnd.host(LocalIdentity(), limit: limit)
        let unknownPeer = try await UnknownPeer().connect(port: host.port)
        #expect(host.events.wait { if case .secured = $0 { true } else { false } } != nil)
        return (host, unknownPeer)
    }

    @Test func `An empty message ends the connection`() async throws {
        let (host, unknownPeer) = try await connected()
        try await unknownPeer.write(framed([1]) + [0, 0, 0, 0] + framed([2]))
        #expect(host.events.waitForEnd() == MessageFraming.Failure.empty.description)
        #expect(host.events.messages == [[1]])
        #expect(unknownPeer.hasEnded)
    }

    @Test func `An unauthenticated peer's long message ends the connection at its length`() async throws {
        let (host, unknownPeer) = try await connected()
        try await unknownPeer.write([0, 2, 0x80, 1])
        #expect(
            host.events.waitForEnd()
                == "it announced a message of 163841 bytes, more than the 163840 allowed")
        #expect(unknownPeer.hasEnded)
    }

    @Test func `An incomplete message isn't delivered`() async throws {
        let (host, unknownPeer) = try await connected()
        try await unknownPeer.write([0, 0, 0, 10, 1, 2, 3])
        unknownPeer.close()
        #expect(host.events.waitForEnd() == TLSFailure.closed)
        #expect(host.events.messages.isEmpty)
    }

    @Test func `A message of one-byte TLS records is delivered`() async throws {
        let (host, unknownPeer) = try await connected()
        for byte in framed([1, 2, 3]) + framed([4]) { try await unknownPeer.write([byte]) }
        #expect(host.events.wait { $0 == .message([4]) } != nil)
        #expect(host.events.messages == [[1, 2, 3], [4]])
    }

    @Test func `Many small messages arrive in order`() async throws {
        let (host, unknownPeer) = try await connected()
        let count = 50_000
        var bytes: [UInt8] = []
        for number in 0..<count {
            bytes += [0, 0, 0, 4]
            bytes += withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
        }
        try await unknownPeer.write(bytes)
        let last = withUnsafeBytes(of: UInt32(count - 1).bigEndian) { Array($0) }
        #expect(host.events.wait { $0 == .message(last) } != nil)
        #expect(host.events.messages.count == count)
    }

    @Test func `Bytes after the end are ignored`() async throws {
        let (host, unknownPeer) = try await connected()
        unknownPeer.channel.writeAndFlush(ByteBuffer(bytes: [0, 0, 0, 0]), promise: nil)
        for _ in 0..<200 {
            unknownPeer.channel.writeAndFlush(
                ByteBuffer(bytes: framed([UInt8](repeating: 7, count: 10_000))), promise: nil)
        }
        #expect(host.events.waitForEnd() == MessageFraming.Failure.empty.description)
        #expect(unknownPeer.hasEnded)
        #expect(host.events.messages.isEmpty)
    }

    @Test func `A connection that ends without close_notify has ended`() async throws {
        let (host, unknownPeer) = try await connected()
        // Closes TCP below TLS, so that TLS can't send close_notify.
        try await unknownPeer.cut()
        #expect(host.events.waitForEnd() != nil)
    }

    // MARK: Fuzz

    /// `BEAMROOM_FUZZ_ITERATIONS` sets the number of inputs (a usual run: 100,000), `BEAMROOM_FUZZ_SEED` the first
    /// seed.
    private static func seeds(_ usual: Int) -> Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        let wanted = environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 100_000
        return first..<first + UInt64(max(1, wanted * usual / 100_000))
    }

    /// Fuzz body: any bytes in any pieces give the same messages, within the limits of length and memory.
    @Test func `Fuzz: message framing`() {
        for seed in Self.seeds(1000) {
            var random = SplitMix(state: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let count = Int.random(in: 0...300, using: &random)
                let announced =
                    Int.random(in: 0...9, using: &random) == 0 ? Int.random(in: 0...2000, using: &random) : count
                bytes += withUnsafeBytes(of: UInt32(announced).bigEndian) { Array($0) }
                bytes += (0..<count).map { _ in .random(in: 0...255, using: &random) }
            }
            let limit = Int.random(in: 1...600, using: &random)

            // A second implementation, straight from the specification.
            var expected: [[UInt8]] = []
            var failure: MessageFraming.Failure?
            var rest = bytes[...]
            while rest.count >= 4, failure == nil {
                let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
                if count == 0 {
                    failure = .empty
                } else if count > limit {
                    failure = .tooLong(UInt32(count), limit: limit)
                } else if rest.count >= 4 + count {
                    expected.append(Array(rest.dropFirst(4).prefix(count)))
                    rest = rest.dropFirst(4 + count)
                } else {
                    break
                }
            }

            var framing = MessageFraming()
            framing.limit = limit
            var got: [[UInt8]] = []
            var error: MessageFraming.Failure?
            var index = 0
            while index < bytes.count, error == nil {
                let end = min(bytes.count, index + .random(in: 1...500, using: &random))
                framing.append(ByteBuffer(bytes: bytes[index..<end]))
                index = end
                do throws(MessageFraming.Failure) {
                    while let message = try framing.next() { got.append(message) }
                } catch let caught {
                    error = caught
                }
                #expect(framing.heldCapacity <= 64 << 10, "seed \(seed)")
            }
            #expect(got == expected, "seed \(seed)")
            #expect(error == failure, "seed \(seed)")
        }
    }
}

/// SplitMix64: the same seed gives the same sequence.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
