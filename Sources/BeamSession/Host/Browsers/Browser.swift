import BeamMedia
import BeamWire

/// A browser that watches: its layer, where it is in that, and what is known of its path.
struct Browser: Sendable {
    /// After so long without RTCP, or an acknowledgement, it is over.
    static let lifetime = Duration.seconds(30)
    /// After so long without RTCP nothing is sent but reports, as it has stopped or is out of reach. Browsers send a
    /// report each second, some each 5 s.
    static let silence = Duration.seconds(6)
    /// Pictures that wait for so long are outdated. The largest keyframes take less than half of it to leave.
    static let longestBacklog = Duration.seconds(2)
    /// A keyframe that was sent so recently answers a request.
    static let keyframeTime = Duration.milliseconds(300)
    /// In the lowest layer, a browser that can't have even that gets nothing for so long, then a keyframe; doubled each
    /// time up to `mostPauses` times.
    static let pause = Duration.seconds(1)
    static let mostPauses = 3

    let id: ConnectionID
    let homeLayer: Int
    let admitted: MediaTime
    /// One of the two.
    var packets: PacketDelivery?
    var units: UnitDelivery?
    var layer: Int
    /// The position of the frame that is sent next, or is being sent; nil: it waits for a keyframe.
    var cursor: Int?
    /// When something is due; nothing before.
    var wake: MediaTime
    /// When something was heard of it last: RTCP, or an acknowledgement.
    var heard: MediaTime
    /// Something was sent to it since its stream has begun: browsers don't report before.
    private var isExpectedToReport = false
    /// It was told to be behind.
    var isBehind = false
    /// Disposable frames are left out.
    var skipsDisposable = false
    /// Nothing is sent before; nil: there is no pause.
    var pausedUntil: MediaTime?
    var pauses = 0
    /// Verdicts in the lowest layer that were bad, in a row.
    var badVerdicts = 0
    /// It waits for a keyframe, and has none left in its budget.
    var isUnpaid = false
    var path: BrowserPath
    var hysteresis = LayerHysteresis()
    var budget = KeyframeBudget(burst: 5, interval: 5)
    /// Missing packets that are looked up: 20,000 a second, ten times a fast stream's. Counts them instead of bytes.
    var lookUps = TokenBucket(capacity: 8192, bitsPerSecond: 8 * 20_000)
    /// When the last keyframe had left.
    var lastKeyframe: MediaTime?
    /// The `order` of the last frame that was begun; 0: none was.
    var lastOrder = 0
    var hasStarted = false
    var figures = BrowserFigures()

    init(
        _ id: ConnectionID, form: BrowserStream.Form, _ configuration: BrowserStream.Configuration,
        random: inout some RandomNumberGenerator, now: MediaTime
    ) {
        self.id = id
        admitted = now
        heard = now
        wake = now
        path = BrowserPath(now: now)
        switch form {
        case .packets(let sources):
            packets = PacketDelivery(sources, bitRate: configuration.bitRate, random: &random)
            homeLayer = configuration.usesFullChroma && configuration.hasReducedLayer ? 1 : 0
        case .units(let takesSound):
            units = UnitDelivery(takesSound: takesSound, now: now)
            homeLayer = 0
        }
        layer = homeLayer
    }

    /// It gets less than others because of its path.
    var isReduced: Bool { layer != homeLayer }

    /// Since when it has said nothing, though it should have; nil for a page that has acknowledged everything, and for a
    /// browser that nothing was sent to.
    var silentSince: MediaTime? { packets == nil ? units?.waitingSince : isExpectedToReport ? heard : nil }

    /// Something was heard of it lately, as far as that was to be expected.
    func isReachable(now: MediaTime) -> Bool { silentSince.map { now - $0 < Self.silence } ?? true }

    /// A frame was made in its layer.
    mutating func pushed(_ position: Int, isKeyframe: Bool, now: MediaTime) {
        wake = now
        guard cursor == nil else { return }
        if isKeyframe, pausedUntil == nil, isReachable(now: now) {
            cursor = position
            isUnpaid = false
        } else if hasStarted {
            figures.skipped += 1
        }
    }

    /// It waits for a keyframe from now on.
    mutating func interrupt() {
        packets?.interrupt()
        packets?.forgetProbe()
        cursor = nil
    }

    /// Another encoder begins.
    mutating func restart(bitRate: Int, now: MediaTime) {
        interrupt()
        isExpectedToReport = false
        packets?.changeRate(bitRate, now: now)
        path.restart(now: now)
        (pausedUntil, pauses, badVerdicts) = (nil, 0, 0)
    }

    mutating func sound(_ sound: BrowserSound, now: MediaTime) -> BrowserStream.Output? {
        guard let newest = sound.newest, isReachable(now: now) else { return nil }
        if packets != nil {
            guard let packet = sound.packet(isReduced: isReduced) else { return nil }
            let burst = packets?.sound(packet, timestamp: sound.timestamp, begins: newest.begins, now: now)
            guard let burst else { return nil }
            count(packets: 1, bytes: packet.payloadLength)
            sentPackets(now: now)
            wake = min(wake, packets?.wake ?? .distantFuture)
            return .packets(id, burst)
        }
        guard let opus = sound.opus(isReduced: isReduced),
            let unit = units?.sound(opus, time: newest.time, now: now)
        else { return nil }
        count(packets: 1, bytes: unit.range.count)
        return .unit(id, unit)
    }

    /// Packets leave for it.
    mutating func sentPackets(now: MediaTime) {
        guard !isExpectedToReport else { return }
        (isExpectedToReport, heard) = (true, now)
    }

    mutating func count(packets: Int, bytes: Int) {
        figures.packets += UInt64(packets)
        figures.bytes += UInt64(bytes)
    }

    var allFigures: BrowserFigures {
        var all = figures
        all.loss = path.loss
        all.roundTrip = path.roundTrip
        all.layer = layer
        all.isReduced = isReduced
        all.isWaiting = cursor == nil
        return all
    }
}
