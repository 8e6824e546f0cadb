import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// Any feedback is bounded, and reads the same after it is written again.
    static func feedback(_ bytes: [UInt8]) -> String? {
        let feedback = bytes.withUnsafeBytes { Feedback($0) }
        guard feedback.missing.count <= bytes.count / 7 else { return "more missing frames than the bytes can name" }
        for missing in feedback.missing {
            guard missing.parts.count <= Feedback.Missing.mostRanges else { return "too many ranges" }
            guard missing.parts.allSatisfy({ !$0.isEmpty && $0.upperBound <= 1 << 17 }) else {
                return "a range of parts"
            }
        }
        if let report = feedback.report {
            guard report.arrivals.count <= Feedback.Report.mostArrivals else { return "too many arrivals" }
            guard report.arrivals.allSatisfy({ $0.received > 0 && $0.lastAge <= $0.firstAge }) else {
                return "an impossible arrival"
            }
        }
        let again = feedback.plaintext.withUnsafeBytes { Feedback($0) }
        return again == feedback ? nil : "feedback differs after the round trip"
    }

    /// The same for a `StreamState`.
    static func state(_ bytes: [UInt8]) -> String? {
        let state = bytes.withUnsafeBytes { StreamState($0) }
        let again = state.plaintext.withUnsafeBytes { StreamState($0) }
        return again == state ? nil : "a stream's state differs after the round trip"
    }

    /// An admitted viewer sends any feedback: the session comes to rest, its next deadline is in the future, no burst
    /// is empty or without a destination, and not more parts are retransmitted than were sent.
    static func lyingViewer(
        _ random: inout SeededGenerator, _ golden: [[UInt8]]
    ) -> String? {
        var session = HostSession(
            configuration: HostSession.Configuration(
                door: Door.Configuration(
                    acceptance: .none,
                    trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none)),
                broadcast: Broadcast.Configuration(
                    pacing: Pacing(bitsPerSecond: Int.random(in: 1...50, using: &random) * 1_000_000))),
            random: SeededGenerator(seed: 1))
        var now = MediaTime.at(1)
        var key: SealingKey?
        var mediaKey: SealingKey?
        var token: UInt64?
        var error: String?
        func drain() {
            error =
                error
                ?? rest(now) {
                    switch session.pollOutput(now: now) {
                    case .wait(let time, _): return time
                    case .send(_, let bytes):
                        if case .session(let joined)? = try? SecureMessage(bytes) {
                            key = joined.viewerKey
                            mediaKey = joined.mediaKey
                        }
                    case .transmit(let burst):
                        if burst.range.isEmpty {
                            error = "a burst is empty, or has no destination"
                        }
                        guard token == nil, var opener = mediaKey.map({ DatagramOpener(key: $0) }) else { break }
                        let opened = try? opener.open(Array(burst.bytes[burst.range]))
                        token = opened?.plaintext.withUnsafeBytes { StreamState($0).challenge }
                    default: break
                    }
                    return nil
                }
        }
        let connection = ConnectionID(1)
        session.handle(.mediaPort(52346), now: now)
        session.handle(.broadcast(true), now: now)
        session.handle(.connectionOpened(connection, from: .v4(1)), now: now)
        session.handle(.connectionSecured(connection, .viewer), now: now)
        for message in [SecureMessage.hello(SecureMessage.Hello(instance: 1, name: "viewer")), .join] {
            session.handle(.connectionMessage(connection, message.bytes), now: now)
            drain()
        }
        guard let sealer = key.map({ DatagramSealer(key: $0) }) else { return "the viewer wasn't admitted" }
        let address = NetworkAddress(ip: .v4(1), port: 40000)
        func say(_ kind: SealedHeader.Kind, _ plaintext: [UInt8]) {
            guard let datagram = try? sealer.seal(kind, plaintext) else { return }
            datagram.withUnsafeBytes { session.handleDatagram($0, from: address, now: now) }
            drain()
        }
        say(.hello, SealedHello(time: now).plaintext)
        say(.hello, SealedHello(time: now, token: token).plaintext)
        guard session.statistics.watching == 1 else { return "the viewer didn't prove its address" }
        var frame: UInt32 = 0
        for _ in 0..<Int.random(in: 1...120, using: &random) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                frame += 1
                let isKeyframe = frame == 1 || random.chance(0.1)
                session.handleFrame(
                    TestFrame.make(
                        frame, reference: isKeyframe ? nil : frame - 1,
                        bytes: Int.random(in: 13...30_000, using: &random), time: now), now: now)
                drain()
            case 3...7:
                var mutator = Mutator(seed: random.next())
                let good = plausible(frame, now: now, &random).plaintext
                say(.feedback, random.chance(0.5) ? good : mutator.mutate(good, with: golden))
            case 8 where random.chance(0.1): say(.hello, SealedHello(time: now).plaintext)
            default: now = now + .microseconds(Int64.random(in: 0...60_000, using: &random))
            }
            drain()
            if let error { return error }
            let statistics = session.statistics
            guard statistics.retransmissions <= statistics.datagrams else { return "more was retransmitted than sent" }
        }
        return nil
    }

    /// Feedback much like an honest viewer's.
    private static func plausible(_ newest: UInt32, now: MediaTime, _ random: inout SeededGenerator) -> Feedback {
        func number() -> SequenceNumber { SequenceNumber(newest &- UInt32.random(in: 0...8, using: &random)) }
        var feedback = Feedback(layer: random.chance(0.9) ? 0 : 1)
        if random.chance(0.1) { feedback.keyframeAfter = number() }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let first = Int.random(in: 0...30, using: &random)
            let range = first..<first + Int.random(in: 1...20, using: &random)
            feedback.missing.append(Feedback.Missing(frame: number(), parts: random.chance(0.2) ? [] : [range]))
        }
        guard random.chance(0.8) else { return feedback }
        var report = Feedback.Report(
            time: now + .milliseconds(Int64.random(in: -50...50, using: &random)),
            expected: UInt32.random(in: 0...500, using: &random), missed: UInt32.random(in: 0...100, using: &random))
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let age = UInt32.random(in: 0...100_000, using: &random)
            report.arrivals.append(
                Feedback.Arrival(
                    frame: number(), received: UInt16.random(in: 1...27, using: &random),
                    highest: UInt16.random(in: 0...27, using: &random), firstAge: age,
                    lastAge: UInt32.random(in: 0...age, using: &random)))
        }
        if random.chance(0.3) {
            report.recovery = Feedback.Recovery(frame: number(), part: UInt16.random(in: 0...30, using: &random))
        }
        feedback.report = report
        return feedback
    }
}
