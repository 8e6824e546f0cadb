import BeamClock
import BeamMedia
import BeamSockets
import BeamWire
import CBeamSockets
import Glibc

/// A socket for echoes to one address, which never waits but in `wait`. With don't-fragment set, whatever the kernel
/// believes of the path: what is larger than the path carries is lost, or reported by a router.
final class EchoSocket {
    /// Why there is no socket.
    enum Failure: Error, Equatable {
        /// Neither sockets for echoes (net.ipv4.ping_group_range) nor raw ones are allowed.
        case forbidden
        case system(CInt)
    }

    enum Sending: Equatable {
        case sent
        /// It is larger than the interface carries.
        case tooLong
        /// What waits to leave is full.
        case full
        case failed(CInt)
    }

    private let descriptor: CInt
    private let isRaw: Bool
    private let address: NetworkAddress
    private(set) var format: EchoFormat
    private var buffer = [UInt8](repeating: 0, count: 2048)

    // Numbers of protocols (they are levels of options, too); linux/in.h, linux/in6.h, linux/icmp.h, linux/icmpv6.h
    private static let v4Level: CInt = 0
    private static let v6Level: CInt = 41
    private static let v4Echo: CInt = 1
    private static let v6Echo: CInt = 58
    private static let mtuDiscovery: (v4: CInt, v6: CInt) = (10, 23)
    private static let probe: CInt = 3
    private static let v6DontFragment: CInt = 62
    private static let rawLevel: CInt = 255
    private static let v4Filter: CInt = 1
    private static let v6Filter: CInt = 1
    /// A train's replies may arrive while this thread doesn't run.
    private static let receiveBuffer: CInt = 1 << 20

    init(to ip: IPAddress) throws(Failure) {
        address = NetworkAddress(ip: ip, port: 0)
        let (family, kind) = ip.isV6 ? (AF_INET6, Self.v6Echo) : (AF_INET, Self.v4Echo)
        let flags = CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        var descriptor = socket(family, CInt(SOCK_DGRAM.rawValue) | flags, kind)
        let isRaw = descriptor < 0
        if isRaw { descriptor = socket(family, CInt(SOCK_RAW.rawValue) | flags, kind) }
        guard descriptor >= 0 else {
            throw [EACCES, EPERM, EPROTONOSUPPORT].contains(errno) ? .forbidden : .system(errno)
        }
        self.descriptor = descriptor
        self.isRaw = isRaw
        format = EchoFormat(isV6: ip.isV6)
        try prepare()
    }

    deinit { close(descriptor) }

    private func prepare() throws(Failure) {
        let isV6 = address.ip.isV6
        if isRaw {
            // Of all that arrives for the machine, nothing but replies.
            if isV6 {
                var filter = [UInt32](repeating: .max, count: 8)
                filter[129 / 32] &= ~(1 << (129 % 32))
                setsockopt(descriptor, Self.v6Echo, Self.v6Filter, filter, socklen_t(filter.count * 4))
            } else {
                var filter = ~UInt32(1)
                setsockopt(descriptor, Self.rawLevel, Self.v4Filter, &filter, 4)
            }
        }
        set(isV6 ? Self.v6Level : Self.v4Level, isV6 ? Self.mtuDiscovery.v6 : Self.mtuDiscovery.v4, Self.probe)
        if isV6 { set(Self.v6Level, Self.v6DontFragment, 1) }
        set(SOL_SOCKET, SO_RCVBUF, Self.receiveBuffer)
        guard address.withSocketAddress(onV6Socket: isV6, { connect(descriptor, $0, $1) }) == 0 else {
            throw .system(errno)
        }
        // The first call has the kernel note when packets arrive.
        _ = beam_arrival_time(descriptor)
        if !isRaw { format.identifier = localPort() }
    }

    private func set(_ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// The identifier that the system has given the socket: it stands where other sockets have their port.
    private func localPort() -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let base = bytes.baseAddress,
                getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return 0 }
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    func send(_ bytes: [UInt8]) -> Sending {
        for _ in 0..<3 {
            if Glibc.send(descriptor, bytes, bytes.count, 0) >= 0 { return .sent }
            switch errno {
            case EMSGSIZE: return .tooLong
            case EAGAIN, ENOBUFS: return .full
            // An earlier packet's error, which a router has reported, or a signal.
            case EINTR, ECONNREFUSED, EHOSTUNREACH, ENETUNREACH: continue
            default: return .failed(errno)
            }
        }
        return .failed(errno)
    }

    /// Waits until something has arrived, or `time`.
    func wait(until time: MediaTime) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Rounded up, so that the time is over afterwards.
        let milliseconds = ((time - .now).inNanoseconds + 999_999) / 1_000_000
        guard milliseconds > 0 else { return }
        poll(&entry, 1, CInt(clamping: milliseconds))
    }

    /// The next reply that has arrived from the address, and when; nil: there is none at present.
    func receive() -> (reply: EchoFormat.Reply, at: MediaTime)? {
        // Bounded: somebody may send without end.
        for _ in 0..<256 {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let count = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
                }
            }
            guard count >= 0 else {
                // An error that was reported is taken by this; a reply may stand behind it.
                if errno == EAGAIN { return nil }
                continue
            }
            let now = MediaTime.now
            guard source(storage) == address.ip,
                let reply = format.reply(buffer[..<count], hasHeader: isRaw && !format.isV6)
            else { continue }
            let arrival = beam_arrival_time(descriptor)
            return (reply, arrival > 0 ? MediaTime(nanoseconds: min(arrival, now.nanoseconds)) : now)
        }
        return nil
    }

    private func source(_ storage: sockaddr_storage) -> IPAddress? {
        withUnsafeBytes(of: storage) { bytes in
            switch CInt(storage.ss_family) {
            case AF_INET: return .v4(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            case AF_INET6:
                return IPAddress(
                    v6Bytes: Array(bytes[8..<24]), scope: bytes.loadUnaligned(fromByteOffset: 24, as: UInt32.self))
            default: return nil
            }
        }
    }

    /// What the kernel knows of the path's MTU in bytes, from routers' reports; nil: it doesn't tell. Sends nothing.
    static func reportedMTU(_ ip: IPAddress) -> Int? {
        let isV6 = ip.isV6
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Any port: a datagram socket that is connected has only looked up its route.
        let address = NetworkAddress(ip: ip, port: 9)
        guard address.withSocketAddress(onV6Socket: isV6, { connect(descriptor, $0, $1) }) == 0 else { return nil }
        var mtu: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        // IP_MTU, IPV6_MTU
        guard getsockopt(descriptor, isV6 ? v6Level : v4Level, isV6 ? 24 : 14, &mtu, &length) == 0, mtu > 0 else {
            return nil
        }
        return Int(mtu)
    }
}
