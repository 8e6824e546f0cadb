import BeamClock
import BeamIdentity
import BeamMedia
import BeamSession
import BeamWire
import Foundation
import Synchronization
import Testing

@testable import BeamWeb

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

    /// Until there are so many. False after 60 s.
    func wait(forCount count: Int) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 60)
        return condition.withLock {
            while elements.count < count {
                guard condition.wait(until: deadline) else { return elements.count >= count }
            }
            return true
        }
    }

    /// The first element that fits. Nil after `seconds`; the default is far longer than any correct run takes.
    func wait(seconds: Double = 60, for isIt: (Element) -> Bool) -> Element? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            var looked = 0
            while true {
                if let found = elements[looked...].first(where: isIt) { return found }
                looked = elements.count
                guard condition.wait(until: deadline) else { return elements[looked...].first(where: isIt) }
            }
        }
    }
}

/// What a server told its host.
enum Told: Sendable, Hashable {
    case opened(ConnectionID, IPAddress)
    case hello(ConnectionID, BrowserHello)
    case closed(ConnectionID)
    case keyframe(layer: Int)
    case demand(StreamDemand, layer: Int)
    case sound(SoundDemand)
    case event(WebEvent)
}

/// A server on loopback with a door that answers by the code: 482913 is right, 111111 makes the person asked; without a
/// code anybody is let in.
final class TestWeb: Sendable {
    let told = Log<Told>()
    let server: WebServer

    init(
        bind: String? = "127.0.0.1", isHTTPSOnly: Bool = false, certificate: WebServer.Certificate? = nil,
        times: WebListener.Times = WebListener.Times(), hasSound: Bool = false, usesFullChroma: Bool = false,
        asksPerson: Bool = true, code: WebServer.Code = .one, port: UInt16 = 0, gateway: GatewayDoor? = nil
    ) throws {
        let told = self.told
        let identity = try WebIdentity(names: ["desk", "desk.local"], addresses: [.v4(0x7F00_0001)])
        var options = WebServer.Options(
            bindAddress: bind, port: port, mediaPort: 0, isHTTPSOnly: isHTTPSOnly,
            certificate: certificate ?? .lasting(identity), hostName: "desk",
            stream: BrowserStream.Configuration(
                bitRate: 8_000_000, usesFullChroma: usesFullChroma, hasSound: hasSound, hasReducedLayer: false),
            asksPerson: asksPerson, code: code)
        options.gatewayOrigins = gateway.map { [$0.address.origin] } ?? []
        let box = Box()
        server = try WebServer(
            options, times: times,
            handlers: WebServer.Handlers(
                onOpened: { told.append(.opened($0, $1)) },
                onHello: { id, hello in
                    told.append(.hello(id, hello))
                    box.server?.tell(Self.verdict(hello), to: id)
                },
                onClosed: { told.append(.closed($0)) }, requestKeyframe: { told.append(.keyframe(layer: $0)) },
                onDemand: { told.append(.demand($0, layer: $1)) }, onSoundDemand: { told.append(.sound($0)) },
                onEvent: { told.append(.event($0)) }))
        box.set(server)
        if let gateway { server.setGateways([gateway]) }
    }

    deinit { server.shutdown() }

    private static func verdict(_ hello: BrowserHello) -> BrowserVerdict {
        switch hello.code?.description {
        case nil, "482913": .admitted(session: "s")
        case "111111": .asking
        case "222222": .refused(.declined, reason: "Declined")
        case "333333": .wrongCode(pause: .seconds(2))
        default: .wrongCode(pause: nil)
        }
    }

    /// The server, for handlers that are made before it.
    private final class Box: Sendable {
        private let value = Mutex<WeakServer>(WeakServer())

        var server: WebServer? { value.withLock { $0.server } }

        func set(_ server: WebServer) { value.withLock { $0.server = server } }
    }

    private struct WeakServer {
        weak var server: WebServer?
    }
}

/// A TCP connection to loopback, or to another address of this machine.
final class TestConnection {
    let descriptor: Int32

    init(_ port: UInt16, at host: UInt32 = 0x7F00_0001) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = host.bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
        // Longer than any correct run takes.
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// False if the other side has closed.
    @discardableResult
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// At most `count` bytes; empty at the end.
    func receive(_ count: Int = 64 << 10) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = recv(descriptor, &bytes, count, 0)
        return got > 0 ? Array(bytes[..<got]) : []
    }

    /// Everything until the other side closes.
    func receiveAll() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let part = receive()
            if part.isEmpty { return all }
            all += part
        }
    }

    func receiveText() -> String { String(decoding: receiveAll(), as: UTF8.self) }
}

/// A WebSocket's client that sends what it is told to.
final class TestSocket {
    struct Frame: Equatable {
        var opcode: UInt8
        var payload: [UInt8]
    }

    let connection: TestConnection
    private var received: [UInt8] = []

    /// Opens one.
    init(
        _ port: UInt16, agent: String = "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0 Safari/537.36",
        at host: UInt32 = 0x7F00_0001
    ) throws {
        connection = try TestConnection(port, at: host)
        let name = "\(IPAddress.v4(host)):\(port)"
        connection.send(Self.request(host: name, origin: "http://\(name)", extra: "User-Agent: \(agent)\r\n"))
        while true {
            let part = connection.receive()
            try #require(!part.isEmpty, "the connection was closed")
            received += part
            let text = String(decoding: received, as: UTF8.self)
            guard let end = text.firstRange(of: "\r\n\r\n") else { continue }
            #expect(text.hasPrefix("HTTP/1.1 101 "))
            #expect(text.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
            received.removeFirst(text[..<end.upperBound].utf8.count)
            return
        }
    }

    /// The example's key of RFC 6455, 1.3.
    static func request(host: String, origin: String?, extra: String = "", key: String = "dGhlIHNhbXBsZSBub25jZQ==")
        -> String
    {
        "GET /ws HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
            + "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Version: 13\r\n" + (origin.map { "Origin: \($0)\r\n" } ?? "")
            + extra + "\r\n"
    }

    /// - Parameter first: the first byte: FIN, reserved bits, opcode.
    func send(first: UInt8, _ payload: [UInt8], isMasked: Bool = true) {
        var frame = [first]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case ..<126: frame.append(mask | UInt8(payload.count))
        case ..<65536: frame += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: frame += [mask | 127] + withUnsafeBytes(of: UInt64(payload.count).bigEndian) { Array($0) }
        }
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        if isMasked {
            frame += key + payload.enumerated().map { $1 ^ key[$0 % 4] }
        } else {
            frame += payload
        }
        connection.send(frame)
    }

    func send(_ text: String) { send(first: 0x81, Array(text.utf8)) }

    /// Nil once the connection is closed.
    func next() -> Frame? {
        while true {
            if let frame = takeFrame() { return frame }
            let part = connection.receive()
            guard !part.isEmpty else { return nil }
            received += part
        }
    }

    /// The next text message that isn't a ping of the host; nil once the connection is closed.
    func message() -> [String: JSONValue]? {
        while let frame = next() {
            guard frame.opcode == 1 else { continue }
            let value = try? JSONDecoder().decode(JSONValue.self, from: Data(frame.payload))
            guard let object = value?.object, object["t"] != .string("ping") else { continue }
            return object
        }
        return nil
    }

    private func takeFrame() -> Frame? {
        guard received.count >= 2 else { return nil }
        var length = Int(received[1] & 0x7F)
        var start = 2
        if length == 126 {
            guard received.count >= 4 else { return nil }
            length = Int(received[2]) << 8 | Int(received[3])
            start = 4
        } else if length == 127 {
            guard received.count >= 10 else { return nil }
            length = received[2..<10].reduce(0) { $0 << 8 | Int($1) }
            start = 10
        }
        guard received.count >= start + length else { return nil }
        defer { received.removeFirst(start + length) }
        return Frame(opcode: received[0] & 0x0F, payload: Array(received[start..<(start + length)]))
    }
}

func hello(code: String? = "482913", can: String = "webrtc") -> String {
    "{\"t\":\"hello\",\"v\":1,\"can\":[\"\(can)\"]" + (code.map { ",\"code\":\"\($0)\"" } ?? "") + "}"
}
