import BeamMedia
import BeamWire

@testable import BeamSession

/// A gateway in virtual time that answers as Janus 1.1.2 does, or as it is told to.
struct FakeGateway {
    var control: GatewayControl
    var now = MediaTime.at(1)
    /// Mountpoints by number, with their secrets.
    var mountpoints: [Int: String] = [:]
    var viewers = 0
    var isReachable = true
    /// Why nothing can be sent to its mountpoints; nil: it can.
    var sendingProblem: GatewayProblem?
    /// Nothing is ready to be sent, ever.
    var isPreparing = false
    /// Answers by the request's kind instead of the usual ones; nil: none at all.
    var answers: [String: String?] = [:]

    private(set) var isConnected = false
    private(set) var requests: [(JanusRequest, at: MediaTime)] = []
    private(set) var connects: [MediaTime] = []
    private(set) var events: [GatewayEvent] = []
    private(set) var begun: [GatewayKey] = []
    private(set) var stops = 0
    private(set) var cleared: [GatewayMountpoint] = []
    private(set) var hasEnded = false

    init(
        leftovers: [GatewayMountpoint] = [], hasSound: Bool = true, hasToken: Bool = false, seed: UInt64 = 5
    ) {
        var random = SeededGenerator(seed: seed)
        control = GatewayControl(
            GatewayControl.Configuration(
                mountpoint: GatewayMountpoint(random: &random), hasSound: hasSound, leftovers: leftovers,
                hasToken: hasToken),
            random: SeededGenerator(seed: 6), now: now)
    }

    /// The answer to `create` as Janus 1.1.2 has sent it.
    static let created =
        #"{"janus":"success","session_id":4861301,"transaction":"b3","sender":77,"plugindata":{"plugin":"janus.plugin.streaming","data":{"streaming":"created","created":"mp","permanent":false,"stream":{"id":5,"type":"live","description":"BeamRoom","is_private":true,"ports":[{"type":"video","mid":"v","port":41234,"rtcp_port":41235},{"type":"audio","mid":"a","port":41236,"rtcp_port":41237}]}}}}"#

    static let video = GatewayPorts(video: 1000, videoControl: 1001, sound: 1002, soundControl: 1003)

    /// Advances in steps of 0.1 s.
    mutating func run(_ seconds: Double) {
        let end = now + .seconds(seconds)
        drain()
        while now < end {
            now = now + .milliseconds(100)
            drain()
        }
    }

    mutating func lose() {
        isConnected = false
        control.failed(.lost, now: now)
        drain()
    }

    mutating func end() {
        control.end(now: now)
        drain()
    }

    mutating func say(_ text: String) {
        control.received(Array(text.utf8)[...], now: now)
        drain()
    }

    mutating func drain() {
        for _ in 0..<1000 {
            switch control.pollOutput(now: now) {
            case .wait: return
            case .ended:
                hasEnded = true
                return
            case .connect:
                connects.append(now)
                isConnected = isReachable
                if isReachable {
                    control.connected(isLocal: true, now: now)
                } else {
                    control.failed(.unreachable(reason: "no way"), now: now)
                }
            case .disconnect: isConnected = false
            case .send(let request, let transaction): answer(request, transaction)
            case .begin(_, let key):
                begun.append(key)
                if isPreparing { continue }
                if let sendingProblem {
                    control.sendingFailed(sendingProblem, now: now)
                } else {
                    control.sendingBegan(now: now)
                }
            case .stop: stops += 1
            case .event(let event): events.append(event)
            case .cleared(let point): cleared.append(point)
            }
        }
        events.append(.problem(.refused(code: -1, reason: "it doesn't come to rest")))
    }

    /// Answers the last request, which it has left without an answer.
    mutating func answerLast() {
        guard let last = requests.last else { return }
        answer(last.0, "b\(requests.count)")
        drain()
    }

    private mutating func answer(_ request: JanusRequest, _ transaction: String) {
        requests.append((request, now))
        guard isConnected else { return }
        let kind = Self.kind(request)
        if let other = answers[kind] {
            if let other { reply(other.replacing("T", with: transaction)) }
            return
        }
        let head = #"{"janus":"success","session_id":7,"transaction":"\#(transaction)""#
        func plugin(_ data: String) -> String {
            head + #","sender":9,"plugindata":{"plugin":"janus.plugin.streaming","data":\#(data)}}"#
        }
        let noSuch = #"{"streaming":"event","error_code":455,"error":"No such mountpoint/stream"}"#
        switch request {
        case .createSession, .attach: reply(head + #","data":{"id":7}}"#)
        case .destroySession: reply(head + "}")
        case .create(_, let point, _, let hasSound, _):
            guard mountpoints.updateValue(point.secret, forKey: point.id) == nil else {
                return reply(plugin(#"{"streaming":"event","error_code":456,"error":"exists already"}"#))
            }
            let sound = hasSound ? #",{"type":"audio","mid":"a","port":1002,"rtcp_port":1003}"# : ""
            reply(
                plugin(
                    #"{"streaming":"created","created":"m","permanent":false,"stream":{"id":\#(point.id),"type":"live","ports":[{"type":"video","mid":"v","port":1000,"rtcp_port":1001}\#(sound)]}}"#
                ))
        case .info(_, let point):
            guard mountpoints[point.id] != nil else { return reply(plugin(noSuch)) }
            reply(
                plugin(#"{"streaming":"info","info":{"id":\#(point.id),"viewers":\#(viewers),"media":[{"mid":"v"}]}}"#))
        case .destroy(_, let point):
            guard mountpoints[point.id] == point.secret else { return reply(plugin(noSuch)) }
            mountpoints[point.id] = nil
            reply(plugin(#"{"streaming":"destroyed","destroyed":\#(point.id)}"#))
        }
    }

    private mutating func reply(_ text: String) { control.received(Array(text.utf8)[...], now: now) }

    static func kind(_ request: JanusRequest) -> String {
        switch request {
        case .createSession: "session"
        case .attach: "attach"
        case .create: "create"
        case .info: "info"
        case .destroy: "destroy"
        case .destroySession: "destroySession"
        }
    }

    /// The kinds of all requests, those that follow one another counted once.
    var kinds: [String] {
        requests.map { Self.kind($0.0) }.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}
