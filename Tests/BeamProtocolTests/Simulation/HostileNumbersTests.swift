import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Impossible numbers from authenticated peers: they crash nobody, and have no lasting effect.
struct HostileNumbersTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func simulation() -> Simulation {
        var simulation = Simulation(seed: 5)
        simulation.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.made(1): "viewer"], code: .none))
        simulation.join(Self.lan)
        return simulation
    }

    /// Sends feedback sealed with the viewer's own key in the viewer's name.
    private func say(_ feedback: [UInt8], in simulation: inout Simulation) throws {
        let viewer = simulation.viewers[0]
        let sealer = try #require(viewer.session.receiver.keys?.own.sealer)
        let address = NetworkAddress(ip: viewer.address, port: try #require(viewer.localPort))
        simulation.datagram(try sealer.seal(.feedback, feedback), from: address)
        simulation.drive(for: .milliseconds(1))
    }

    /// Item 3 with this clock, and item 4 about the newest frame, also with values that a `Feedback` can't hold.
    private func report(_ microseconds: UInt64, age: UInt32, frame: UInt32) -> [UInt8] {
        var bytes: [UInt8] = [3, 17]
        bytes.append(bigEndian: microseconds)
        bytes += [0, 0, 1, 0, 0, 0, 0, 0, 0] + [4, 16]
        bytes.append(bigEndian: frame)
        bytes += [0, 1, 0, 0]
        bytes.append(bigEndian: age)
        bytes.append(bigEndian: UInt32(0))
        return bytes
    }

    private func report(in simulation: Simulation, microseconds: UInt64, age: UInt32) -> [UInt8] {
        report(microseconds, age: age, frame: simulation.host?.broadcast.stream.layers[0].newest?.value ?? 0)
    }

    /// The three reports that once crashed the host, and more like them.
    @Test(arguments: [UInt32.max, 60_000_000, 1_000, 0]) func impossibleClocksDoNotCrashTheHost(age: UInt32) throws {
        var simulation = simulation()
        simulation.drive(for: .seconds(2))
        for clock in [1, 120_001, UInt64(Int64.max) / 1000, 1, MediaTime.longestUptime, 120_001] {
            let bytes = report(in: simulation, microseconds: clock, age: age)
            try say(bytes, in: &simulation)
            simulation.drive(for: .milliseconds(20))
        }
        // The viewer's own reports repair the estimates.
        simulation.drive(for: .seconds(3))
        let path = try #require(simulation.host?.broadcast.senders.all[0].delivery?.path)
        #expect(!path.isBound && !path.isSilent && path.congestion == nil)
        #expect(path.leastRoundTrip < .milliseconds(10) && path.delay.jitter < 0.05)
        let (end, viewer) = (simulation.now, simulation.viewers[0])
        #expect(viewer.longestPause(from: end - .seconds(1), to: end) < .milliseconds(60))
    }

    /// After an hour of sleep the viewer's clock is an hour behind.
    @Test func aClockThatLeapsIsDetected() throws {
        var clock = ReportClock()
        #expect(clock.judge(.at(100), now: .at(7)) == .consistent)
        #expect(clock.judge(.at(101), now: .at(8)) == .consistent)
        // One report is 8 s late, the next one isn't.
        #expect(clock.judge(.at(102), now: .at(17)) == .consistent)
        #expect(clock.judge(.at(111), now: .at(18)) == .consistent)
        for (time, now) in [(112.0, 3700.0), (5.0, 3701.0), (4000.0, 3702.0)] {
            #expect(clock.judge(.at(time), now: .at(now)) == .jumped)
        }
        #expect(clock.judge(.at(4001), now: .at(3703)) == .consistent)
        #expect(clock.judge(MediaTime(microseconds: MediaTime.longestUptime)!, now: .at(3704)) == .jumped)
        #expect(ReportClock.isPossible(age: .milliseconds(20), sent: .at(1), now: .at(1.02)))
        #expect(!ReportClock.isPossible(age: .milliseconds(30), sent: .at(1), now: .at(1.02)))
        #expect(MediaTime(microseconds: MediaTime.longestUptime + 1) == nil)
    }

    /// The host's clock and the frames' capture times are at opposite ends of the range.
    @Test func impossibleClocksDoNotCrashTheViewer() throws {
        let clocks: [UInt64] = [
            0, 1, MediaTime.longestUptime, MediaTime.longestUptime + 1, UInt64(Int64.max) / 1000, .max,
        ]
        for pong in clocks {
            for capture in clocks {
                var viewer = ViewerBench(.secure(knows: true))
                let key = SealingKey.made(1)
                viewer.handle(.controlSecured(.host))
                let nonce = [UInt8](repeating: 1, count: 32)
                viewer.say(
                    .welcome(SecureMessage.Welcome(isTrusted: true, methods: [], nonce: nonce, name: "host")),
                    .session(
                        SecureMessage.Session(
                            id: [UInt8](repeating: 2, count: 16), mediaPort: 7, isBroadcasting: true,
                            viewerKey: .made(2), mediaKey: key)))
                viewer.handle(.mediaOpened(localPort: 40000))
                for message in viewer.takeMessages() {
                    if case .ping(let value) = message { viewer.say(.pong(value, clock: pong)) }
                }
                let sealer = DatagramSealer(key: key)
                for number in UInt32(1)...20 {
                    let unit = TestFrame.make(number, reference: number == 1 ? nil : number - 1, bytes: 300).unit
                    for datagram in try datagrams(unit, number, capture: capture, sealer) { viewer.datagram(datagram) }
                    viewer.advance(by: .milliseconds(17))
                }
                #expect(viewer.delivered.count == (capture <= MediaTime.longestUptime ? 20 : 0), "\(pong) \(capture)")
                // The same arithmetic as in the window and the statistics.
                for frame in viewer.delivered { _ = frame.captureTime.map { viewer.now - $0 - .seconds(1) } }
            }
        }
    }

    /// A frame's sealed datagrams with any capture time.
    private func datagrams(
        _ unit: AccessUnit, _ number: UInt32, capture: UInt64, _ sealer: DatagramSealer
    ) throws -> [[UInt8]] {
        let config = unit.isKeyframe ? try #require(ParameterSetBlock.encode(TestFrame.parameterSets)) : []
        let frame = MediaHeader.Frame(
            partCount: 1, flags: unit.isKeyframe ? [.keyframe, .parameterSets] : [], width: 1366, height: 768,
            stages: MediaHeader.Stages(waited: .max, encode: .max))
        var header = [UInt8](repeating: 0, count: MediaForm.version2.headerLength)
        header.withUnsafeMutableBytes {
            MediaHeader(sequence: SequenceNumber(number), part: 0, frame: frame, configLength: UInt16(config.count))
                .write(to: $0, as: .version2)
        }
        header.replaceSubrange(16..<24, with: withUnsafeBytes(of: capture.bigEndian) { Array($0) })
        return [try sealer.seal(.media, header + config + unit.avcc)]
    }

    @Test func aHostCannotMakeAViewerWaitLongerThan10Minutes() {
        var viewer = ViewerBench(.secure(knows: false, code: "482913"))
        viewer.handle(.controlSecured(.host))
        let nonce = [UInt8](repeating: 1, count: 32)
        viewer.say(
            .welcome(SecureMessage.Welcome(isTrusted: false, methods: .code, nonce: nonce, name: "host")),
            .codeWait(.max))
        #expect(viewer.deadline <= viewer.now + .seconds(600))
    }
}
