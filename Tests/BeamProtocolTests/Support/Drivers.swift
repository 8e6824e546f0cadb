import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Drives a host session, and collects its outputs.
struct HostBench {
    var session: HostSession
    var now = MediaTime.zero
    private(set) var outputs: [HostSession.Output] = []
    private(set) var deadline = MediaTime.distantFuture
    private(set) var waitReason: HostWaitReason?
    /// The lines sent to each connection since the last `take`.
    private var lines: [ConnectionID: [String]] = [:]
    /// The version 2 messages sent to each connection since the last `takeMessages`.
    private var messages: [ConnectionID: [SecureMessage]] = [:]
    private(set) var closed: Set<ConnectionID> = []
    /// What browsers' pages were told since the last `takeVerdicts`.
    private var verdicts: [ConnectionID: [BrowserVerdict]] = [:]
    private(set) var events: [HostEvent] = []
    private(set) var bursts: [(time: MediaTime, burst: MediaBurst)] = []
    private(set) var keyframeRequests: [MediaTime] = []
    private(set) var demands: [(time: MediaTime, demand: StreamDemand, layer: Int)] = []

    static let viewer = IPAddress.v4(0xC000_0207)
    static let handshake = #"{"app":"beamroom","ver":1,"role":"viewer","code":"482913"}"#

    init(
        _ acceptance: Door.Acceptance = .all, pacing: Pacing = Pacing(), name: String? = nil,
        trust: HostTrust = HostTrust(own: .host, code: .none), allowsUnencrypted: Bool = true,
        webCode: HostCode? = nil, viewers: Int = Door.Configuration.defaultViewers, seed: UInt64 = 1
    ) {
        var door = Door.Configuration(
            acceptance: acceptance, deviceName: name, trust: trust, allowsUnencrypted: allowsUnencrypted)
        door.webCode = webCode
        door.mostViewers = viewers
        session = HostSession(
            configuration: HostSession.Configuration(
                door: door, broadcast: Broadcast.Configuration(pacing: pacing)),
            random: SeededGenerator(seed: seed))
        handle(.mediaPort(52346))
        handle(.broadcast(true))
    }

    mutating func handle(_ input: Door.Input) {
        session.handle(input, now: now)
        drain()
    }

    mutating func handle(_ input: HostSession.Input) {
        session.handle(input, now: now)
        drain()
    }

    mutating func open(_ id: UInt64, from address: IPAddress = viewer) {
        handle(.connectionOpened(ConnectionID(id), from: address))
    }

    mutating func say(_ id: UInt64, _ line: String) {
        handle(.connectionBytes(ConnectionID(id), Array((line + "\n").utf8)))
    }

    /// Opens a connection and sends a version 1 handshake.
    mutating func introduce(_ id: UInt64, from address: IPAddress = viewer, code: String = "482913") {
        open(id, from: address)
        say(id, #"{"app":"beamroom","ver":1,"role":"viewer","code":"\#(code)"}"#)
    }

    mutating func hello(_ port: UInt16, from address: IPAddress = viewer, bytes: [UInt8] = Array("BRHI!".utf8)) {
        bytes.withUnsafeBytes {
            session.handleDatagram($0, from: NetworkAddress(ip: address, port: port), now: now)
        }
        drain()
    }

    /// The last token that the host sent to this address, sealed with its media key.
    func challenge(_ session: SecureMessage.Session, at address: NetworkAddress) -> UInt64? {
        let tokens = bursts.compactMap { _, burst -> UInt64? in
            guard burst.address == address else { return nil }
            var opener = DatagramOpener(key: session.mediaKey)
            guard let opened = try? opener.open(Array(burst.bytes[burst.range])), opened.opened.kind == .state else {
                return nil
            }
            return opened.plaintext.withUnsafeBytes { StreamState($0).challenge }
        }
        return tokens.last
    }

    /// Sends another hello from there, with the token that the host sent there.
    mutating func answerChallenge(
        _ session: SecureMessage.Session, _ sealer: DatagramSealer, port: UInt16, from address: IPAddress = viewer
    ) throws {
        let token = challenge(session, at: NetworkAddress(ip: address, port: port))
        hello(port, from: address, bytes: try sealer.seal(.hello, SealedHello(time: now, token: token).plaintext))
    }

    /// A known version 2 viewer joins. Answers its session, and a sealer for its datagrams.
    mutating func join(
        _ id: UInt64, device: DeviceKey = .viewer, instance: UInt64 = 1, from address: IPAddress = viewer
    ) -> (session: SecureMessage.Session, sealer: DatagramSealer)? {
        openSecurely(id, from: address, device: device)
        say(id, .hello(SecureMessage.Hello(instance: instance, name: "viewer")), .join)
        for case .session(let session) in takeMessages(id) {
            return (session, DatagramSealer(key: session.viewerKey))
        }
        return nil
    }

    mutating func frame(_ frame: EncodedFrame) {
        session.handleFrame(frame, now: now)
        drain()
    }

    /// Advances the time, stopping at each deadline.
    mutating func advance(by duration: Duration) { advance(to: now + duration) }

    mutating func advance(to end: MediaTime) {
        while deadline <= end {
            now = max(now, deadline)
            drain()
        }
        now = end
    }

    mutating func drain() {
        while true {
            let output = session.pollOutput(now: now)
            switch output {
            case .wait(let time, let reason):
                (deadline, waitReason) = (time, reason)
                return
            case .send(let id, let bytes) where bytes.first != UInt8(ascii: "{"):
                if let message = try? SecureMessage(bytes) { messages[id, default: []].append(message) }
            case .send(let id, let bytes):
                let text = String(decoding: bytes, as: UTF8.self)
                lines[id, default: []] += text.split(separator: "\n").map(String.init)
            case .close(let id): closed.insert(id)
            case .browser(let id, let verdict): verdicts[id, default: []].append(verdict)
            case .event(let event): events.append(event)
            case .transmit(let burst): bursts.append((now, burst))
            case .requestKeyframe: keyframeRequests.append(now)
            case .demand(let demand, let layer): demands.append((now, demand, layer))
            case .soundDemand, .exactWanted, .hashesWanted: break
            }
            outputs.append(output)
        }
    }

    /// What was sent to a connection since the last call.
    mutating func take(_ id: UInt64) -> [String] { lines.removeValue(forKey: ConnectionID(id)) ?? [] }

    /// Opens a version 2 connection whose peer has proved to hold `device`.
    mutating func openSecurely(_ id: UInt64, from address: IPAddress = viewer, device: DeviceKey = .viewer) {
        open(id, from: address)
        handle(.connectionSecured(ConnectionID(id), device))
    }

    mutating func say(_ id: UInt64, _ messages: SecureMessage...) {
        for message in messages { handle(.connectionMessage(ConnectionID(id), message.bytes)) }
    }

    mutating func takeMessages(_ id: UInt64) -> [SecureMessage] {
        messages.removeValue(forKey: ConnectionID(id)) ?? []
    }

    mutating func takeVerdicts(_ id: ConnectionID) -> [BrowserVerdict] {
        verdicts.removeValue(forKey: id) ?? []
    }

    mutating func takeEvents() -> [HostEvent] {
        defer { events = [] }
        return events
    }

    mutating func takeBursts() -> [(time: MediaTime, burst: MediaBurst)] {
        defer { bursts = [] }
        return bursts
    }

    func isClosed(_ id: UInt64) -> Bool { closed.contains(ConnectionID(id)) }
}

/// Drives a viewer session, and collects its outputs.
struct ViewerBench {
    var session: ViewerSession
    var now = MediaTime.zero
    private(set) var deadline = MediaTime.distantFuture
    private(set) var waitReason: ViewerSession.Purpose?
    private var outputs: [String] = []
    private(set) var delivered: [ReceivedFrame] = []
    private(set) var events: [ViewerEvent] = []
    /// Datagrams.
    private(set) var sent: [[UInt8]] = []
    private var messages: [SecureMessage] = []

    init(_ configuration: ViewerSession.Configuration) {
        session = ViewerSession(configuration: configuration, random: SeededGenerator(seed: 1))
        drain()
    }

    mutating func takeMessages() -> [SecureMessage] {
        defer { messages = [] }
        return messages
    }

    init(code: String = "482913") {
        session = ViewerSession(configuration: .version1(code: code), random: SeededGenerator(seed: 1))
        drain()
    }

    mutating func handle(_ input: ViewerSession.Input) {
        session.handle(input, now: now)
        drain()
    }

    /// Lines from the host.
    mutating func hear(_ lines: String...) {
        handle(.controlBytes(lines.flatMap { Array(($0 + "\n").utf8) }))
    }

    /// Messages from a version 2 host.
    mutating func say(_ messages: SecureMessage...) {
        for message in messages { handle(.controlMessage(message.bytes)) }
    }

    mutating func datagram(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { session.handleDatagram($0, now: now) }
        drain()
    }

    mutating func advance(by duration: Duration) { advance(to: now + duration) }

    mutating func advance(to end: MediaTime) {
        while deadline <= end {
            now = max(now, deadline)
            drain()
        }
        now = end
    }

    mutating func drain() {
        while true {
            switch session.pollOutput(now: now) {
            case .wait(let time, let reason):
                (deadline, waitReason) = (time, reason)
                return
            case .connectControl(let version): note(version == .version1 ? "connect" : "connect securely")
            case .sendControl(let bytes):
                if bytes.first == UInt8(ascii: "{") {
                    note(String(decoding: bytes.dropLast(), as: UTF8.self))
                } else if let message = try? SecureMessage(bytes) {
                    messages.append(message)
                }
            case .closeControl: note("close control")
            case .openMedia(let port): note("open media \(port)")
            case .closeMedia: note("close media")
            case .sendMedia(let bytes):
                note(bytes == MediaLimits.hello ? "BRHI!" : "sealed hello")
                sent.append(bytes)
            case .deliver(let frame): delivered.append(frame)
            case .sound, .patch, .hashes, .pointer: break
            case .event(let event):
                // States of the connection accompany other events, and have tests of their own.
                if case .connection = event {} else { note("\(event)") }
                events.append(event)
            }
        }
    }

    private mutating func note(_ text: String) { outputs.append("\(now.seconds): \(text)") }

    /// The outputs since the last call, each with its time in seconds.
    mutating func take() -> [String] {
        defer { outputs = [] }
        return outputs
    }

    /// Pairs, and opens the media socket.
    mutating func pair(session: String = "S1", port: UInt16 = 52346, localPort: UInt16 = 40000) {
        handle(.controlConnected)
        hear(#"{"ok":true,"sessionID":"\#(session)","udpPort":\#(port),"message":null}"#, #"{"on":true}"#)
        handle(.mediaOpened(localPort: localPort))
    }
}

extension DeviceKey {
    static let host = DeviceKey([UInt8](repeating: 0xA0, count: length))!
    static let viewer = DeviceKey([UInt8](repeating: 0xB0, count: length))!
    static func made(_ number: UInt8) -> DeviceKey { DeviceKey([UInt8](repeating: number, count: length))! }
}

extension ViewerSession.Configuration {
    /// Version 2.
    static func secure(
        knows: Bool, device: DeviceKey = .viewer, instance: UInt64 = 1, code: String? = nil, asksForCode: Bool = false
    ) -> Self {
        Self(
            trust: ViewerTrust(own: device, name: "viewer", instance: instance, known: knows ? [.host: "host"] : [:]),
            code: code.flatMap(PairingCode.init), asksForCode: asksForCode)
    }

    static func version1(code: String = "482913") -> Self {
        Self(
            trust: ViewerTrust(own: .viewer, name: "viewer", instance: 1), code: PairingCode(code)!,
            allowsUnencrypted: true, announcedVersion: 1)
    }
}

extension Fragmenter {
    /// The frame's version 1 datagrams in memory of their own.
    static func datagrams(
        of frame: EncodedFrame, sequence: SequenceNumber
    ) throws(FragmentationError) -> [UInt8] {
        var memory: [UInt8] = []
        _ = try write(frame, sequence: sequence, to: &memory)
        return memory
    }

    /// The frame's version 2 datagrams in memory of their own.
    static func datagrams(
        of frame: EncodedFrame, sequence: SequenceNumber, sealedBy sealer: DatagramSealer
    ) throws(FragmentationError) -> [UInt8] {
        var memory: [UInt8] = []
        _ = try write(frame, sequence: sequence, sealedBy: sealer, to: &memory)
        return memory
    }
}

/// A frame's datagrams as separate arrays.
func datagrams(_ frame: EncodedFrame, _ sequence: UInt32) throws -> [[UInt8]] {
    let bytes = try Fragmenter.datagrams(of: frame, sequence: SequenceNumber(sequence))
    return stride(from: 0, to: bytes.count, by: 1200).map { Array(bytes[$0..<min($0 + 1200, bytes.count)]) }
}
