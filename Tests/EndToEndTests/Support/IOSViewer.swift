import BeamMedia
import Foundation

/// A viewer that behaves like BeamRoom on iOS, in version 1, and checks every byte. It shares nothing with the program
/// but `JSONValue`: plain sockets, Foundation's JSON, and `WireChecker` for the media.
final class IOSViewer: Sendable {
    struct State: Sendable {
        var lines: [String] = []
        /// The monotonic time in seconds at which each of `lines` came.
        var lineTimes: [Double] = []
        var checker = WireChecker()
        var mediaPort: UInt16?
        var isPaired = false
        var controlHasEnded = false
        var mediaIsOpen = false
        var stops = false
        var saysHello = true

        var replies: [JSONValue] { messages.filter { $0["ok"] != nil } }
        var messages: [JSONValue] { lines.compactMap { JSONValue($0) } }
        var heartbeats: Int { messages.count { $0["hb"] != nil } }
        /// The last `{"on":…}`.
        var broadcast: Bool? { messages.last { $0["on"] != nil }?["on"]?.bool }
    }

    let state = Monitor(State())
    let code: String
    private let host: Endpoint
    private let address: String
    private let control: Socket

    /// Connects from `address` and sends the handshake; `handshake` replaces the usual one.
    init(_ port: UInt16, from address: String = "127.0.0.1", code: String = "482913", handshake: String? = nil) throws {
        host = Endpoint(port)
        self.address = address
        self.code = code
        control = try Socket.connect(to: host, from: address)
        let line = handshake ?? #"{"app":"beamroom","ver":1,"role":"viewer","code":"\#(code)"}"#
        control.send(line + "\n")
        let (state, control, host) = (state, control, host)
        Thread.detachNewThread { Self.readControl(control, state) }
        Thread.detachNewThread { Self.sendHeartbeats(control, state) }
        Thread.detachNewThread { Self.receiveMedia(from: host.address, on: address, state) }
    }

    deinit {
        state.withLock { $0.stops = true }
        control.shut()
    }

    var current: State { state.current }

    /// Leaves: closes the control connection and sends no more hellos.
    func leave() {
        state.withLock { $0.stops = true }
        control.shut()
    }

    /// Closes the control connection and continues with the media, as a suspended phone does.
    func loseControl() { control.shut() }

    func send(_ line: String) { control.send(line + "\n") }

    /// Waits for the host's answer to the handshake.
    func reply(timeout: Double = 30) throws -> JSONValue {
        try wait("an answer to the handshake", timeout: timeout) { $0.replies.first }
    }

    @discardableResult
    func wait<Result>(_ what: String, timeout: Double = 30, _ body: (State) -> Result?) throws -> Result {
        guard let result = state.wait(timeout: timeout, { body($0) }) else {
            let state = state.current
            throw HarnessError(
                """
                the viewer waits for \(what) for \(timeout.short) s; \(state.checker.frames.count) frames of \
                \(state.checker.datagrams) datagrams, control lines: \(state.lines.suffix(8))
                """)
        }
        return result
    }

    /// Waits until `count` whole frames have come.
    func waitForFrames(_ count: Int, timeout: Double = 30) throws {
        try wait("\(count) frames", timeout: timeout) { $0.checker.frames.count >= count ? true : nil }
    }

    private static func readControl(_ control: Socket, _ state: Monitor<State>) {
        var splitter = LineSplitter()
        while !state.current.stops {
            switch control.receive(timeout: 0.5) {
            case .nothing: continue
            case .ended:
                state.withLock { $0.controlHasEnded = true }
                return
            case .bytes(let bytes):
                let lines = splitter.append(bytes)
                state.withLock { state in
                    for line in lines {
                        state.lines.append(line)
                        state.lineTimes.append(secondsNow())
                        guard let message = JSONValue(line) else { continue }
                        if let accepted = message["ok"]?.bool { state.isPaired = accepted }
                        if let port = message["udpPort"]?.number { state.mediaPort = UInt16(port) }
                    }
                }
            }
        }
    }

    private static func sendHeartbeats(_ control: Socket, _ state: Monitor<State>) {
        while true {
            // Every change wakes this wait; it ends after 5 s, or when the viewer stops.
            let ends = state.wait(timeout: 5) { $0.stops || $0.controlHasEnded ? true : nil }
            if ends == true { return }
            if state.current.isPaired { control.send(#"{"hb":1}"# + "\n") }
        }
    }

    private static func receiveMedia(from host: String, on address: String, _ state: Monitor<State>) {
        var socket: Socket?
        var port: UInt16?
        var nextHello = 0.0
        var lastData = 0.0
        var hasData = false
        while true {
            let current = state.withLock { ($0.stops, $0.isPaired, $0.mediaPort, $0.saysHello) }
            if current.0 { return }
            guard current.1, let announced = current.2 else {
                pause(seconds: 0.005)
                continue
            }
            let now = secondsNow()
            if socket == nil || port != announced || now - lastData > (hasData ? 4 : 6) {
                if socket != nil && port == announced { pause(seconds: 0.5) }
                socket = try? Socket.datagrams(on: Endpoint(0, on: address))
                port = announced
                nextHello = 0
                hasData = false
                lastData = secondsNow()
                state.withLock { $0.mediaIsOpen = true }
            }
            guard let socket else { return }
            if now >= nextHello && current.3 {
                socket.send(Array("BRHI!".utf8), to: Endpoint(announced, on: host))
                nextHello = now + 1
            }
            guard socket.isReadable(timeout: 0.05) else { continue }
            var burst: [[UInt8]] = []
            while burst.count < 256, let datagram = socket.receiveWaitingDatagram() { burst.append(datagram.bytes) }
            guard !burst.isEmpty else { continue }
            lastData = secondsNow()
            hasData = true
            state.withLock { state in
                for datagram in burst { state.checker.accept(datagram, at: lastData) }
            }
        }
    }
}
