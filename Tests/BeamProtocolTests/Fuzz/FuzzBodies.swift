import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Properties that hold for any input. Each body answers what was wrong, or nil.
enum FuzzBodies {
    /// A datagram is refused, or its parts lie within its bytes and can be written again.
    static func datagram(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            guard let datagram = try? MediaDatagram(bytes) else { return nil }
            let headerLength = MediaForm.version1.headerLength
            let lengths = headerLength + datagram.config.count + datagram.payload.count
            guard lengths == bytes.count else { return "the parts of the datagram don't add up" }
            if let sets = ParameterSetBlock.decode(datagram.config),
                ParameterSetBlock.encode(sets) != Array(datagram.config)
            {
                return "a block of parameter sets differs after the round trip"
            }
            var header = [UInt8](repeating: 0, count: headerLength)
            header.withUnsafeMutableBytes { datagram.header.write(to: $0, as: .version1) }
            return header == Array(bytes.prefix(headerLength)) ? nil : "a header differs after the round trip"
        }
    }

    /// A line is refused, or reads the same after it is written again.
    static func line(_ bytes: [UInt8]) -> String? {
        guard let message = try? ControlMessage(line: bytes[...]) else { return nil }
        let line = message.line
        guard line.last == 0x0A, !line.dropLast().contains(0x0A) else { return "a message isn't one line" }
        return (try? ControlMessage(line: line.dropLast())) == message ? nil : "a message differs after the round trip"
    }

    /// The lines don't depend on where the stream is cut, and the buffer is bounded.
    static func stream(_ bytes: [UInt8], _ random: inout SeededGenerator) -> String? {
        func lines(_ chunks: [ArraySlice<UInt8>]) -> [[UInt8]]? {
            var buffer = LineBuffer()
            var lines: [[UInt8]] = []
            for chunk in chunks {
                guard (try? buffer.append(Array(chunk)) { lines.append(Array($0)) }) != nil else { return nil }
            }
            return lines
        }
        let cut = Int.random(in: 0...bytes.count, using: &random)
        return lines([bytes[...]]) == lines([bytes[..<cut], bytes[cut...]]) ? nil : "the lines depend on the cut"
    }

    /// For any datagrams, memory is bounded, and each frame that comes out is in AVCC form.
    static func reassembler(_ random: inout SeededGenerator, _ mutate: (inout SeededGenerator) -> [UInt8]) -> String? {
        var reassembler = Reassembler()
        var now = MediaTime.zero
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            let bytes = mutate(&random)
            _ = bytes.withUnsafeBytes { reassembler.insert($0, now: now) }
            while let unit = reassembler.nextFrame()?.unit {
                let isWellFormed = unit.bytes.withUnsafeBytes {
                    AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[unit.range]))
                }
                guard isWellFormed else { return "a frame isn't in AVCC form" }
                guard unit.isKeyframe == (unit.parameterSets != nil) else { return "a keyframe without parameter sets" }
            }
            guard reassembler.bytesHeld <= 32 << 20, reassembler.framesInFlight <= 64 else { return "too much is held" }
            if random.chance(0.2) {
                now = now + .milliseconds(Int64.random(in: 0...700, using: &random))
                reassembler.expire(now: now)
                if let deadline = reassembler.deadline, deadline <= now { return "an expired frame is still held" }
            }
            if random.chance(0.02) { reassembler.decoderFailed() }
        }
        reassembler.expire(now: now + .seconds(2))
        return reassembler.framesInFlight == 0 ? nil : "a frame never expires"
    }

    /// After any input the session comes to rest, and its next deadline is in the future.
    static func viewer(_ random: inout SeededGenerator, _ bytes: (inout SeededGenerator) -> [UInt8]) -> String? {
        let isSecure = random.chance(0.5)
        var configuration = ViewerSession.Configuration.version1()
        if isSecure { configuration.announcedVersion = 2 }
        configuration.asksForCode = random.chance(0.5)
        if random.chance(0.5) { configuration.trust.known = [.host: "host"] }
        var session = ViewerSession(configuration: configuration, random: SeededGenerator(seed: 1))
        var now = MediaTime.zero
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            switch Int.random(in: 0..<12, using: &random) {
            case 0...1: session.handle(isSecure ? .controlSecured(.host) : .controlConnected, now: now)
            case 2...4:
                session.handle(
                    isSecure ? .controlMessage(secureMessage(&random, bytes)) : .controlBytes(bytes(&random)), now: now)
            case 5: session.handle(.controlClosed(reason: "gone"), now: now)
            case 6: session.handle(.mediaOpened(localPort: 7), now: now)
            case 7: session.handle(random.chance(0.5) ? .mediaFailed(reason: "no") : .decoderFailed, now: now)
            case 8: session.handle(random.chance(0.9) ? .hostAppeared : .shutdown, now: now)
            default: bytes(&random).withUnsafeBytes { session.handleDatagram($0, now: now) }
            }
            let error = rest(now) {
                if case .wait(let time, _) = session.pollOutput(now: now) { time } else { nil }
            }
            if let error { return error }
            now = now + .milliseconds(Int64.random(in: 0...2000, using: &random))
        }
        return nil
    }

    static func host(_ random: inout SeededGenerator, _ bytes: (inout SeededGenerator) -> [UInt8]) -> String? {
        let acceptance = Door.Acceptance.allCases.randomElement(using: &random) ?? .all
        var session = HostSession(
            configuration: HostSession.Configuration(
                door: Door.Configuration(
                    acceptance: acceptance,
                    trust: HostTrust(
                        own: .host, remembered: random.chance(0.5) ? [.viewer: "viewer"] : [:],
                        code: random.chance(0.5) ? .none : HostCode(given: PairingCode("482913")!, isRenewed: true),
                        takesNewViewers: random.chance(0.8)),
                    allowsUnencrypted: true),
                broadcast: Broadcast.Configuration(pacing: Pacing(bitsPerSecond: 8_000_000, queueBytes: 50_000))),
            random: SeededGenerator(seed: 1))
        var now = MediaTime.zero
        var frame: UInt32 = 0
        session.handle(.mediaPort(52346), now: now)
        for _ in 0..<Int.random(in: 1...80, using: &random) {
            let id = ConnectionID(UInt64.random(in: 0..<6, using: &random))
            let ip = IPAddress.v4(UInt32.random(in: 0..<3, using: &random))
            let address = NetworkAddress(ip: ip, port: UInt16.random(in: 1..<5, using: &random))
            switch Int.random(in: 0..<16, using: &random) {
            case 0...2: session.handle(.connectionOpened(id, from: ip), now: now)
            case 3...4: session.handle(.connectionBytes(id, bytes(&random)), now: now)
            case 5:
                session.handle(
                    .connectionSecured(id, random.chance(0.5) ? .viewer : .made(random.bytes(1)[0])), now: now)
            case 6:
                for _ in 0..<3 {
                    session.handle(.connectionMessage(id, secureMessage(&random, bytes)), now: now)
                }
            case 7: session.handle(.connectionClosed(id), now: now)
            case 8: session.handle(.decision(id, accept: random.chance(0.7)), now: now)
            case 9 where random.chance(0.2): session.handle(.remembered([:]), now: now)
            case 9: session.handle(.broadcast(random.chance(0.8)), now: now)
            case 10: session.handle(random.chance(0.5) ? .mediaPort(address.port) : .sendFailed(address), now: now)
            case 11 where random.chance(0.05): session.handle(.shutdown, now: now)
            case 11...13: MediaLimits.hello.withUnsafeBytes { session.handleDatagram($0, from: address, now: now) }
            default:
                frame += 1
                let isKeyframe = random.chance(0.3)
                session.handleFrame(
                    TestFrame.make(
                        frame, reference: isKeyframe ? nil : frame - 1,
                        bytes: Int.random(in: 13...30_000, using: &random)), now: now)
            }
            var isWorkForNothing = false
            let error = rest(now) {
                switch session.pollOutput(now: now) {
                case .wait(let time, _): return time
                case .transmit(let burst):
                    isWorkForNothing = isWorkForNothing || burst.range.isEmpty
                    return nil
                default: return nil
                }
            }
            if let error { return error }
            if isWorkForNothing { return "a burst is empty, or has no destination" }
            let statistics = session.statistics
            guard statistics.watching <= statistics.viewers else { return "more watch than were admitted" }
            now = now + .milliseconds(Int64.random(in: 0...3000, using: &random))
        }
        return nil
    }

    /// A version 2 message: a valid one, one with unlikely values, or bytes that are none.
    private static func secureMessage(
        _ random: inout SeededGenerator, _ bytes: (inout SeededGenerator) -> [UInt8]
    ) -> [UInt8] {
        let share = random.bytes(32)
        let key = SealingKey(number: UInt16(random.bytes(1)[0] & 3), random: &random)
        let messages: [SecureMessage] = [
            .hello(SecureMessage.Hello(instance: UInt64(random.bytes(1)[0] & 1), name: "viewer")), .join, .join,
            .welcome(
                SecureMessage.Welcome(
                    isTrusted: random.chance(0.5), methods: SecureMessage.Welcome.Methods(rawValue: random.bytes(1)[0]),
                    nonce: share, name: "host")),
            .session(
                SecureMessage.Session(
                    id: random.bytes(16), mediaPort: 52346, isBroadcasting: true, viewerKey: key, mediaKey: key)),
            .codeShare(share), .codeConfirm(random.bytes(64)), .codeWait(1000), .compareCommit(share),
            .compareNonce(share, digits: UInt8.random(in: 0...9, using: &random)),
            .compareReveal(share), .paired(isRemembered: true), .mediaKey(key),
            .mediaKeyReady(1), .mediaPort(52347), .broadcast(random.chance(0.5)), .ping(1), .pong(1, clock: UInt64.max),
            .qualityWanted(QualityWish(maxSize: Int(share[0]), bitRate: Int(share[1]), frameRate: Double(share[2]))),
            .refused(.busy, "no"), .refused(.wrongCode, "no"), .bye("end"), .unknown(99),
        ]
        let message = messages.randomElement(using: &random)?.bytes ?? []
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return bytes(&random)
        case 1: return Array(message.prefix(Int.random(in: 0...message.count, using: &random)))
        case 2:
            var damaged = message
            damaged[Int.random(in: 0..<message.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            return damaged
        default: return message
        }
    }

    /// Polls until only a wait is left.
    static func rest(_ now: MediaTime, _ poll: () -> MediaTime?) -> String? {
        for _ in 0..<20_000 {
            guard let deadline = poll() else { continue }
            return deadline > now ? nil : "the next deadline is past"
        }
        return "it doesn't come to rest"
    }
}
