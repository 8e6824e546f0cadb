import BeamClock
import BeamIdentity
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSockets
import BeamWire
import Foundation
import Synchronization

/// Collects events from other threads, and waits for one.
final class Log<Element: Sendable>: @unchecked Sendable {
    // Sendable: `elements` is read and written under `condition`'s lock only.
    private let condition = NSCondition()
    private var elements: [Element] = []

    func append(_ element: Element) {
        condition.withLock {
            elements.append(element)
            condition.broadcast()
        }
    }

    var all: [Element] { condition.withLock { elements } }

    /// The first element that fits. Nil after `seconds`; the default is far longer than any correct run takes.
    func wait(seconds: Double = 60, for isIt: (Element) -> Bool) -> Element? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            // Each element is looked at once, however often an append wakes this: tests log tens of thousands.
            var looked = 0
            while true {
                if let found = elements[looked...].first(where: isIt) { return found }
                looked = elements.count
                guard condition.wait(until: deadline) else { return elements[looked...].first(where: isIt) }
            }
        }
    }
}

extension Log: ReceivedSink where Element == ReceivedFrame {
    func push(_ frame: ReceivedFrame) { append(frame) }
}

/// A host on loopback that answers each keyframe request with a keyframe of made-up bytes.
final class TestHost: Sendable {
    let events = Log<HostEvent>()
    let server: HostServer
    private let requests: Log<Void>

    init(
        port: UInt16 = 0, mediaPort: UInt16 = 0, bind: String? = "127.0.0.1",
        acceptance: Door.Acceptance = .all, identity: LocalIdentity? = nil,
        remembered: [DeviceKey: String] = [:], code: PairingCode? = nil,
        allowsUnencrypted: Bool = true
    ) throws {
        let identity = try identity ?? LocalIdentity()
        let events = self.events
        let requests = Log<Void>()
        let slot = ServerSlot()
        server = try HostServer(
            HostServer.Options(
                bindAddress: bind, controlPort: port, mediaPort: mediaPort,
                identity: identity,
                session: HostSession.Configuration(
                    door: Door.Configuration(
                        acceptance: acceptance, deviceName: "host",
                        trust: HostTrust(
                            own: identity.deviceKey, remembered: remembered,
                            code: code.map { HostCode(given: $0, isRenewed: true) } ?? .none),
                        allowsUnencrypted: allowsUnencrypted))),
            handlers: HostServer.Handlers(
                onEvent: { events.append($0) },
                requestKeyframe: { _ in
                    requests.append(())
                    slot.server?.submit(TestFrame.keyframe(bytes: 50_000))
                },
                onDemand: { _, _ in }))
        self.requests = requests
        slot.server = server
        server.setBroadcast(true)
    }

    var keyframeRequests: Int { requests.all.count }

    func endpoint(_ host: String = "127.0.0.1") -> Endpoint { Endpoint(host: host, port: server.controlPort) }

    private final class ServerSlot: Sendable {
        private let content = Mutex<HostServer?>(nil)
        var server: HostServer? {
            get { content.withLock { $0 } }
            set { content.withLock { $0 = newValue } }
        }
    }
}

/// A viewer that collects its events and frames.
final class TestViewer: Sendable {
    let events = Log<ViewerEvent>()
    let frames = Log<ReceivedFrame>()
    /// Where hosts have admitted it, and where others have answered than the required one.
    let reached = Log<Reached>()
    let others = Log<Endpoint>()
    let client: ViewerClient

    struct Reached: Equatable, Sendable {
        var host: DeviceKey
        var endpoint: Endpoint
    }

    /// Speaks version 1 unless an identity is given.
    init(
        _ locate: @escaping @Sendable () -> [Endpoint], code: String? = "482913", identity: LocalIdentity? = nil,
        knowing known: [DeviceKey: String] = [:], requiring required: Set<DeviceKey>? = nil,
        hints: @escaping @Sendable () -> [Endpoint] = { [] }, named name: String = "viewer",
        options: ViewerClient.Options = ViewerClient.Options()
    ) throws {
        let reached = self.reached
        let others = self.others
        let events = self.events
        let frames = self.frames
        let own = try identity ?? LocalIdentity()
        var handlers = ViewerClient.Handlers(onEvent: { events.append($0) }, sinks: [frames], locate: locate)
        handlers.hints = hints
        handlers.onReached = { reached.append(Reached(host: $0, endpoint: $1)) }
        handlers.onOtherHost = { others.append($0) }
        client = ViewerClient(
            identity: own,
            session: ViewerSession.Configuration(
                trust: ViewerTrust(
                    own: own.deviceKey, name: name, instance: 1, known: known, required: required),
                code: code.flatMap(PairingCode.init), allowsUnencrypted: identity == nil,
                announcedVersion: identity == nil ? 1 : 2),
            handlers: handlers, options: options)
        client.begin()
    }
}

/// Frames in valid AVCC form, with made-up payloads.
enum TestFrame {
    static func keyframe(bytes count: Int) -> EncodedFrame {
        make(count, type: 0x65, isKeyframe: true)
    }

    static func delta(bytes count: Int) -> EncodedFrame {
        make(count, type: 0x41, isKeyframe: false)
    }

    private static func make(_ count: Int, type: UInt8, isKeyframe: Bool) -> EncodedFrame {
        var bytes = withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
        bytes.append(type)
        bytes.append(contentsOf: (1..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let unit = AccessUnit(
            bytes: bytes, isKeyframe: isKeyframe,
            parameterSets: isKeyframe ? ParameterSets(sps: [[0x67, 77, 0, 31]], pps: [[0x68, 0xEE]]) : nil,
            size: PixelSize(width: 640, height: 360))
        return EncodedFrame(unit: unit, captureTime: .now)
    }
}
