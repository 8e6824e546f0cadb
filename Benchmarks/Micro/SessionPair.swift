import BeamMedia
import BeamProtocol

/// A host's and a viewer's session that know each other, with the network between them left out.
///
/// Both are driven as `BeamNetwork` drives them: an event, then outputs until there are none, each burst's bytes copied out at
/// once. Time is made up, a 60th of a second a frame.
struct SessionPair {
    private var host: HostSession
    private var viewer: ViewerSession
    private var now = MediaTime(nanoseconds: 1_000_000_000)
    /// What is on its way from the host to the viewer.
    private let wire = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 << 20, alignment: 64)
    private var datagrams: [Range<Int>] = []
    private(set) var delivered = 0

    private static let connection = ConnectionID(1)
    private static let address = NetworkAddress(ip: .v4(0x7F00_0001), port: 40_000)

    /// Connected, known to each other, and streaming.
    init() throws {
        guard let hostKey = DeviceKey([UInt8](repeating: 0xA0, count: DeviceKey.length)),
            let viewerKey = DeviceKey([UInt8](repeating: 0xB0, count: DeviceKey.length))
        else { throw BenchmarkFailure("a device key has \(DeviceKey.length) bytes") }
        host = HostSession(
            configuration: HostSession.Configuration(
                acceptance: .none,
                trust: HostTrust(own: hostKey, remembered: [viewerKey: "viewer"], code: .none)),
            random: SystemRandomNumberGenerator())
        viewer = ViewerSession(
            configuration: ViewerSession.Configuration(
                trust: ViewerTrust(own: viewerKey, name: "viewer", instance: 1, known: [hostKey: "host"])),
            random: SystemRandomNumberGenerator())
        datagrams.reserveCapacity(4096)
        host.handle(.mediaPort(52346), now: now)
        host.handle(.broadcast(true), now: now)
        exchange(hostKey: hostKey, viewerKey: viewerKey)
        _ = send(MadeUpFrame.make(bytes: 20_000, isKeyframe: true))
        _ = receive()
        guard delivered == 1 else { throw BenchmarkFailure("the sessions didn't come together") }
    }

    /// The next frame's time; what the two have to say to each other besides frames is said.
    mutating func nextFrame() {
        now = now + .nanoseconds(16_666_667)
        exchange(hostKey: nil, viewerKey: nil)
        datagrams.removeAll(keepingCapacity: true)
    }

    /// Fragments, seals and sends. Returns the number of datagrams.
    mutating func send(_ unit: AccessUnit) -> Int {
        host.handleFrame(unit, now: now)
        while case .some(let deadline) = hostOutput() {
            // What the pacer holds back goes on as soon as it lets it.
            guard deadline - now < .milliseconds(5) else { break }
            now = deadline
        }
        return datagrams.count
    }

    /// Opens and reassembles what was sent. Returns the number of datagrams.
    mutating func receive() -> Int {
        for range in datagrams {
            viewer.handleDatagram(UnsafeRawBufferPointer(rebasing: wire[range]), now: now)
        }
        while case .some = viewerOutput(hostKey: nil, viewerKey: nil) { break }
        return datagrams.count
    }

    /// Everything that the host has to do now; returns its next deadline.
    private mutating func hostOutput() -> MediaTime? {
        while true {
            switch host.pollOutput(now: now) {
            case .wait(let deadline): return deadline
            case .transmit(let burst): take(burst)
            case .send(_, let bytes): viewer.handle(.controlMessage(bytes), now: now)
            case .admitted, .close, .requestKeyframe, .demand, .event: break
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

    private mutating func viewerOutput(hostKey: DeviceKey?, viewerKey: DeviceKey?) -> MediaTime? {
        while true {
            switch viewer.pollOutput(now: now) {
            case .wait(let deadline): return deadline
            case .connectControl:
                guard let hostKey, let viewerKey else { break }
                host.handle(.connectionOpened(Self.connection, from: Self.address.ip), now: now)
                host.handle(.connectionSecured(Self.connection, viewerKey), now: now)
                viewer.handle(.controlSecured(hostKey), now: now)
            case .sendControl(let bytes):
                host.handle(.connectionMessage(Self.connection, bytes), now: now)
            case .openMedia: viewer.handle(.mediaOpened(localPort: Self.address.port), now: now)
            case .sendMedia(let bytes):
                bytes.withUnsafeBytes { host.handleDatagram($0, from: Self.address, now: now) }
            case .deliver: delivered += 1
            case .closeControl, .closeMedia, .event: break
            }
        }
    }

    /// Lets both talk until neither has anything to say.
    private mutating func exchange(hostKey: DeviceKey?, viewerKey: DeviceKey?) {
        for _ in 0..<8 {
            _ = viewerOutput(hostKey: hostKey, viewerKey: viewerKey)
            _ = hostOutput()
        }
    }
}

/// Frames that only the network looks at: one NAL unit of bytes that don't compress.
enum MadeUpFrame {
    static func make(bytes count: Int, isKeyframe: Bool = false, time: MediaTime = .zero)
        -> AccessUnit
    {
        let length = UInt32(count - 4)
        let header = [
            UInt8(length >> 24), UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255),
        ]
        let bytes =
            header
            + (4..<count).map {
                $0 == 4 ? (isKeyframe ? 0x65 : 0x41) : UInt8(truncatingIfNeeded: $0 &* 167)
            }
        return AccessUnit(
            bytes: bytes, isKeyframe: isKeyframe,
            parameterSets: isKeyframe
                ? ParameterSets(sps: [[0x67, 0x4D, 0x00, 0x1F, 0xAA]], pps: [[0x68, 0xEE, 0x3C, 0x80]])
                : nil,
            size: PixelSize(width: 1920, height: 1080), time: time)
    }
}
