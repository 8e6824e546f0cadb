import BeamBus
import BeamClock
import BeamMedia
import CSystemd
import Glibc

/// What became of a method call.
enum BusReply {
    case values([BusValue])
    /// The service refused, didn't answer in time, isn't there, or answered more than `BusReader` reads.
    case failed
}

/// How a call to an object of this program is answered.
enum BusAnswer {
    case values([BusArgument])
    case refused
    /// There is no such object.
    case unknown
}

/// A connection to a message bus, renewed with growing pauses when there is none. Used on its loop's thread only.
///
/// Only functions of sd-bus that don't wait are called.
final class Bus {
    /// Doubled with each attempt that fails, and each connection that doesn't last.
    private static let firstPause = Duration.milliseconds(500)
    private static let longestPause = Duration.seconds(60)
    /// How long a connection must have lasted for the pauses to start over.
    private static let lasting = Duration.seconds(10)
    private static let callTimeout = Duration.seconds(10)
    /// Messages handled before other buses, timers and threads get their turn.
    private static let batch = 128

    private let address: String
    private unowned let loop: BusLoop
    private var connection: OpaquePointer?
    private(set) var isReady = false
    private var readySince = MediaTime.zero
    private var pause = Bus.firstPause
    private var nextTry: BusTimer?
    private var services: [BusService] = []
    private var replies: [UInt64: (BusReply) -> Void] = [:]
    /// Answers calls to this program's objects.
    var onCall: (BusMessage) -> BusAnswer = { _ in .unknown }

    init(_ address: String, loop: BusLoop) {
        self.address = address
        self.loop = loop
        // On the loop's next turn, so that services can be added first.
        nextTry = loop.timer(after: .zero) { [weak self] in self?.connect() }
    }

    deinit { close() }

    /// Follows who owns `name`, and what its owner signals.
    ///
    /// - Parameter rules: of the owner's signals (D-Bus specification, "Match Rules"), without type and sender.
    func service(_ name: String, rules: [String], user: any BusServiceUser) -> BusService {
        let service = BusService(name, rules: rules, bus: self, user: user)
        services.append(service)
        return service
    }

    // MARK: The loop

    /// What the loop must wait for; nil without a connection.
    var wait: (descriptor: Int32, events: Int16, due: MediaTime)? {
        guard let connection else { return nil }
        let descriptor = sd_bus_get_fd(connection)
        let events = sd_bus_get_events(connection)
        var microseconds = UInt64.max
        guard descriptor >= 0, events >= 0, sd_bus_get_timeout(connection, &microseconds) >= 0 else {
            return (-1, 0, .now)
        }
        let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1000)
        let due = overflow ? MediaTime.distantFuture : MediaTime(nanoseconds: Int64(clamping: nanoseconds))
        return (descriptor, Int16(truncatingIfNeeded: events), due)
    }

    /// Handles what has come.
    func process() {
        for _ in 0..<Self.batch {
            guard let connection else { return }
            let result = sd_bus_process(connection, nil)
            if result < 0 { return lost() }
            if !isReady, sd_bus_is_ready(connection) > 0 { ready() }
            if result == 0 { return }
        }
    }

    func close() {
        nextTry = nil
        isReady = false
        replies = [:]
        if let connection { sd_bus_close_unref(connection) }
        connection = nil
    }

    private func connect() {
        nextTry = nil
        guard open() else { return lost() }
        process()
    }

    private func open() -> Bool {
        guard sd_bus_new(&connection) >= 0, let connection else { return false }
        return sd_bus_set_address(connection, address) >= 0 && sd_bus_set_bus_client(connection, 1) >= 0
            && sd_bus_add_filter(
                connection, nil,
                { message, userdata, _ in
                    guard let message, let userdata else { return 0 }
                    // The bus is alive: its deinit closes the connection.
                    let bus = Unmanaged<Bus>.fromOpaque(userdata).takeUnretainedValue()
                    return bus.received(BusMessage(pointer: message)) ? 1 : 0
                }, Unmanaged.passUnretained(self).toOpaque()) >= 0
            && sd_bus_start(connection) >= 0
    }

    private func ready() {
        isReady = true
        readySince = .now
        for service in services { service.connected() }
    }

    private func lost() {
        if isReady, MediaTime.now - readySince >= Self.lasting { pause = Self.firstPause }
        close()
        for service in services { service.disconnected() }
        nextTry = loop.timer(after: pause) { [weak self] in self?.connect() }
        pause = min(pause * 2, Self.longestPause)
    }

    // MARK: Messages

    /// Calls a method. Doesn't start a service that isn't running.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument] = [],
        then: @escaping (BusReply) -> Void = { _ in }
    ) {
        var message: OpaquePointer?
        guard isReady, let connection,
            sd_bus_message_new_method_call(connection, &message, destination, path, interface, member) >= 0,
            let message
        else { return then(.failed) }
        defer { sd_bus_message_unref(message) }
        sd_bus_message_set_auto_start(message, 0)
        var cookie: UInt64 = 0
        guard arguments.allSatisfy({ $0.append(to: message) }),
            sd_bus_call_async(
                connection, nil, message,
                { message, userdata, _ in
                    guard let message, let userdata else { return 0 }
                    Unmanaged<Bus>.fromOpaque(userdata).takeUnretainedValue().replied(BusMessage(pointer: message))
                    return 1
                }, Unmanaged.passUnretained(self).toOpaque(),
                UInt64(clamping: Self.callTimeout.inNanoseconds / 1000)) >= 0,
            sd_bus_message_get_cookie(message, &cookie) >= 0
        else { return then(.failed) }
        replies[cookie] = then
    }

    private func replied(_ message: BusMessage) {
        var cookie: UInt64 = 0
        guard sd_bus_message_get_reply_cookie(message.pointer, &cookie) >= 0,
            let then = replies.removeValue(forKey: cookie)
        else { return }
        if !message.isError, let values = message.arguments() { then(.values(values)) } else { then(.failed) }
    }

    /// True if the message needs no other answer.
    private func received(_ message: BusMessage) -> Bool {
        if message.isMethodCall { return answer(message) }
        guard message.isSignal else { return false }
        if message.member == "NameOwnerChanged", message.interface == BusService.busName {
            guard message.sender == BusService.busName, let values = message.arguments(), values.count == 3,
                let name = values[0].text, let owner = values[2].text
            else { return true }
            for service in services where service.name == name { service.isOwned(by: owner) }
        } else {
            // Anybody may send signals to anybody: only those of a service's owner count.
            let sender = message.sender
            let those = services.filter { $0.owner == sender }
            guard !those.isEmpty, let arguments = message.arguments() else { return true }
            let signal = BusSignal(message, arguments: arguments)
            for service in those { service.signalled(signal) }
        }
        return true
    }

    private func answer(_ call: BusMessage) -> Bool {
        var message: OpaquePointer?
        switch onCall(call) {
        case .unknown:
            return false
        case .refused:
            guard sd_bus_message_new_method_errno(call.pointer, &message, EINVAL, nil) >= 0 else { return true }
        case .values(let values):
            guard sd_bus_message_new_method_return(call.pointer, &message) >= 0 else { return true }
            if let message, !values.allSatisfy({ $0.append(to: message) }) {
                sd_bus_message_unref(message)
                return true
            }
        }
        guard let message else { return true }
        _ = sd_bus_send(connection, message, nil)
        sd_bus_message_unref(message)
        return true
    }
}
