import BeamClock
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWire
import Benchmark
import Dispatch
import Glibc
import Synchronization

/// Frames of 1080p at 60 frames a second with 10 and with 20 Mbit/s. The additional allocations of the longer frame are
/// those for each datagram, the rest those for each frame.
private let frameBytes = [20_000, 40_000]

/// The protocol without sockets: cutting and sealing at the host, opening and reassembly at the viewer, and how the host handles the
/// viewer's report.
func sessionSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "session") { suite in
        for bytes in frameBytes {
            let frame = MadeUpFrame.make(bytes: bytes)
            var sending: SessionPair?
            suite.benchmark("fragment and seal \(bytes / 1000) kB") { state in
                var pair = try sending.take() ?? SessionPair()
                defer { sending = pair }
                pair.nextFrame()
                try state.measureAllocating { pair.send(frame) }
                _ = pair.receive()
            }
            var receiving: SessionPair?
            suite.benchmark("open and reassemble \(bytes / 1000) kB") { state in
                var pair = try receiving.take() ?? SessionPair()
                defer { receiving = pair }
                pair.nextFrame()
                _ = pair.send(frame)
                try state.measureAllocating { pair.receive() }
            }
            var reported: SessionPair?
            suite.benchmark("take a report of \(bytes / 1000) kB") { state in
                var pair = try reported.take() ?? SessionPair()
                defer { reported = pair }
                pair.nextFrame()
                _ = pair.send(frame)
                _ = pair.receive()
                pair.awaitReport()
                try state.measureAllocating { pair.takeReport() }
            }
        }
    }
}

/// A host and a viewer on loopback sockets: from handing over a frame to receiving it, with the wake-up of threads.
func loopbackSuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "loopback") { suite in
        for bytes in frameBytes {
            let frame = MadeUpFrame.make(bytes: bytes)
            var kept: (pair: LoopbackPair, datagrams: Int)?
            suite.benchmark("send and receive \(bytes / 1000) kB") { state in
                let (pair, datagrams) = try kept ?? LoopbackPair.counting(frame)
                kept = (pair, datagrams)
                // So that consecutive frames don't wait for pacing.
                usleep(5000)
                try state.measureAllocating {
                    try pair.exchange(frame)
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
                    door: Door.Configuration(
                        acceptance: .none,
                        trust: HostTrust(
                            own: hostIdentity.deviceKey, remembered: [viewerIdentity.deviceKey: "viewer"],
                            code: .none)))),
            handlers: HostServer.Handlers(onEvent: { _ in }, requestKeyframe: { _ in }, onDemand: { _, _ in }))
        host.setBroadcast(true)
        let endpoint = Endpoint(host: "127.0.0.1", port: host.controlPort)
        viewer = ViewerClient(
            identity: viewerIdentity,
            session: ViewerSession.Configuration(
                trust: ViewerTrust(
                    own: viewerIdentity.deviceKey, name: "viewer", instance: 1,
                    known: [hostIdentity.deviceKey: "host"])),
            handlers: ViewerClient.Handlers(
                onEvent: { _ in }, sinks: [Arrivals(arrived)], locate: { [endpoint] }))
        self.host = host
        self.arrived = arrived
        viewer.begin()
        try start()
    }

    /// Sends keyframes until one arrives, then waits until none is in flight.
    private func start() throws {
        for _ in 0..<200 {
            host.submit(MadeUpFrame.make(bytes: 20_000, isKeyframe: true, time: .now))
            guard arrived.wait(timeout: .now() + .milliseconds(50)) == .success else { continue }
            while arrived.wait(timeout: .now() + .milliseconds(100)) == .success {}
            return
        }
        throw BenchmarkFailure("no frame came through loopback within 10 s")
    }

    /// A pair, and the number of datagrams that `frame` takes.
    static func counting(_ frame: EncodedFrame) throws -> (pair: LoopbackPair, datagrams: Int) {
        let pair = try LoopbackPair()
        let before = pair.host.statistics.datagrams
        try pair.exchange(frame)
        return (pair, Int(pair.host.statistics.datagrams - before))
    }

    func exchange(_ frame: EncodedFrame) throws {
        host.submit(frame)
        guard arrived.wait(timeout: .now() + .seconds(2)) == .success else {
            throw BenchmarkFailure("a frame was lost on loopback")
        }
    }

    deinit {
        viewer.shutdown()
        host.shutdown()
    }
}

/// Signals each frame.
private final class Arrivals: ReceivedSink {
    private let arrived: DispatchSemaphore

    init(_ arrived: DispatchSemaphore) { self.arrived = arrived }

    func push(_ frame: ReceivedFrame) { arrived.signal() }
}

/// Making parity for a tenth of a frame's parts, and recovering as many: for a frame of 40 parts, in one block, and one
/// of 130, in two.
func paritySuite() -> BenchmarkSuite {
    BenchmarkSuite(name: "parity") { suite in
        for partCount in [40, 130] {
            var frame = ParityFrame(partCount: partCount)
            suite.benchmark("make for \(partCount) parts") { state in
                try state.measureAllocating { frame.encode() }
            }
            suite.benchmark("repair \(partCount) parts") { state in
                _ = frame.encode()
                try state.measureAllocating { try frame.recover() }
                try frame.check()
            }
        }
    }
}

/// A frame's parts side by side, and parity for a tenth of them.
private struct ParityFrame {
    private let layout: ParityLayout
    private let rowCount: Int
    private let original: [UInt8]
    private var slots: [UInt8]
    private var parity: [UInt8]

    init(partCount: Int) {
        layout = ParityLayout(partCount: partCount)
        rowCount = layout.rowCount(forShare: 0.1)
        original = MadeUpFrame.make(bytes: partCount * ParityCode.shardLength).unit.bytes
        slots = original
        parity = [UInt8](repeating: 0, count: rowCount * layout.blockCount * ParityCode.shardLength)
    }

    /// Returns the number of parity datagrams.
    mutating func encode() -> Int {
        let (rowCount, original) = (rowCount, original)
        parity.withUnsafeMutableBytes { parity in
            original.withUnsafeBytes {
                ParityCode.encode(
                    FrameContent(config: UnsafeRawBufferPointer(rebasing: $0[..<0]), avcc: $0), rows: 0..<rowCount,
                    to: parity)
            }
        }
        return rowCount * layout.blockCount
    }

    /// Recovers the largest possible number of lost parts, the first of each block. Returns their number.
    mutating func recover() throws -> Int {
        let (layout, rowCount) = (layout, rowCount)
        let length = ParityCode.shardLength
        for block in 0..<layout.blockCount {
            // A viewer stores the rows of a block consecutively.
            var shards: [UInt8] = []
            shards.reserveCapacity(rowCount * length)
            for row in 0..<rowCount {
                let start = (row * layout.blockCount + block) * length
                shards += parity[start..<start + length]
            }
            let isRecovered = slots.withUnsafeMutableBytes { slots in
                shards.withUnsafeMutableBytes { shards in
                    ParityCode.recover(
                        block: block, of: layout, lastLength: length, slots: slots,
                        rows: (0..<rowCount).map { UInt8($0) }, parity: shards,
                        isMissing: { layout.position(ofPart: $0) < rowCount })
                }
            }
            guard isRecovered else { throw BenchmarkFailure("a frame can't be repaired") }
        }
        return rowCount * layout.blockCount
    }

    func check() throws {
        guard slots == original else { throw BenchmarkFailure("a repaired frame isn't what it was") }
    }
}
