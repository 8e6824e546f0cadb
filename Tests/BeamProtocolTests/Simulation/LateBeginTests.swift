import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Viewers whose network fails just when their stream begins.
struct LateBeginTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))

    /// A host that knows so many viewers.
    private static func simulation(viewers: Int) -> Simulation {
        var simulation = Simulation(seed: 7)
        simulation.source = Simulation.Source(framesPerSecond: 30, frameBytes: 12_000, keyframeBytes: 100_000)
        let remembered = (1...viewers).map { (DeviceKey.made(UInt8($0)), "viewer \($0)") }
        simulation.startHost(
            trust: HostTrust(own: .host, remembered: Dictionary(uniqueKeysWithValues: remembered), code: .none))
        return simulation
    }

    /// A viewer whose machine stops answering costs the host nothing but a probe now and then.
    @Test func aSilentViewerCausesNoBusyLoop() {
        var simulation = Self.simulation(viewers: 2)
        let lan = Self.lan
        simulation.join(lan)
        let second = simulation.join(lan)
        simulation.drive(for: .seconds(2))
        func wakesOfASecond() -> Int {
            let before = simulation.hostWakes
            simulation.drive(for: .seconds(1))
            return simulation.hostWakes - before
        }
        let usual = wakesOfASecond()
        simulation.setConditions(second, lan, back: LinkConditions(isMuted: true))
        simulation.drive(for: .seconds(3))
        let silent = simulation.host?.broadcast.senders.all.last
        #expect(silent?.isSilent == true)
        // Of the silence's first second.
        let begin = silent?.delivery?.silentSince ?? .zero
        let probes = simulation.bursts.count {
            $0.burst.address == silent?.destination.address && $0.time >= begin && $0.time < begin + .seconds(1)
        }
        #expect((35...45).contains(probes), "a probe each 25 ms: \(probes)")
        #expect(wakesOfASecond() <= usual + 20, "a probe each 100 ms by now")
    }

    /// Nothing reaches the viewer from the moment on that it has proved its address, or nothing comes back; then all is well again.
    @Test(arguments: [0.3, 1.2, 3, 8], [false, true]) func aStreamThatIsCutOffAtItsBeginningComes(
        seconds: Double, isWayBack: Bool
    ) {
        var simulation = Self.simulation(viewers: 3)
        let lan = Self.lan
        simulation.join(lan)
        simulation.join(lan)
        simulation.drive(for: .seconds(2))
        let late = simulation.join(lan)
        while simulation.host?.broadcast.senders.all.last?.destination.isSet != true
            || simulation.host?.broadcast.senders.count != 3
        {
            simulation.drive(for: .milliseconds(1))
        }
        let mute = LinkConditions(delay: .milliseconds(1), isMuted: true)
        simulation.setConditions(late, isWayBack ? lan : mute, back: isWayBack ? mute : lan)
        simulation.drive(for: .seconds(seconds))
        simulation.setConditions(late, lan, back: lan)
        let mended = simulation.now
        simulation.drive(for: .seconds(3))
        let frames = simulation.viewers[late].frames.filter { $0.time > mended }
        let layer = simulation.host?.broadcast.layers.places.last?.layer
        #expect(frames.count >= 45)
        #expect(layer == SimulcastLayer.full && simulation.viewers[late].decoder.errors.isEmpty)
        // Nobody else pays for it: no second encode, and no keyframe but its own.
        #expect(!simulation.demands.contains { $0.layer == SimulcastLayer.reduced && $0.demand.isWatched })
        #expect(simulation.host?.statistics.keyframes ?? .max <= 8)
    }
}
