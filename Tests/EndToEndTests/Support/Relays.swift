import BeamMedia
import Foundation

/// A relay between viewers and a host's media port that loses and reorders the host's datagrams, repeatable by its
/// seed.
final class UDPRelay: Sendable {
    struct Conditions: Sendable {
        /// The share of the host's datagrams that are lost, 0 to 1.
        var loss = 0.0
        /// The share that is delayed behind one to eight later datagrams.
        var reorder = 0.0
        var isMuted = false
    }

    struct State: Sendable {
        var conditions: Conditions
        var target: Endpoint?
        var passed = 0
        var lost = 0
        var reordered = 0
        var stops = false
    }

    let port: UInt16
    let state: Monitor<State>

    init(_ conditions: Conditions = Conditions(), seed: UInt64 = 1, at place: Endpoint? = nil, target: Endpoint? = nil)
        throws
    {
        let socket = try place.map { try Socket.datagrams(on: $0) } ?? Socket.datagrams()
        port = socket.localEndpoint.port
        state = Monitor(State(conditions: conditions, target: target))
        let state = state
        Thread.detachNewThread { Self.run(socket, state, seed) }
    }

    deinit { state.withLock { $0.stops = true } }

    func change(_ body: (inout Conditions) -> Void) { state.withLock { body(&$0.conditions) } }

    private struct Held {
        var bytes: [UInt8]
        var to: Endpoint
        var after: Int
    }

    private static func run(_ socket: Socket, _ state: Monitor<State>, _ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        /// One socket to the host for each of the viewer's sockets.
        var upstream: [Endpoint: Socket] = [:]
        var held: [Held] = []
        while true {
            let (stops, target, conditions) = state.withLock { ($0.stops, $0.target, $0.conditions) }
            if stops { return }
            var entries = ([socket] + upstream.values).map {
                pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
            }
            _ = poll(&entries, nfds_t(entries.count), 20)
            while let (bytes, from) = socket.receiveWaitingDatagram() {
                guard let target, !conditions.isMuted else { continue }
                if upstream[from] == nil { upstream[from] = try? Socket.datagrams() }
                upstream[from]?.send(bytes, to: target)
            }
            for (viewer, towardsHost) in upstream {
                while let (bytes, _) = towardsHost.receiveWaitingDatagram() {
                    let isLost = conditions.isMuted || Double.random(in: 0..<1, using: &random) < conditions.loss
                    let isLate = Double.random(in: 0..<1, using: &random) < conditions.reorder
                    state.withLock { state in
                        state.lost += isLost ? 1 : 0
                        state.reordered += isLate && !isLost ? 1 : 0
                        state.passed += isLost ? 0 : 1
                    }
                    if isLost { continue }
                    if isLate {
                        held.append(Held(bytes: bytes, to: viewer, after: Int.random(in: 1...8, using: &random)))
                        continue
                    }
                    socket.send(bytes, to: viewer)
                    for index in held.indices { held[index].after -= 1 }
                    for late in held where late.after <= 0 { socket.send(late.bytes, to: late.to) }
                    held.removeAll { $0.after <= 0 }
                }
            }
        }
    }
}

/// A relay between viewers and a host's control port that can be cut. In version 1 it replaces the host's media port in
/// messages by the media relay's. Version 2 can't be changed like that: there both relays have their own address and
/// the host's port numbers.
final class TCPRelay: Sendable {
    struct State: Sendable {
        var isCut = false
        var open: [Socket] = []
        var connections = 0
        var stops = false
    }

    let port: UInt16
    let state = Monitor(State())

    /// For version 1: closes TLS connections.
    convenience init(to host: UInt16, media: UDPRelay) throws {
        try self.init(to: Endpoint(host), at: Endpoint(0), media: media)
    }

    convenience init(to host: Endpoint, at place: Endpoint, media: UDPRelay) throws {
        try self.init(at: place, to: host) { viewer, towardsHost in
            Thread.detachNewThread { Self.copy(from: viewer, to: towardsHost) { $0 } }
            Thread.detachNewThread { Self.copy(from: towardsHost, to: viewer) { Self.divert($0, media) } }
        }
    }

    /// Closes TLS connections, and forwards version 1 unchanged.
    convenience init(onlyVersion1To host: Endpoint) throws {
        try self.init(at: Endpoint(0), to: host) { viewer, towardsHost in
            Thread.detachNewThread { Self.copy(from: viewer, to: towardsHost) { $0 } }
            Thread.detachNewThread { Self.copy(from: towardsHost, to: viewer) }
        }
    }

    /// Forwards everything unchanged.
    convenience init(at place: Endpoint, to host: Endpoint) throws {
        try self.init(at: place, to: host) { viewer, towardsHost in
            Thread.detachNewThread { Self.copy(from: viewer, to: towardsHost) }
            Thread.detachNewThread { Self.copy(from: towardsHost, to: viewer) }
        }
    }

    private init(
        at place: Endpoint, to host: Endpoint, join: @escaping @Sendable (_ viewer: Socket, _ host: Socket) -> Void
    ) throws {
        let listener = try Socket.listen(at: place)
        port = listener.localEndpoint.port
        let state = state
        Thread.detachNewThread {
            while !state.current.stops {
                guard let viewer = listener.accept(timeout: 0.1) else { continue }
                guard !state.current.isCut, let towardsHost = try? Socket.connect(to: host) else {
                    viewer.resetOnClose()
                    continue
                }
                state.withLock { state in
                    state.connections += 1
                    state.open += [viewer, towardsHost]
                }
                join(viewer, towardsHost)
            }
        }
    }

    private static func copy(from: Socket, to: Socket) {
        loop: while true {
            switch from.receive(timeout: 1) {
            case .nothing: continue
            case .ended: break loop
            case .bytes(let bytes): to.send(bytes)
            }
        }
        to.shut()
    }

    deinit { end() }

    /// Ends the relay.
    func end() {
        state.withLock { $0.stops = true }
        cut()
    }

    /// Closes every connection, and new ones at once, until `restore`.
    func cut() {
        let open = state.withLock { state in
            state.isCut = true
            defer { state.open = [] }
            return state.open
        }
        for socket in open { socket.shut() }
    }

    func restore() { state.withLock { $0.isCut = false } }

    private static func copy(from: Socket, to: Socket, _ change: (String) -> String) {
        var splitter = LineSplitter()
        loop: while true {
            switch from.receive(timeout: 1) {
            case .nothing: continue
            case .ended: break loop
            case .bytes(let bytes) where bytes.first == 0x16: break loop
            case .bytes(let bytes):
                for line in splitter.append(bytes) { to.send(change(line) + "\n") }
            }
        }
        to.shut()
    }

    private static func divert(_ line: String, _ media: UDPRelay) -> String {
        guard let port = JSONValue(line)?["udpPort"]?.number,
            let key = line.range(of: #""udpPort"\s*:\s*[0-9]+"#, options: .regularExpression)
        else { return line }
        media.state.withLock { $0.target = Endpoint(UInt16(port)) }
        return line.replacingCharacters(in: key, with: #""udpPort":\#(media.port)"#)
    }
}
