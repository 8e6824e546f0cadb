import BeamMedia

@testable import BeamSession
@testable import BeamWire

/// What browsers send: properties that hold for any input.
extension FuzzBodies {
    /// A compound packet is refused, or has no more items than bytes for them.
    static func browserControl(_ bytes: [UInt8]) -> String? {
        var count = 0
        bytes.withUnsafeBytes { bytes in try? RTCPReader.read(bytes) { _ in count += 1 } }
        return count <= bytes.count / 4 ? nil : "\(count) items in \(bytes.count) bytes"
    }

    /// A request is refused, or has a name within it; only one that knows the password is authentic.
    static func connectivityCheck(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { view in
            guard let request = try? STUNRequest(view) else { return nil }
            guard request.name.utf8.count <= 3 * 513, STUN.isMessage(view) else { return "a request that isn't one" }
            if request.isAuthentic(view, password: "another password, of course") { return "it is authentic" }
            // Its answer is no longer than it and a code.
            let answer = request.answer(from: NetworkAddress(ip: .v4(1), port: 2), password: "p")
            return answer.count <= bytes.count + 32 ? nil : "the answer amplifies"
        }
    }

    /// An answer is refused, or everything in it is bounded.
    static func sessionAnswer(_ bytes: [UInt8]) -> String? {
        guard let answer = try? SessionAnswer(String(decoding: bytes, as: UTF8.self)) else { return nil }
        guard answer.takesVideo || answer.takesSound else { return answer.fingerprint.isEmpty ? nil : "half an answer" }
        let isBounded = (4...256).contains(answer.name.utf8.count) && (22...256).contains(answer.password.utf8.count)
        return isBounded && answer.fingerprint.count == 32 ? nil : "a field has a wrong length"
    }

    static let gatewayAnswers = [
        FakeGateway.created, #"{"janus":"success","transaction":"b1","data":{"id":7}}"#,
        #"{"janus":"success","transaction":"b2","data":{"id":9}}"#,
        #"{"janus":"success","transaction":"b4","plugindata":{"data":{"streaming":"info","info":{"viewers":2}}}}"#,
        #"{"janus":"error","transaction":"b1","error":{"code":403,"reason":"Unauthorized"}}"#, #"{"janus":"timeout"}"#,
    ]

    /// A gateway's message is refused or bounded; and whatever comes when, the control comes to rest, tells no more than it
    /// is told, and ends when it is to end.
    static func gatewayMessage(_ bytes: [UInt8]) -> String? {
        if let message = try? JanusMessage(bytes[...]) {
            switch message.content {
            case .info(let viewers) where !(0...1_000_000).contains(viewers): return "\(viewers) viewers"
            case .made(let id) where id <= 0: return "an ID of \(id)"
            case .refused(let refusal) where refusal.reason.utf8.count > 4000: return "a long reason"
            default: break
            }
        }
        var gateway = FakeGateway()
        let text = String(decoding: bytes, as: UTF8.self)
        gateway.answers[["session", "attach", "create", "info"][bytes.count % 4]] = text
        gateway.run(2.5)
        gateway.say(text)
        gateway.run(0.5)
        gateway.end()
        gateway.run(2.2)
        if !gateway.hasEnded { return "it doesn't end" }
        return gateway.events.count > 20 || gateway.requests.count > 40 ? "it says too much" : nil
    }

    /// An access unit is refused, or its packets have all its bytes, each within the longest.
    static func browserPicture(_ bytes: [UInt8]) -> String? {
        let unit = AccessUnit(
            bytes: bytes, isKeyframe: false, parameterSets: nil, size: PixelSize(width: 2, height: 2))
        guard let picture = try? RTPPicture(unit) else { return nil }
        var units: [[UInt8]] = []
        var memory = [UInt8](repeating: 0, count: RTPPicture.longestPacket)
        for index in 0..<picture.count {
            let header = RTPHeader(
                payloadType: 96, marker: picture.isLast(index), sequence: 0, timestamp: 0, source: 0,
                playoutDelay: .immediate)
            let length = memory.withUnsafeMutableBytes { picture.write(index, header, to: $0) }
            let payload = Array(memory[header.length..<length])
            guard payload.count == picture.payloadLength(index) else { return "a payload's length is wrong" }
            // A unit of that type from outside looks like a fragment, but is whole.
            if payload.count <= RTPPicture.longestPayload, payload[0] & 0x1F != 28 {
                units.append(payload)
            } else if payload.count > 1, payload[1] & 0x80 != 0 {
                units.append([payload[0] & 0xE0 | payload[1] & 0x1F] + payload[2...])
            } else if !units.isEmpty {
                units[units.count - 1] += payload.dropFirst(2)
            }
        }
        // Empty units aren't sent.
        let expected = splitUnits(bytes).filter { !$0.isEmpty }
        return expected.contains { $0[0] & 0x1F == 28 } || units == expected ? nil : "the packets differ"
    }

    private static func splitUnits(_ bytes: [UInt8]) -> [[UInt8]] {
        var (rest, units) = (bytes[...], [[UInt8]]())
        while rest.count >= 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            units.append(Array(rest.dropFirst(4).prefix(length)))
            rest = rest.dropFirst(4 + length)
        }
        return units
    }

    /// A stream with any frames, sounds, reports and acknowledgements in any order comes to rest, and sends no browser more
    /// than it may have.
    static func browserStream(_ bytes: [UInt8]) -> String? {
        var run = BrowserFuzzRun(bytes)
        return run.run()
    }
}

private struct BrowserFuzzRun {
    private var input: FuzzInput
    private var stream: BrowserStream
    private var now = MediaTime.at(1)
    private var error: String?
    private var next: UInt64 = 1
    private var memory = [UInt8](repeating: 0, count: BrowserBurst.longestPacket)

    init(_ bytes: [UInt8]) {
        input = FuzzInput(bytes)
        let flags = input.byte()
        stream = BrowserStream(
            configuration: .init(
                bitRate: input.integer(near: 8_000_000, Int.self) & 0xFFFF_FFFF, usesFullChroma: flags & 1 == 1,
                hasSound: flags & 2 == 0, hasReducedLayer: flags & 4 == 0), random: SeededGenerator(seed: 1))
    }

    mutating func run() -> String? {
        for _ in 0..<400 where !input.isAtEnd && error == nil {
            step()
            drain()
        }
        return error
    }

    private var someone: ConnectionID { ConnectionID(max(1, next &- UInt64(now.nanoseconds & 3))) }

    private mutating func step() {
        let id = someone
        switch input.choice(10) {
        case 0 where stream.browsers.count < 8:
            next += 1
            let sources = BrowserSources(video: 7, sound: input.chance(128) ? 8 : nil)
            stream.admit(
                ConnectionID(next), form: input.chance(128) ? .packets(sources) : .units(takesSound: true), now: now)
        case 1: if input.chance(60) { stream.remove(id, now: now) }
        case 2, 3: stream.handleFrame(frame(), now: now)
        case 4:
            let time = MediaTime(nanoseconds: input.integer(near: now.nanoseconds))
            let sound = input.filler(input.choice(1400))
            stream.handleSound(
                EncodedSound(
                    full: sound, reduced: input.chance(128) ? sound : nil, time: time, begins: input.chance(9)),
                now: now)
        case 5, 6:
            let packet = control()
            packet.withUnsafeBytes { stream.handleControl($0, from: id, now: now) }
        case 7: stream.acknowledged(input.integer(near: UInt32(next)), by: id, now: now)
        default: now = min(FuzzInput.latest, now + .nanoseconds(input.step()))
        }
    }

    private mutating func frame() -> EncodedFrame {
        let isKeyframe = input.chance(60)
        var frame = TestFrame.make(
            1, reference: isKeyframe ? nil : 0, bytes: 60 + input.choice(20_000),
            time: MediaTime(nanoseconds: input.integer(near: now.nanoseconds)))
        frame.layer = input.choice(3)
        frame.unit.isDisposable = !isKeyframe && input.chance(60)
        if input.chance(9) { frame.unit.bytes[Int(input.byte() & 3)] = input.byte() }
        return frame
    }

    private mutating func control() -> [UInt8] {
        switch input.choice(4) {
        case 0:
            return FakeBrowser.report(
                ReceptionReport(
                    source: 7, fractionLost: input.byte(), cumulativeLost: input.integer(),
                    highestSequence: input.integer(), jitter: input.integer(),
                    lastReport: input.integer(near: NTPTime(now).middle), delay: input.integer()))
        case 1:
            let near = stream.browsers.last?.packets?.nextSequence ?? 0
            return FakeBrowser.missing((0..<input.choice(20)).map { _ in input.integer(near: near) }, of: 7)
        case 2: return FakeBrowser.keyframe(of: 7)
        default: return input.bytes(input.choice(64))
        }
    }

    private mutating func drain() {
        for _ in 0..<20_000 {
            switch stream.pollOutput(now: now) {
            case .wait(let time):
                if time <= now, now < FuzzInput.latest { error = "it waits for the past" }
                return
            case .packets(_, let burst):
                for index in 0..<burst.count {
                    let length = memory.withUnsafeMutableBytes { burst.write(index, to: $0) }
                    if length <= RTPHeader.length { error = "an empty packet" }
                }
            case .demand(let demand, _): if demand.isHeld { error = "it holds the encoder" }
            case .unit(_, let unit):
                if unit.range.upperBound > unit.bytes.count { error = "a unit beyond its bytes" }
            case .control, .requestKeyframe, .soundDemand, .event: break
            }
        }
        error = "it doesn't come to rest"
    }
}
