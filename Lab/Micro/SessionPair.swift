import BeamMedia
import BeamSession
import BeamWire

/// The sessions of a host and a viewer that are paired, with a network between them that takes no time.
///
/// Both are driven as `BeamNetwork` drives them: an event, then all outputs; each burst is copied out at once. Time is
/// virtual, a 60th of a second for each frame.
struct SessionPair {
    private var host: HostSession
    private var viewer: ViewerSession
    private let hostKey: DeviceKey
    private let viewerKey: DeviceKey
    private var now = MediaTime(nanoseconds: 1_000_000_000)
    /// In flight from the host to the viewer.
    private let wire = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 << 20, alignment: 64)
    private var datagrams: [Range<Int>] = []
    /// In flight from the viewer to the host.
    private var replies: [[UInt8]] = []
    /// One of the two had an output.
    private var hasSpoken = false
    private(set) var delivered = 0

    private static let connection = ConnectionID(1)
    private static let address = NetworkAddress(ip: .v4(0x7F00_0001), port: 40_000)

    /// Connected, known to each other, and streaming.
    init() throws {
        guard let hostKey = DeviceKey([UInt8](repeating: 0xA0, count: DeviceKey.length)),
            let viewerKey = DeviceKey([UInt8](repeating: 0xB0, count: DeviceKey.length))
        else { throw BenchmarkFailure("a device key has \(DeviceKey.length) bytes") }
        self.hostKey = hostKey
        self.viewerKey = viewerKey
        host = HostSession(
            configuration: HostSession.Configuration(
                door: Door.Configuration(
                    acceptance: .none,
                    trust: HostTrust(own: hostKey, remembered: [viewerKey: "viewer"], code: .none))),
            random: SystemRandomNumberGenerator())
        viewer = ViewerSession(
            configuration: ViewerSession.Configuration(
                trust: ViewerTrust(own: viewerKey, name: "viewer", instance: 1, known: [hostKey: "host"])),
            random: SystemRandomNumberGenerator())
        datagrams.reserveCapacity(4096)
        replies.reserveCapacity(64)
        host.handle(.mediaPort(52346), now: now)
        host.handle(.broadcast(true), now: now)
        pass(.milliseconds(100))
        host.handleFrame(MadeUpFrame.make(bytes: 20_000, isKeyframe: true, time: now), now: now)
        pass(.milliseconds(100))
        // The first frames give the host a bandwidth estimate; before that, it sends little at once.
        for _ in 0..<8 {
            host.handleFrame(MadeUpFrame.make(bytes: 40_000, time: now), now: now)
            pass(.milliseconds(100))
        }
        guard delivered == 9 else { throw BenchmarkFailure("the sessions didn't come together") }
    }

    /// Advances to the next frame's time, and exchanges everything that is due until then.
    mutating func nextFrame() { pass(.nanoseconds(16_666_667)) }

    /// Fragments, seals and sends. Returns the number of datagrams.
    mutating func send(_ frame: EncodedFrame) -> Int {
        var frame = frame
        frame.captureTime = now
        host.handleFrame(frame, now: now)
        while true {
            // Advances to when the pacer releases more.
            let deadline = hostOutput()
            guard deadline - now < .milliseconds(5) else { return datagrams.count }
            now = max(now, deadline)
        }
    }

    /// Opens and reassembles what was sent. Returns the number of datagrams.
    mutating func receive() -> Int {
        let count = datagrams.count
        deliver()
        _ = viewerOutput()
        return count
    }

    /// Lets time pass for the viewer until it has something to say; the host hasn't got that yet.
    mutating func awaitReport() {
        while replies.isEmpty { now = max(now + .microseconds(1), viewerOutput()) }
    }

    /// The host opens what the viewer has said, and does what follows of it. Returns the number of datagrams.
    mutating func takeReport() -> Int {
        let count = replies.count
        for reply in replies { reply.withUnsafeBytes { host.handleDatagram($0, from: Self.address, now: now) } }
        replies.removeAll(keepingCapacity: true)
        _ = hostOutput()
        return count
    }

    private mutating func deliver() {
        for range in datagrams {
            viewer.handleDatagram(UnsafeRawBufferPointer(rebasing: wire[range]), now: now)
        }
        datagrams.removeAll(keepingCapacity: true)
    }

    /// Lets time pass for both.
    private mutating func pass(_ duration: Duration) {
        let end = now + duration
        while now < end {
            // Until neither has an output.
            var deadline = end
            repeat {
                hasSpoken = false
                for reply in replies { reply.withUnsafeBytes { host.handleDatagram($0, from: Self.address, now: now) } }
                replies.removeAll(keepingCapacity: true)
                deadline = min(end, hostOutput())
                deliver()
                deadline = min(deadline, viewerOutput())
            } while hasSpoken
            now = max(now + .microseconds(1), deadline)
        }
    }

    /// Does everything that is due at the host; returns its next deadline.
    private mutating func hostOutput() -> MediaTime {
        while true {
            let output = host.pollOutput(now: now)
            if case .wait(let deadline, _) = output { return deadline }
            hasSpoken = true
            switch output {
            // No browser comes.
            case .browser: break
            case .transmit(let burst): take(burst)
            case .send(_, let bytes): viewer.handle(.controlMessage(bytes), now: now)
            case .wait, .close, .requestKeyframe, .demand, .soundDemand, .exactWanted, .hashesWanted, .event: break
            }
        }
    }

    private mutating func take(_ burst: MediaBurst) {
        var start = datagrams.last?.upperBound ?? 0
        guard start + burst.range.count <= wire.count else { return }
        burst.bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: wire[start..<start + burst.range.count])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[burst.range]))
        }
        let end = start + burst.range.count
        while start < end {
            let next = min(end, start + burst.segmentSize)
            datagrams.append(start..<next)
            start = next
        }
    }

    /// Does everything that is due at the viewer; returns its next deadline.
    private mutating func viewerOutput() -> MediaTime {
        while true {
            let output = viewer.pollOutput(now: now)
            if case .wait(let deadline, _) = output { return deadline }
            hasSpoken = true
            switch output {
            case .connectControl:
                host.handle(.connectionOpened(Self.connection, from: Self.address.ip), now: now)
                host.handle(.connectionSecured(Self.connection, viewerKey), now: now)
                viewer.handle(.controlSecured(hostKey), now: now)
            case .sendControl(let bytes):
                host.handle(.connectionMessage(Self.connection, bytes), now: now)
            case .openMedia: viewer.handle(.mediaOpened(localPort: Self.address.port), now: now)
            case .sendMedia(let bytes): replies.append(bytes)
            case .deliver: delivered += 1
            case .wait, .closeControl, .closeMedia, .sound, .patch, .hashes, .pointer, .event: break
            }
        }
    }
}

/// Frames for the network only: one NAL unit of random bytes.
enum MadeUpFrame {
    static func make(bytes count: Int, isKeyframe: Bool = false, time: MediaTime = .zero)
        -> EncodedFrame
    {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(count - 4))
        bytes += (4..<count).map { $0 == 4 ? (isKeyframe ? 0x65 : 0x41) : UInt8(truncatingIfNeeded: $0 &* 167) }
        let unit = AccessUnit(
            bytes: bytes, isKeyframe: isKeyframe,
            parameterSets: isKeyframe
                ? ParameterSets(sps: [[0x67, 0x4D, 0x00, 0x1F, 0xAA]], pps: [[0x68, 0xEE, 0x3C, 0x80]])
                : nil,
            size: PixelSize(width: 1920, height: 1080))
        return EncodedFrame(unit: unit, captureTime: time)
    }
}
