import Foundation

/// A message of version 2's control connection.
struct WireMessage: Sendable, Equatable, CustomStringConvertible {
    var kind: UInt8
    var body: [UInt8]

    static let (hello, welcome, join, session): (UInt8, UInt8, UInt8, UInt8) = (1, 2, 3, 4)
    static let (codeShare, codeConfirm): (UInt8, UInt8) = (0x10, 0x11)
    static let (compareCommit, compareNonce, compareReveal): (UInt8, UInt8, UInt8) = (0x13, 0x14, 0x15)
    static let refused: UInt8 = 0x3E

    var description: String { "0x\(String(kind, radix: 16)) with \(body.count) bytes" }

    /// With its length in front.
    var framed: [UInt8] { Self.bigEndian(UInt32(body.count + 1)) + [kind] + body }

    static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    static func text(_ text: String) -> [UInt8] { bigEndian(UInt16(text.utf8.count)) + text.utf8 }

    static func hello(name: String, instance: UInt64 = 1) -> WireMessage {
        WireMessage(kind: hello, body: [0, 2, 0, 0, 0, 0] + bigEndian(instance) + text(name))
    }
}

/// Splits decrypted bytes into messages.
struct MessageSplitter: Sendable {
    private var pending: [UInt8] = []

    mutating func append(_ bytes: [UInt8]) -> [WireMessage] {
        pending += bytes
        var messages: [WireMessage] = []
        while pending.count > 4 {
            let length = pending[..<4].reduce(0) { $0 << 8 | Int($1) }
            guard length > 0, pending.count >= 4 + length else { break }
            messages.append(WireMessage(kind: pending[4], body: Array(pending[5..<4 + length])))
            pending.removeFirst(4 + length)
        }
        return messages
    }
}

/// One side of a TLS connection, made by openssl.
final class TLSPeer {
    private let process: ChildProcess
    private let socket: Socket
    private var splitter = MessageSplitter()
    private(set) var messages: [WireMessage] = []
    private(set) var hasEnded = false

    /// Connects to a host's control port with any certificate, or none.
    convenience init(to endpoint: Endpoint, as identity: OpenSSL.Identity?, _ more: [String] = []) throws {
        try self.init(OpenSSL.connect(to: endpoint, as: identity, more))
    }

    /// Waits for a viewer.
    convenience init(at endpoint: Endpoint, as identity: OpenSSL.Identity) throws {
        try self.init(OpenSSL.listen(at: endpoint, as: identity))
    }

    private init(_ process: ChildProcess) throws {
        self.process = process
        guard let socket = process.socket else { throw HarnessError("openssl has no socket") }
        self.socket = socket
    }

    deinit { process.end() }

    func send(_ kind: UInt8, _ body: [UInt8] = []) { send(WireMessage(kind: kind, body: body)) }
    func send(_ message: WireMessage) { socket.send(message.framed) }
    func send(raw bytes: [UInt8]) { socket.send(bytes) }

    /// Reads until a message of that kind has come, the connection has ended, or the time is over.
    func wait(for kind: UInt8, timeout: Double = 30) -> WireMessage? {
        let deadline = secondsNow() + timeout
        while true {
            if let message = messages.first(where: { $0.kind == kind }) { return message }
            guard !hasEnded, secondsNow() < deadline else { return nil }
            read(timeout: 0.1)
        }
    }

    /// Whether the connection ends within that time.
    func ends(within timeout: Double = 30) -> Bool {
        let deadline = secondsNow() + timeout
        while !hasEnded, secondsNow() < deadline { read(timeout: 0.1) }
        return hasEnded
    }

    private func read(timeout: Double) {
        switch socket.receive(timeout: timeout) {
        case .nothing: break
        case .ended: hasEnded = true
        case .bytes(let bytes): messages += splitter.append(bytes)
        }
    }
}

/// A man in the middle: a host to the viewer and a viewer to the host, with a key of its own. It forwards all messages
/// and reads them.
final class TLSRelay: Sendable {
    struct State: Sendable {
        var fromViewer: [WireMessage] = []
        var fromHost: [WireMessage] = []
        var connections = 0
        var stops = false
    }

    let state = Monitor(State())

    init(at place: Endpoint, to host: Endpoint, as identity: OpenSSL.Identity) throws {
        let state = state
        let first = try OpenSSL.listen(at: place, as: identity)
        Thread.detachNewThread {
            var next: ChildProcess? = first
            while let server = next, !state.current.stops {
                Self.serve(server, host, identity, state)
                server.end()
                next = state.current.stops ? nil : try? OpenSSL.listen(at: place, as: identity)
            }
            next?.end()
        }
    }

    deinit { end() }

    func end() { state.withLock { $0.stops = true } }

    /// Serves one viewer's connection to its end.
    private static func serve(
        _ server: ChildProcess, _ host: Endpoint, _ identity: OpenSSL.Identity, _ state: Monitor<State>
    ) {
        guard let viewer = server.socket else { return }
        var client: ChildProcess?
        defer { client?.end() }
        var (fromViewer, fromHost) = (MessageSplitter(), MessageSplitter())
        while !state.current.stops {
            switch viewer.receive(timeout: 0.005) {
            case .nothing: break
            case .ended: return
            case .bytes(let bytes):
                if client == nil {
                    client = try? OpenSSL.connect(to: host, as: identity)
                    state.withLock { $0.connections += 1 }
                }
                state.withLock { $0.fromViewer += fromViewer.append(bytes) }
                client?.socket?.send(bytes)
            }
            guard let towardsHost = client?.socket else { continue }
            switch towardsHost.receive(timeout: 0.005) {
            case .nothing: break
            case .ended: return
            case .bytes(let bytes):
                state.withLock { $0.fromHost += fromHost.append(bytes) }
                viewer.send(bytes)
            }
        }
    }
}
