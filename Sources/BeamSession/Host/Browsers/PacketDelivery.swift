import BeamMedia
import BeamWire

/// What is sent to a browser that gets packets, when, and what again.
struct PacketDelivery: Sendable {
    /// Between two sender reports of a source.
    static let reportInterval = Duration.seconds(1)
    /// When nothing has followed a picture for so long, its last packet is sent again: if that or one before was lost,
    /// the browser wouldn't find out before the next picture, on a still screen 2 s later. Longer than the time between
    /// two pictures in motion, also where every other one is left out.
    static let probeTime = Duration.milliseconds(100)
    /// Packets that wait to be sent again. Browsers ask once more for what they don't get.
    static let mostResends = 1024
    /// Larger pictures are paced like keyframes: a second's worth of pictures at 1080p60 and 20 Mbit/s has 35 packets
    /// each, and all of such a size are sent at once.
    static let smallPicture = 64
    /// Packets that leave together while packets are paced.
    private static let burst = 4
    /// What may leave at once after a late wake-up.
    private static let mostBurst = 16

    let sources: BrowserSources
    var playoutDelay = PlayoutDelay.immediate
    private var history: PacketHistory
    private var soundSequence: UInt16
    private var budget = ResendBudget()
    /// Counts packets instead of bytes.
    private var pacing: TokenBucket
    /// Packets to be sent again, from `resendHead` on.
    private var resends: [PacketHistory.Packet] = []
    private var resendHead = 0
    /// How much of the picture at the cursor has left.
    private(set) var sentOfPicture = 0
    private var probeDue: MediaTime?
    private var reportDue: MediaTime?
    /// Since the beginning, per source (RFC 3550, 6.4.1).
    private var sent = (packets: UInt32(0), bytes: UInt32(0))
    private var sentSound = (packets: UInt32(0), bytes: UInt32(0))
    private var hasNewPackets = false
    private var hasNewSound = false

    /// `bitRate`: the options' bits a second.
    init(_ sources: BrowserSources, bitRate: Int, random: inout some RandomNumberGenerator) {
        self.sources = sources
        // Below 2¹⁵: if the first packets are lost before the numbers wrap, the browser guesses the rollover counter wrong, and
        // can open none (RFC 3711, 3.3.1).
        history = PacketHistory(first: UInt16.random(in: 0..<1 << 15, using: &random))
        soundSequence = UInt16.random(in: 0..<1 << 15, using: &random)
        pacing = TokenBucket(
            capacity: Self.mostBurst, bitsPerSecond: 8 * 1000 * Self.packetsPerMillisecond(bitRate: bitRate))
    }

    /// `bitRate`: the options' bits a second.
    mutating func changeRate(_ bitRate: Int, now: MediaTime) {
        pacing.change(
            capacity: Self.mostBurst, bitsPerSecond: 8 * 1000 * Self.packetsPerMillisecond(bitRate: bitRate), now: now)
    }

    /// 4, as measured: 1,000 at once lost most of them. More where the stream itself takes nearly as much.
    static func packetsPerMillisecond(bitRate: Int) -> Int {
        max(4, min(1000, 2 * bitRate / (8 * RTPPicture.longestPayload * 1000)))
    }

    /// The next packet's.
    var nextSequence: UInt16 { history.nextSequence }
    var resendCount: Int { resends.count - resendHead }
    var historyCount: Int { history.count }

    var isAmidPicture: Bool { sentOfPicture > 0 }

    /// When something is due that no picture brings about.
    var wake: MediaTime {
        min(reportDue ?? .distantFuture, probeDue ?? .distantFuture)
    }

    // MARK: Pictures

    /// The next packets of a picture, or when they may leave. `isOver`: they are its last ones.
    mutating func packets(
        of picture: RTPPicture, _ frame: BrowserLayer.Frame, layer: Int, position: Int, now: MediaTime
    ) -> (burst: BrowserBurst?, isOver: Bool, wait: MediaTime) {
        let rest = picture.count - sentOfPicture
        let isPaced = frame.encoded.isKeyframe && rest > Self.burst || picture.count > Self.smallPicture
        let (count, wait) = isPaced || isAmidPicture ? paced(rest, now: now) : (rest, now)
        guard count > 0 else { return (nil, false, wait) }
        if sentOfPicture == 0 { _ = history.add(count: picture.count, layer: layer, position: position) }
        let range = sentOfPicture..<sentOfPicture + count
        let first = history.nextSequence &- UInt16(truncatingIfNeeded: rest)
        let burst = burst(picture, range, timestamp: frame.timestamp, sequence: first)
        let isOver = range.upperBound == picture.count
        sentOfPicture = isOver ? 0 : range.upperBound
        sent.packets &+= UInt32(count)
        hasNewPackets = true
        sent.bytes &+= UInt32(truncatingIfNeeded: burst.payloadBytes)
        budget.sent(burst.payloadBytes, now: now)
        probeDue = isOver ? now + Self.probeTime : nil
        if reportDue == nil { reportDue = now }
        return (burst, isOver, wait)
    }

    /// How many of `rest` packets may leave now; or 0, and when.
    private mutating func paced(_ rest: Int, now: MediaTime) -> (count: Int, wait: MediaTime) {
        let least = min(Self.burst, rest)
        if let wait = pacing.take(least, now: now) { return (0, wait) }
        let more = min(pacing.level(now: now), rest - least)
        if more > 0 { pacing.charge(more, now: now) }
        return (least + more, now)
    }

    private func burst(
        _ picture: RTPPicture, _ range: Range<Int>, timestamp: UInt32, sequence: UInt16
    ) -> BrowserBurst {
        BrowserBurst(
            content: .picture(picture, range),
            first: RTPHeader(
                payloadType: BrowserSources.videoType, marker: false, sequence: sequence, timestamp: timestamp,
                source: sources.video, playoutDelay: playoutDelay))
    }

    /// The rest of a picture that was begun won't be sent.
    mutating func interrupt() {
        guard sentOfPicture > 0 else { return }
        history.cutShort(to: sentOfPicture)
        sentOfPicture = 0
    }

    // MARK: Sending again

    /// The browser hasn't got the packet of that sequence number. True if it is missing for the first time.
    mutating func isMissing(_ sequence: UInt16) -> Bool {
        guard let (packet, isNew) = history.find(sequence) else { return false }
        // Not sent yet.
        if isAmidPicture, let newest = history.newest, packet.position == newest.position,
            packet.layer == newest.layer, packet.index >= sentOfPicture
        {
            return false
        }
        if resendCount < Self.mostResends { resends.append(packet) }
        return isNew
    }

    /// The next packet that is to be sent again; nil if there is none, or none may leave before `wait`.
    mutating func resend(_ layers: [BrowserLayer], now: MediaTime) -> (burst: BrowserBurst?, wait: MediaTime) {
        while resendHead < resends.count {
            if let wait = pacing.take(1, now: now) { return (nil, wait) }
            let packet = resends[resendHead]
            resendHead += 1
            if let picture = layers[packet.layer].sentPicture(packet.position), packet.index < picture.count,
                budget.take(picture.payloadLength(packet.index), now: now)
            {
                return (again(packet, picture, layers), now)
            }
            pacing.putBack(1)
        }
        resends.removeAll(keepingCapacity: true)
        resendHead = 0
        return (nil, .distantFuture)
    }

    private func again(
        _ packet: PacketHistory.Packet, _ picture: RTPPicture, _ layers: [BrowserLayer]
    ) -> BrowserBurst {
        burst(
            picture, packet.index..<packet.index + 1, timestamp: layers[packet.layer][packet.position].timestamp,
            sequence: packet.sequence)
    }

    /// The last packet once more, if it is time for that.
    mutating func probe(_ layers: [BrowserLayer], now: MediaTime) -> BrowserBurst? {
        guard let due = probeDue, due <= now else { return nil }
        probeDue = nil
        guard !isAmidPicture, let packet = history.newest,
            let picture = layers[packet.layer].sentPicture(packet.position), packet.index < picture.count
        else { return nil }
        return again(packet, picture, layers)
    }

    mutating func forgetProbe() { probeDue = nil }

    // MARK: Sound and reports

    mutating func sound(_ packet: RTPSound, timestamp: UInt32, begins: Bool, now: MediaTime) -> BrowserBurst? {
        guard let source = sources.sound else { return nil }
        defer { soundSequence &+= 1 }
        sentSound.packets &+= 1
        sentSound.bytes &+= UInt32(packet.payloadLength)
        hasNewSound = true
        if reportDue == nil { reportDue = now }
        return BrowserBurst(
            content: .sound(packet),
            first: RTPHeader(
                payloadType: BrowserSources.soundType, marker: begins, sequence: soundSequence, timestamp: timestamp,
                source: source))
    }

    /// The sender reports that are due, of sources that have sent something since their last one.
    mutating func reports(video: UInt32, sound: UInt32, now: MediaTime) -> [[UInt8]] {
        guard let due = reportDue, due <= now else { return [] }
        reportDue = now + Self.reportInterval
        let time = NTPTime(now)
        var reports: [[UInt8]] = []
        if hasNewPackets {
            hasNewPackets = false
            reports.append(
                SenderReport(
                    source: sources.video, time: time, timestamp: video, packets: sent.packets, bytes: sent.bytes
                ).compound(name: BrowserSources.name))
        }
        if hasNewSound, let source = sources.sound {
            hasNewSound = false
            reports.append(
                SenderReport(
                    source: source, time: time, timestamp: sound, packets: sentSound.packets, bytes: sentSound.bytes
                ).compound(name: BrowserSources.name))
        }
        return reports
    }
}
