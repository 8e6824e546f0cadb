import Foundation

/// Captures all packets on the loopback interface to and from some ports. Needs root.
final class PacketCapture: Sendable {
    struct Packet: Sendable {
        var isTCP: Bool
        var from: Endpoint
        var to: Endpoint
        /// TCP's sequence number.
        var sequence: UInt32
        var payload: [UInt8]
    }

    struct State: Sendable {
        var packets: [Packet] = []
        var stops = false
        var dropped: Int?
    }

    /// Nil if packets can be captured here, otherwise why not.
    static let obstacle: String? = {
        guard let descriptor = try? open() else { return "packets can't be captured here: that needs root" }
        close(descriptor)
        return nil
    }()

    private static let everyProtocol: UInt16 = 0x0003
    private static let outgoing: UInt8 = 4

    private let state = Monitor(State())

    /// Captures what goes to or comes from one of `ports`.
    init(_ ports: Set<UInt16>) throws {
        let descriptor = try Self.open()
        let state = state
        Thread.detachNewThread {
            Self.read(descriptor, ports, state)
            close(descriptor)
        }
    }

    deinit { state.withLock { $0.stops = true } }

    /// Ends the capture. Answers its packets; throws if some were missed.
    func finish() throws -> [Packet] {
        state.withLock { $0.stops = true }
        guard let dropped = state.wait(timeout: 30, { $0.dropped }) else {
            throw HarnessError("the capture doesn't end")
        }
        guard dropped == 0 else { throw HarnessError("the capture has missed \(dropped) packets") }
        return state.current.packets
    }

    private static func open() throws -> Int32 {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(AF_PACKET, type, Int32(everyProtocol.bigEndian))
        guard descriptor >= 0 else { throw HarnessError.system("making a packet socket") }
        var size: Int32 = 256 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, socklen_t(MemoryLayout<Int32>.size))
        // sockaddr_ll: family, protocol, interface, hardware type, packet type, address length, address.
        var address = [UInt8](repeating: 0, count: 20)
        func put(_ value: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: value) { address.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        put(UInt16(AF_PACKET), at: 0)
        put(everyProtocol.bigEndian, at: 2)
        put(Int32(if_nametoindex("lo")), at: 4)
        let isBound = address.withUnsafeBytes { bytes in
            guard let base = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, base, socklen_t(bytes.count)) == 0
        }
        guard isBound else {
            defer { close(descriptor) }
            throw HarnessError.system("binding a packet socket to the loopback interface")
        }
        return descriptor
    }

    private static func read(_ descriptor: Int32, _ ports: Set<UInt16>, _ state: Monitor<State>) {
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        var address = [UInt8](repeating: 0, count: 20)
        // Packets in flight at the end still count.
        var end: Double?
        while secondsNow() < end ?? .infinity {
            if end == nil, state.withLock(\.stops) { end = secondsNow() + 0.1 }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 50) > 0 else { continue }
            var length = socklen_t(address.count)
            let count = address.withUnsafeMutableBytes { bytes in
                recvfrom(
                    descriptor, &buffer, buffer.count, Int32(MSG_TRUNC),
                    bytes.bindMemory(to: sockaddr.self).baseAddress, &length)
            }
            // Each packet appears twice on loopback, outgoing and incoming.
            guard count > 0, count <= buffer.count, address[10] != outgoing else { continue }
            if let packet = parse(buffer[..<count]), ports.contains(packet.from.port) || ports.contains(packet.to.port)
            {
                state.withLock { $0.packets.append(packet) }
            }
        }
        // `tpacket_stats` of PACKET_STATISTICS (SOL_PACKET): packets and drops.
        var statistics: [UInt32] = [0, 0]
        var length = socklen_t(8)
        let isKnown = getsockopt(descriptor, 263, 6, &statistics, &length) == 0
        state.withLock { $0.dropped = isKnown ? Int(statistics[1]) : 0 }
    }

    /// IPv4 only: the tests use nothing else.
    private static func parse(_ frame: ArraySlice<UInt8>) -> Packet? {
        func short(_ offset: Int) -> UInt16 { UInt16(frame[offset]) << 8 | UInt16(frame[offset + 1]) }
        guard frame.count > 34, short(12) == 0x0800 else { return nil }
        let headerLength = Int(frame[14] & 15) * 4
        let kind = frame[23]
        let start = 14 + headerLength
        guard kind == 6 || kind == 17, frame.count >= start + 8 else { return nil }
        // Segments for offloading have a total length of 0.
        let total = Int(short(16)) == 0 ? frame.count - 14 : Int(short(16))
        let end = min(frame.count, 14 + total)
        func address(_ offset: Int) -> String { frame[offset..<offset + 4].map { String($0) }.joined(separator: ".") }
        let from = Endpoint(short(start), on: address(26))
        let to = Endpoint(short(start + 2), on: address(30))
        guard kind == 6 else {
            return Packet(isTCP: false, from: from, to: to, sequence: 0, payload: Array(frame[(start + 8)..<end]))
        }
        guard frame.count >= start + 20 else { return nil }
        let body = start + Int(frame[start + 12] >> 4) * 4
        guard body <= end else { return nil }
        let sequence = UInt32(short(start + 4)) << 16 | UInt32(short(start + 6))
        return Packet(isTCP: true, from: from, to: to, sequence: sequence, payload: Array(frame[body..<end]))
    }
}

private struct Direction: Hashable {
    var from: Endpoint
    var to: Endpoint
}

extension [PacketCapture.Packet] {
    var datagrams: [PacketCapture.Packet] { filter { !$0.isTCP } }

    /// The bytes of each TCP connection, in each direction.
    var streams: [(from: Endpoint, to: Endpoint, bytes: [UInt8])] {
        let parts = Dictionary(grouping: filter { $0.isTCP && !$0.payload.isEmpty }) {
            Direction(from: $0.from, to: $0.to)
        }
        return parts.map { direction, packets in
            var bytes: [UInt8] = []
            let first = packets[0].sequence
            for packet in packets.sorted(by: { $0.sequence &- first < $1.sequence &- first }) {
                // Skip the bytes that are known from an earlier transmission.
                let known = Swift.max(0, bytes.count - Int(packet.sequence &- first))
                bytes += packet.payload.dropFirst(known)
            }
            return (direction.from, direction.to, bytes)
        }
    }
}
