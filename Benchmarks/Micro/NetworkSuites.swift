import BeamClock
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamProtocol
import Benchmark
import Dispatch
import Synchronization

/// Frames of 1080p at 60 frames a second with 10 and with 20 Mbit/s. What the longer one allocates beyond the shorter is
/// allocated for each datagram, the rest for each frame.
private let frameBytes = [20_000, 40_000]

/// The protocol without sockets: cutting and sealing at the host, opening and putting together at the viewer.
func sessionSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "session") { suite in
        for bytes in frameBytes {
            let unit = MadeUpFrame.make(bytes: bytes)
            var sending: SessionPair?
            suite.benchmark("fragment and seal \(bytes / 1000) kB") { state in
                var pair = try sending.take() ?? SessionPair()
                defer { sending = pair }
                pair.nextFrame()
                try state.measureAllocating { pair.send(unit) }
                _ = pair.receive()
            }
            var receiving: SessionPair?
            suite.benchmark("open and reassemble \(bytes / 1000) kB") { state in
                var pair = try receiving.take() ?? SessionPair()
                defer { receiving = pair }
                pair.nextFrame()
                _ = pair.send(unit)
                try state.measureAllocating { pair.receive() }
            }
        }
    }
}

/// A host and a viewer on loopback sockets, from handing over a frame to getting it back, threads' waking included.
func loopbackSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "loopback") { suite in
        for bytes in frameBytes {
            let unit = MadeUpFrame.make(bytes: bytes)
            var kept: (pair: LoopbackPair, datagrams: Int)?
            suite.benchmark("send and receive \(bytes / 1000) kB") { state in
                let (pair, datagrams) = try kept ?? LoopbackPair.counting(unit)
                kept = (pair, datagrams)
                try state.measureAllocating {
                    try pair.exchange(unit)
                    return datagrams
                }
            }
        }
    }
}

/// A host and a viewer in this process, paired and streaming over loopback.
private final class LoopbackPair {
    private let host: HostServer
    private let viewer: ViewerClient
    private let arrived: DispatchSemaphore

    init() throws {
        let (hostIdentity, viewerIdentity) = (try LocalIdentity(), try LocalIdentity())
        let arrived = DispatchSemaphore(value: 0)
        let host = try HostServer(
            HostServer.Options(
                bindAddress: "127.0.0.1", controlPort: 0, mediaPort: 0, identity: hostIdentity,
                session: HostSession.Configuration(
                    acceptance: .none,
                    trust: HostTrust(
                        own: hostIdentity.deviceKey, remembered: [viewerIdentity.deviceKey: "viewer"],
                        code: .none),
                    // What is measured is the work, not the pauses that are gentle to a network.
                    pacing: Pacing(bucketBytes: 1 << 20, bitsPerSecond: 10_000_000_000))),
            handlers: HostServer.Handlers(onEvent: { _ in }, requestKeyframe: {}))
        host.setBroadcast(true)
        let endpoint = Endpoint(host: "127.0.0.1", port: host.controlPort)
        viewer = ViewerClient(
            identity: viewerIdentity,
            session: ViewerSession.Configuration(
                trust: ViewerTrust(
                    own: viewerIdentity.deviceKey, name: "viewer", instance: 1,
                    known: [hostIdentity.deviceKey: "host"])),
            handlers: ViewerClient.Handlers(
                onEvent: { _ in }, onAccessUnit: { _ in arrived.signal() }, locate: { [endpoint] }))
        self.host = host
        self.arrived = arrived
        try start()
    }

    /// Keyframes until one comes through, then none of them is on its way any more.
    private func start() throws {
        for _ in 0..<200 {
            host.submit(MadeUpFrame.make(bytes: 20_000, isKeyframe: true, time: .now))
            guard arrived.wait(timeout: .now() + .milliseconds(50)) == .success else { continue }
            while arrived.wait(timeout: .now() + .milliseconds(100)) == .success {}
            return
        }
        throw BenchmarkFailure("no frame came through loopback within 10 s")
    }

    /// A pair, and how many datagrams it makes of `unit`.
    static func counting(_ unit: AccessUnit) throws -> (pair: LoopbackPair, datagrams: Int) {
        let pair = try LoopbackPair()
        let before = pair.host.statistics.datagrams
        try pair.exchange(unit)
        return (pair, Int(pair.host.statistics.datagrams - before))
    }

    func exchange(_ unit: AccessUnit) throws {
        host.submit(unit)
        guard arrived.wait(timeout: .now() + .seconds(2)) == .success else {
            throw BenchmarkFailure("a frame was lost on loopback")
        }
    }

    deinit {
        viewer.shutdown()
        host.shutdown()
    }
}
