import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// Answers as Janus does, at several addresses of loopback that have the same ports, and has one mountpoint.
final class AnsweringGateway: Sendable {
    private struct State {
        var connections: Set<Int32> = []
        var points: Set<Int> = []
        var made = 0
        var isOver = false
    }

    let port: UInt16
    /// The mountpoint's UDP port.
    private let mediaPort: UInt16
    private let listeners: [Int32]
    private let sockets: [Int32]
    private let state = Mutex(State())
    /// Of each datagram the place of the address that it came to.
    let datagrams = Log<Int>()

    init(_ addresses: [UInt32]) throws {
        let first = (
            try LoopbackSocket(.stream, at: addresses[0]), try LoopbackSocket(.datagram, at: addresses[0])
        )
        (port, mediaPort) = (first.0.port, first.1.port)
        let others = try addresses.dropFirst().map {
            (
                try LoopbackSocket(.stream, at: $0, port: first.0.port),
                try LoopbackSocket(.datagram, at: $0, port: first.1.port)
            )
        }
        listeners = [first.0.descriptor] + others.map(\.0.descriptor)
        sockets = [first.1.descriptor] + others.map(\.1.descriptor)
        for listener in listeners { Thread.detachNewThread { [self] in accept(at: listener) } }
        for (place, socket) in sockets.enumerated() { Thread.detachNewThread { [self] in take(socket, place) } }
    }

    /// Mountpoints that are there, and how many were ever made.
    var points: (Set<Int>, made: Int) { state.withLock { ($0.points, $0.made) } }

    /// Ends its connections, as a network does; it can be reached again at once.
    func lose() {
        for connection in state.withLock({ $0.connections }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    /// Its threads end.
    func end() {
        state.withLock { $0.isOver = true }
        for listener in listeners { shutdown(listener, Int32(SHUT_RDWR)) }
        lose()
    }

    private func accept(at listener: Int32) {
        while !state.withLock({ $0.isOver }) {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else { continue }
            state.withLock { _ = $0.connections.insert(connection) }
            Thread.detachNewThread { [self] in
                serve(connection)
                state.withLock { _ = $0.connections.remove(connection) }
                close(connection)
            }
        }
        close(listener)
    }

    private func take(_ socket: Int32, _ place: Int) {
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var bytes = [UInt8](repeating: 0, count: 2048)
        while !state.withLock({ $0.isOver }) {
            if recv(socket, &bytes, bytes.count, 0) > 0 { datagrams.append(place) }
        }
        close(socket)
    }

    private func serve(_ connection: Int32) {
        guard WebSocketBytes.open(connection) else { return }
        while let text = WebSocketBytes.text(connection) {
            guard let request = try? JSONSerialization.jsonObject(with: Data(text)) as? [String: Any],
                let answer = answer(request)
            else { return }
            guard WebSocketBytes.send(connection, WebSocketBytes.frame(0x81, Array(answer.utf8))) else { return }
        }
    }

    private func answer(_ request: [String: Any]) -> String? {
        guard let transaction = request["transaction"] as? String, let kind = request["janus"] as? String else {
            return nil
        }
        func success(_ rest: String) -> String {
            #"{"janus":"success","transaction":"\#(transaction)",\#(rest)}"#
        }
        guard kind == "message", let body = request["body"] as? [String: Any], let id = body["id"] as? Int else {
            return success(#""data":{"id":7}"#)
        }
        let data = state.withLock { state -> String in
            switch body["request"] as? String {
            case "create":
                state.made += 1
                state.points.insert(id)
                let port = #"{"type":"video","mid":"v","port":\#(mediaPort),"rtcp_port":\#(mediaPort)}"#
                return #"{"streaming":"created","stream":{"id":\#(id),"ports":[\#(port)]}}"#
            case "info" where state.points.contains(id):
                return #"{"streaming":"info","info":{"id":\#(id),"viewers":0}}"#
            case "destroy" where state.points.remove(id) != nil:
                return #"{"streaming":"destroyed","destroyed":\#(id)}"#
            default: return #"{"streaming":"event","error_code":455,"error":"No such mountpoint/stream"}"#
            }
        }
        return success(#""plugindata":{"plugin":"janus.plugin.streaming","data":\#(data)}"#)
    }
}

/// Answers every name with one address, which can be changed.
final class ChangingResolver: Resolver, Sendable {
    private let address: Mutex<String>

    init(_ address: String) { self.address = Mutex(address) }

    func set(_ address: String) { self.address.withLock { $0 = address } }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        let address = address.withLock { $0 }
        return NIOSingletons.posixEventLoopGroup.any().makeCompletedFuture {
            [try SocketAddress(ipAddress: address, port: port)]
        }
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        NIOSingletons.posixEventLoopGroup.any().makeSucceededFuture([])
    }

    func cancelQueries() {}
}
