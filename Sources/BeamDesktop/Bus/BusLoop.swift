import BeamClock
import BeamMedia
import CLateLibraries
import Glibc

/// Waits for buses, timers and other threads. Used on one thread only, which also owns everything that it calls.
final class BusLoop {
    private let wake: WakeSignal
    private let isLibraryThere: () -> Bool
    /// Another thread, or an event's receiver, has stopped the work: nothing may be reported any more.
    let isStopping: () -> Bool
    private var buses: [Bus] = []
    private var timers: [UInt64: (due: MediaTime, body: () -> Void)] = [:]
    private var lastTimer: UInt64 = 0

    init(wake: WakeSignal, isLibraryThere: @escaping () -> Bool, isStopping: @escaping () -> Bool) {
        self.wake = wake
        self.isStopping = isStopping
        self.isLibraryThere = isLibraryThere
    }

    /// Nil without an address, or if libsystemd isn't installed.
    func bus(at address: String?) -> Bus? {
        guard let address, isLibraryThere() else { return nil }
        let bus = Bus(address, loop: self)
        buses.append(bus)
        return bus
    }

    /// Calls `body` once, unless the timer is released before.
    func timer(after pause: Duration, body: @escaping () -> Void) -> BusTimer {
        lastTimer += 1
        timers[lastTimer] = (MediaTime.now + pause, body)
        return BusTimer(self, lastTimer)
    }

    fileprivate func cancel(_ timer: UInt64) { timers[timer] = nil }

    /// Waits until something happens, at most until `deadline`, and handles it.
    func turn(until deadline: MediaTime = .distantFuture) {
        var entries = [pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)]
        var due = timers.values.reduce(deadline) { min($0, $1.due) }
        for bus in buses {
            guard let wait = bus.wait else { continue }
            entries.append(pollfd(fd: wait.descriptor, events: wait.events, revents: 0))
            due = min(due, wait.due)
        }
        _ = poll(&entries, nfds_t(entries.count), Self.milliseconds(until: due))
        if entries[0].revents != 0 { wake.clear() }
        for bus in buses { bus.process() }
        let now = MediaTime.now
        let expired = timers.filter { $0.value.due <= now }.sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
        // A timer's body may cancel another.
        for (timer, _) in expired { timers.removeValue(forKey: timer)?.body() }
    }

    func close() {
        timers = [:]
        for bus in buses { bus.close() }
        buses = []
    }

    /// Rounded up, so that the loop doesn't turn until the time has come.
    private static func milliseconds(until time: MediaTime) -> Int32 {
        let nanoseconds = max(0, (time - .now).inNanoseconds)
        return Int32(clamping: min(nanoseconds, 60_000_000_000) / 1_000_000 + (nanoseconds % 1_000_000 > 0 ? 1 : 0))
    }
}

/// A timer of a `BusLoop`. Releasing it cancels it.
final class BusTimer {
    private weak var loop: BusLoop?
    private let number: UInt64

    fileprivate init(_ loop: BusLoop, _ number: UInt64) {
        self.loop = loop
        self.number = number
    }

    deinit { loop?.cancel(number) }
}

/// A pair of sockets that any thread can make readable.
final class WakeSignal: Sendable {
    /// To be waited for. −1 if the process has no descriptor left; then the loop notices other threads only when
    /// something else happens, at the latest after a minute.
    let descriptor: Int32
    private let end: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let isMade = socketpair(AF_UNIX, type, 0, &ends) == 0
        descriptor = isMade ? ends[0] : -1
        end = isMade ? ends[1] : -1
    }

    deinit { for descriptor in [descriptor, end] where descriptor >= 0 { close(descriptor) } }

    /// Full sockets are readable, too.
    func set() { _ = withUnsafeBytes(of: UInt8(0)) { write(end, $0.baseAddress, $0.count) } }

    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &bytes, bytes.count) == bytes.count {}
    }
}
