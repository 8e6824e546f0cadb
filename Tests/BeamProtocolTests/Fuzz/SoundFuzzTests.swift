import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Authentic sound with any content, from a paired host or viewer that means harm.
struct SoundFuzzTests {
    /// A host and a viewer with sound, which have watched for a moment.
    private func simulation(seed: UInt64) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.source.hasSound = true
        simulation.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.takesSound = true
        simulation.addViewer(configuration: configuration)
        simulation.drive(for: .seconds(1))
        return simulation
    }

    private func value(_ random: inout SeededGenerator, near base: UInt64) -> UInt64 {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: 0
        case 1: .max
        case 2: UInt64(Int64.max / 1000)
        case 3: random.next()
        default: base &+ UInt64(bitPattern: Int64.random(in: -200...200, using: &random))
        }
    }

    @Test(arguments: Fuzzing.seeds(3)) func aHostileHostsSoundIsBounded(seed: UInt64) throws {
        let simulation = simulation(seed: seed)
        var (session, now) = (simulation.viewer.session, simulation.now)
        let key = try #require(simulation.host?.broadcast.stream.keys.current)
        let sealer = DatagramSealer(key: key.forSound, counter: 1 << 20)
        var random = SeededGenerator(seed: seed)
        var number: UInt64 = 100
        for _ in 0..<5_000 {
            number = value(&random, near: number)
            var bytes: [UInt8] = []
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: number))
            bytes.append(bigEndian: value(&random, near: now.microseconds))
            for _ in 0..<Int.random(in: 0...10, using: &random) {
                let length = [0, 1, 3, 40, 1275, 1276].randomElement(using: &random) ?? 0
                guard bytes.count + length < 1400 else { break }
                SoundDatagram.append(
                    [UInt8](repeating: 1, count: length),
                    SoundDatagram.Flags(rawValue: UInt8.random(in: 0...15, using: &random)), to: &bytes)
            }
            let datagram = try sealer.seal(.sound, bytes)
            datagram.withUnsafeBytes { session.handleDatagram($0, now: now) }
            try drain(&session, now: now)
            #expect(session.receiver.beside.sound.missingCount <= 128)
            now = now + .microseconds(Int64.random(in: 0...20_000, using: &random))
            try drain(&session, now: now)
        }
        // The picture is still watched, and honest sound is taken again.
        #expect(session.receiver.keys != nil)
        let before = session.statistics.sound.packets
        for count in 0..<50 {
            var bytes: [UInt8] = []
            SoundDatagram.appendHead(number: UInt32(5_000_000 + count), time: now, to: &bytes)
            SoundDatagram.append([1, 2, 3], [], to: &bytes)
            let datagram = try sealer.seal(.sound, bytes)
            datagram.withUnsafeBytes { session.handleDatagram($0, now: now) }
            try drain(&session, now: now)
            now = now + .milliseconds(10)
        }
        #expect(session.statistics.sound.packets >= before + 50)
    }

    private func drain(_ session: inout ViewerSession, now: MediaTime) throws {
        for _ in 0..<10_000 {
            if case .wait(let time, let reason) = session.pollOutput(now: now) {
                #expect(time > now, "\(String(describing: reason))")
                return
            }
        }
        Issue.record("it doesn't come to rest")
    }

    @Test(arguments: Fuzzing.seeds(3)) func aHostileViewersReportsAreBounded(seed: UInt64) throws {
        var simulation = simulation(seed: seed)
        var random = SeededGenerator(seed: seed)
        let viewer = simulation.viewer
        let port = try #require(viewer.localPort)
        let sealer = try #require(viewer.session.receiver.keys?.own.sealer)
        let begin = try #require(simulation.host?.statistics.soundRetransmissions)
        let (start, address) = (simulation.now, NetworkAddress(ip: viewer.address, port: port))
        for _ in 0..<2_000 {
            func number(_ base: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: value(&random, near: base)) }
            let newest = UInt64(simulation.soundCount)
            let missing = (0..<Int.random(in: 0...16, using: &random)).map { _ in number(newest) }
            let report = Feedback.Sound(
                expected: number(newest), missed: number(3), lost: number(1), missing: missing)
            simulation.datagram(try sealer.seal(.feedback, Feedback(sound: report).plaintext), from: address)
            simulation.drive(for: .milliseconds(3))
        }
        let sent = try #require(simulation.host?.statistics.soundRetransmissions) - begin
        let seconds = (simulation.now - start).inSeconds
        #expect(Double(sent) <= 40 + 100 * seconds, "\(sent) packets in \(seconds) s")
        // Such a viewer disturbs neither the picture nor the sound.
        #expect(simulation.viewer.frames.count > Int(seconds * 25))
        #expect(simulation.viewer.sounds.count > Int(seconds * 95))
    }
}
