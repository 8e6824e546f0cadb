import BeamClock
import BeamMedia
import BeamNetwork
import BeamSockets
import BeamWire
import Glibc

/// What became of a TCP connection.
enum PortState: Equatable {
    case open
    /// The machine says that nothing listens there, or its firewall says so.
    case refused
    case silent
    case unreachable(CInt)

    /// The machine is there.
    var isAnswer: Bool { self == .open || self == .refused }
}

/// TCP connections that are closed as soon as they are there.
enum PortProbe {
    /// The state, and how long the handshake, or the refusal, took.
    static func connect(to address: NetworkAddress, until end: MediaTime) -> (state: PortState, time: Duration) {
        let isV6 = address.ip.isV6
        let flags = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, flags, 0)
        guard descriptor >= 0 else { return (.unreachable(errno), .zero) }
        defer { close(descriptor) }
        // Nothing of it stays, at either end.
        var reset = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
        let begun = MediaTime.now
        guard address.withSocketAddress(onV6Socket: isV6, { Glibc.connect(descriptor, $0, $1) }) != 0 else {
            return (.open, .now - begun)
        }
        guard errno == EINPROGRESS else { return (state(errno), .now - begun) }
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, CInt(clamping: max(0, ((end - .now).inNanoseconds + 999_999) / 1_000_000))) <= 0 {
            if MediaTime.now >= end { return (.silent, .now - begun) }
        }
        let time = .now - begun
        var error: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 else {
            return (.unreachable(errno), time)
        }
        return (error == 0 ? .open : state(error), time)
    }

    private static func state(_ code: CInt) -> PortState {
        switch code {
        case ECONNREFUSED, ECONNRESET: .refused
        case ETIMEDOUT: .silent
        default: .unreachable(code)
        }
    }

    /// The round trips of several connections, for where there are no echoes; nil: none was answered.
    static func roundTrips(
        to address: NetworkAddress, count: Int, every pause: Duration, until end: MediaTime, while isWanted: () -> Bool
    ) -> RoundTrips? {
        var times: [Duration] = []
        var tried = 0
        while tried < count, .now < end, isWanted() {
            let next = MediaTime.now + pause
            // TCP repeats a lost packet after a second: what takes longer isn't a round trip.
            let (state, time) = connect(to: address, until: min(end, .now + .milliseconds(900)))
            tried += 1
            if state.isAnswer { times.append(time) }
            let rest = (min(next, end) - .now).inNanoseconds / 1000
            if rest > 0 { usleep(UInt32(clamping: rest)) }
        }
        return RoundTrips(times, sent: tried)
    }
}
