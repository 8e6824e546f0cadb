import BeamBus
import BeamMedia
import CLateLibraries
import CSystemd
import Glibc

/// A connection to the session bus, for the portal's calls and signals. Used by one thread at a time.
///
/// Only functions of sd-bus that don't wait are called; this waits itself, so that the person can end it.
final class PortalBus {
    /// Why a call has no reply.
    enum Failure: Error {
        /// The D-Bus error's name and text.
        case error(name: String, message: String)
        case timeout
        /// The wait was ended.
        case abandoned
        case lost
    }

    /// How often a wait asks whether it is still wanted.
    private static let attention = Duration.milliseconds(100)
    /// Signals that nobody has taken; more are dropped.
    private static let maxSignals = 1000

    private let connection: OpaquePointer
    /// This connection's own name on the bus, ":1.42".
    let uniqueName: String
    private var signals: [BusSignal] = []
    private var isLost = false
    private let isWanted: () -> Bool

    /// Connects. - Parameter isWanted: asked while this waits; no ends the wait.
    init(address: String?, isWanted: @escaping () -> Bool) throws(PortalTrouble) {
        if let reason = beam_load_libsystemd() {
            throw .noLibrary(name: "D-Bus", package: "libsystemd0", reason: String(cString: reason))
        }
        guard let address else { throw .noSessionBus(reason: "DBUS_SESSION_BUS_ADDRESS isn't set") }
        var bus: OpaquePointer?
        let made = sd_bus_new(&bus)
        guard made >= 0, let bus else { throw .noSessionBus(reason: Self.reason(made)) }
        let started = [
            sd_bus_set_address(bus, address), sd_bus_set_bus_client(bus, 1), sd_bus_start(bus),
        ].first { $0 < 0 }
        if let started {
            sd_bus_close_unref(bus)
            throw .noSessionBus(reason: Self.reason(started))
        }
        connection = bus
        self.isWanted = isWanted
        let deadline = MediaTime.now + .seconds(10)
        while sd_bus_is_ready(bus) <= 0 {
            let result = sd_bus_process(bus, nil)
            let isGivenUp = result >= 0 && !isWanted()
            guard result >= 0, !isGivenUp, MediaTime.now < deadline else {
                sd_bus_close_unref(bus)
                throw isGivenUp
                    ? .abandoned : .noSessionBus(reason: result < 0 ? Self.reason(result) : "it doesn't answer")
            }
            if result == 0 { Self.wait(bus, until: min(deadline, .now + Self.attention)) }
        }
        var name: UnsafePointer<CChar>?
        uniqueName = sd_bus_get_unique_name(bus, &name) >= 0 ? name.map { String(cString: $0) } ?? "" : ""
    }

    deinit { sd_bus_close_unref(connection) }

    private static func reason(_ result: Int32) -> String { String(cString: strerror(-result)) }

    // MARK: Calls

    /// Calls a method and waits for its reply; starts the service if need be.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument] = [],
        timeout: Duration
    ) throws(Failure) -> [BusValue] {
        try call(destination, path, interface, member, arguments, timeout: timeout) { message in
            message.arguments() ?? []
        }
    }

    /// Calls a method whose reply is a file descriptor. The caller owns it.
    func callForDescriptor(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument],
        timeout: Duration
    ) throws(Failure) -> CInt? {
        try call(destination, path, interface, member, arguments, timeout: timeout) { message in
            // The message's descriptor ends with it.
            guard case .integer(let number)? = message.arguments()?.first, let descriptor = CInt(exactly: number) else {
                return nil
            }
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            return copy >= 0 ? copy : nil
        }
    }

    private func call<Result>(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument],
        timeout: Duration, read: (BusMessage) -> Result
    ) throws(Failure) -> Result {
        var message: OpaquePointer?
        guard sd_bus_message_new_method_call(connection, &message, destination, path, interface, member) >= 0,
            let message
        else { throw .lost }
        defer { sd_bus_message_unref(message) }
        var cookie: UInt64 = 0
        guard arguments.allSatisfy({ $0.append(to: message) }), sd_bus_send(connection, message, &cookie) >= 0 else {
            throw .lost
        }
        let deadline = MediaTime.now + timeout
        while true {
            if let result = try takeReply(to: cookie, read) { return try result.get() }
            try wait(until: deadline)
        }
    }

    /// Nil: it hasn't come yet.
    private func takeReply<Value>(
        to cookie: UInt64, _ read: (BusMessage) -> Value
    ) throws(Failure) -> Result<Value, Failure>? {
        while true {
            var received: OpaquePointer?
            let result = sd_bus_process(connection, &received)
            defer { if let received { sd_bus_message_unref(received) } }
            if result < 0 { isLost = true }
            if isLost { throw .lost }
            if result == 0 { return nil }
            guard let received else { continue }
            let message = BusMessage(pointer: received)
            var answered: UInt64 = 0
            if sd_bus_message_get_reply_cookie(received, &answered) >= 0, answered == cookie {
                guard message.isError else { return .success(read(message)) }
                let error = sd_bus_message_get_error(received)
                return .failure(
                    .error(
                        name: error?.pointee.name.map { String(cString: $0) } ?? "",
                        message: error?.pointee.message.map { String(cString: $0) } ?? ""))
            }
            keep(message)
        }
    }

    private func keep(_ message: BusMessage) {
        guard message.isSignal, signals.count < Self.maxSignals, let arguments = message.arguments() else { return }
        signals.append(BusSignal(message, arguments: arguments))
    }

    // MARK: Signals

    /// Asks the bus for signals (D-Bus specification, "Match Rules").
    func match(_ rule: String, timeout: Duration) throws(Failure) {
        _ = try call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch",
            [.text("type='signal'," + rule)], timeout: timeout)
    }

    /// Takes the signals that have come, without waiting.
    func takeSignals() throws(Failure) -> [BusSignal] {
        // No reply is awaited.
        _ = try takeReply(to: .max) { _ in }
        defer { signals = [] }
        return signals
    }

    /// Waits for the first signal that `isIt`; drops all others that have come.
    func signal(until deadline: MediaTime, where isIt: (BusSignal) -> Bool) throws(Failure) -> BusSignal {
        while true {
            if let signal = try takeSignals().first(where: isIt) { return signal }
            try wait(until: deadline)
        }
    }

    // MARK: Waiting

    /// What a thread that waits for other things, too, must poll.
    var pollEntry: pollfd {
        pollfd(
            fd: sd_bus_get_fd(connection), events: Int16(truncatingIfNeeded: max(0, sd_bus_get_events(connection))),
            revents: 0)
    }

    private func wait(until deadline: MediaTime) throws(Failure) {
        guard isWanted() else { throw .abandoned }
        guard MediaTime.now < deadline else { throw .timeout }
        Self.wait(connection, until: min(deadline, .now + Self.attention))
    }

    private static func wait(_ bus: OpaquePointer, until deadline: MediaTime) {
        var entry = pollfd(
            fd: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: max(0, sd_bus_get_events(bus))), revents: 0)
        let milliseconds = max(0, (deadline - .now).inNanoseconds + 999_999) / 1_000_000
        _ = poll(&entry, 1, CInt(clamping: min(milliseconds, 1000)))
    }
}
