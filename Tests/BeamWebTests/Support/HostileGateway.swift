import Foundation
import Synchronization

@testable import BeamWeb

/// Opens WebSockets as Janus does, and then sends the same bytes without end, and reads nothing. On loopback.
final class HostileGateway: Sendable {
    /// `ws://127.0.0.1:PORT`.
    let address: String
    private let descriptor: Int32
    private let sent = Mutex(0)

    /// Bytes that were taken from it, over all connections.
    var bytesSent: Int { sent.withLock { $0 } }

    /// - Parameter flood: what is sent again and again.
    init(_ flood: [UInt8]) throws {
        let listener = try LoopbackSocket(.stream, at: 0x7F00_0001)
        descriptor = listener.descriptor
        address = "ws://127.0.0.1:\(listener.port)"
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                serve(connection, flood)
                close(connection)
            }
        }
    }

    /// Its thread ends.
    func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    private func serve(_ connection: Int32, _ flood: [UInt8]) {
        guard WebSocketBytes.open(connection) else { return }
        let block = Array(repeatElement(flood, count: max(1, (64 << 10) / flood.count)).joined())
        // Until the connection is closed.
        while WebSocketBytes.send(connection, block) { sent.withLock { $0 += block.count } }
    }
}
