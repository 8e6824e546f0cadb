import BeamMedia
import BeamWire

/// The stream to a gateway, without I/O: the packets that browsers get, once for all who watch there. It is a sink of the
/// encoder beside the broadcast, with a demand of its own: only while somebody watches at the gateway.
///
/// A gateway isn't a browser: it reports nothing, asks for nothing again, and passes a request for a keyframe on for one of
/// many. So none of the others waits for that keyframe, and nothing is ever left out for the gateway but what this machine
/// itself couldn't send in time.
///
/// After each call, `pollOutput` is to be called until it answers `.wait`. Time is an argument, and doesn't go back.
public struct GatewayStream: Sendable {
    public enum Output: Sendable {
        /// RTP packets in the clear, to be protected and sent in this order, one datagram each.
        case packets(BrowserBurst)
        /// A compound RTCP packet, to be sent as it is: gateways take it in the clear only.
        case control([UInt8], isSound: Bool)
        /// For the encoder of that simulcast layer. At most once a second.
        case requestKeyframe(layer: Int)
        case demand(StreamDemand, layer: Int)
        case soundDemand(SoundDemand)
        /// Nothing more to do. Call `pollOutput` again at that time, or after the next input; `.distantFuture`: only then.
        case wait(until: MediaTime)
    }

    /// Between two keyframes that were asked for.
    static let keyframeInterval = Duration.seconds(1)
    /// Between two sender reports: while somebody watches, and while nobody does, which keeps the way back open.
    static let reportInterval = Duration.seconds(1)
    static let idleInterval = Duration.seconds(5)
    /// The gateway says every 2 s how many watch.
    static let confirmTime = Duration.seconds(6)
    /// Pictures that wait for so long are outdated.
    static let longestBacklog = Duration.seconds(2)
    /// Pictures that may wait.
    static let mostFrames = 256
    /// Packets that leave together while packets are paced, and what may leave at once after a late wake-up.
    private static let burst = 4
    private static let mostBurst = 16

    private struct Frame: Sendable {
        let picture: RTPPicture
        let isKeyframe: Bool
        let timestamp: UInt32
        let pushed: MediaTime
    }

    /// A mountpoint's, from its beginning to its end.
    private struct Path: Sendable {
        var sources: BrowserSources
        var sequence: UInt16
        var soundSequence: UInt16
        /// Since the beginning (RFC 3550, 6.4.1).
        var sent = (packets: UInt32(0), bytes: UInt32(0))
        var sentSound = (packets: UInt32(0), bytes: UInt32(0))
        var reportDue: MediaTime
    }

    /// The simulcast layer that gateways get: WebRTC doesn't promise to decode 4:4:4.
    public let layer: Int
    private let hasSound: Bool
    private var random: any RandomNumberGenerator & Sendable
    private var outputs = OutputQueue<Output>()
    private var clock: RTPClock
    private var sound: BrowserSound
    private var path: Path?
    private var isWatched = false
    /// A request for a keyframe has begun the stream, and the gateway has to say until then that somebody watches.
    private var confirmDue: MediaTime?
    private var frames: [Frame] = []
    /// Of the first frame.
    private var sentOfPicture = 0
    private var needsKeyframe = true
    private var keyframeDue: MediaTime?
    private var lastRequest: MediaTime?
    private var demand = StreamDemand()
    private var pacing: TokenBucket
    public private(set) var figures = BrowserFigures()

    /// `random` makes sources, sequence numbers and timestamps: the system's generator, except in tests.
    public init(configuration: BrowserStream.Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        layer = configuration.usesFullChroma && configuration.hasReducedLayer ? 1 : 0
        hasSound = configuration.hasSound
        clock = RTPClock(rate: RTPClock.video, offset: random.next())
        sound = BrowserSound(offset: random.next())
        pacing = TokenBucket(
            capacity: Self.mostBurst,
            bitsPerSecond: 8 * 1000 * PacketDelivery.packetsPerMillisecond(bitRate: configuration.bitRate))
        self.random = random
    }

    // MARK: The mountpoint

    /// The gateway takes packets: sources and sequence numbers are new, as the key is.
    public mutating func begin(now: MediaTime) {
        // Below 2¹⁵, as the first packets may be lost: nobody takes them for those of the round before (RFC 3711, 3.3.1).
        path = Path(
            sources: BrowserSources(hasSound: hasSound, random: &random),
            sequence: UInt16.random(in: 0..<1 << 15, using: &random),
            soundSequence: UInt16.random(in: 0..<1 << 15, using: &random), reportDue: now)
        interrupt(now: now)
        changeDemand()
    }

    /// It takes none any more.
    public mutating func stop(now: MediaTime) {
        path = nil
        isWatched = false
        confirmDue = nil
        interrupt(now: now)
        changeDemand()
    }

    /// Whether somebody watches there, as the gateway says. A request for a keyframe says it earlier.
    public mutating func setWatched(_ isWatched: Bool, now: MediaTime) {
        confirmDue = nil
        guard isWatched != self.isWatched, path != nil else { return }
        self.isWatched = isWatched
        interrupt(now: now)
        changeDemand()
    }

    /// What waits is dropped; it goes on with a keyframe.
    private mutating func interrupt(now: MediaTime) {
        frames.removeAll()
        sentOfPicture = 0
        needsKeyframe = true
        if isWatched, path != nil { wantKeyframe(now: now) } else { keyframeDue = nil }
    }

    private mutating func changeDemand() {
        let isOn = path != nil && isWatched
        var wanted = StreamDemand(isWatched: isOn)
        if isOn { wanted.longestPause = BrowserStream.longestPause }
        if wanted != demand {
            demand = wanted
            outputs.append(.demand(wanted, layer: layer))
        }
        let wantedSound = SoundDemand(full: isOn && hasSound)
        if sound.want(wantedSound) { outputs.append(.soundDemand(wantedSound)) }
    }

    // MARK: The encoder

    /// Takes an encoded frame.
    public mutating func handleFrame(_ frame: EncodedFrame, now: MediaTime) {
        guard path != nil, isWatched, frame.layer == layer else { return }
        let timestamp = clock.next(frame.captureTime)
        // Frames after one that can't be cut refer to it.
        guard !needsKeyframe || frame.isKeyframe, let picture = try? RTPPicture(frame.unit) else {
            figures.skipped += 1
            if !needsKeyframe { interrupt(now: now) }
            return
        }
        if frame.isKeyframe {
            needsKeyframe = false
            keyframeDue = nil
            // What waits before it is needless, but for the rest of a picture that was begun.
            let kept = sentOfPicture > 0 ? 1 : 0
            figures.skipped += UInt64(max(0, frames.count - kept))
            frames.removeSubrange(min(kept, frames.count)...)
        }
        frames.append(Frame(picture: picture, isKeyframe: frame.isKeyframe, timestamp: timestamp, pushed: now))
        if frames.count > Self.mostFrames { fallBehind(now: now) }
    }

    private mutating func fallBehind(now: MediaTime) {
        figures.skipped += UInt64(frames.count)
        interrupt(now: now)
    }

    /// Takes 10 ms of sound.
    public mutating func handleSound(_ sound: EncodedSound, now: MediaTime) {
        guard hasSound, isWatched, let source = path?.sources.sound else { return }
        self.sound.push(sound)
        guard let packet = self.sound.packet(isReduced: false), let sequence = path?.soundSequence else { return }
        path?.soundSequence &+= 1
        path?.sentSound.packets &+= 1
        path?.sentSound.bytes &+= UInt32(packet.payloadLength)
        count(packets: 1, bytes: packet.payloadLength)
        outputs.append(
            .packets(
                BrowserBurst(
                    content: .sound(packet),
                    first: RTPHeader(
                        payloadType: BrowserSources.soundType, marker: sound.begins, sequence: sequence,
                        timestamp: self.sound.timestamp, source: source))))
    }

    // MARK: What comes back

    /// Takes an RTCP packet that seems to come from the gateway. It isn't authentic: all that anybody can bring about with
    /// one is a keyframe, once a second.
    public mutating func handleControl(_ bytes: UnsafeRawBufferPointer, now: MediaTime) {
        guard let own = path?.sources.video else { return }
        var isWanted = false
        // What stands before an error counts. Before the first packet a gateway knows no source.
        try? RTCPReader.read(bytes) { item in
            if case .keyframe(let source) = item, source == own || source == 0 { isWanted = true }
        }
        guard isWanted else { return }
        if isWatched { return wantKeyframe(now: now) }
        setWatched(true, now: now)
        confirmDue = now + Self.confirmTime
    }

    private mutating func wantKeyframe(now: MediaTime) {
        guard keyframeDue == nil else { return }
        keyframeDue = max(now, lastRequest.map { $0 + Self.keyframeInterval } ?? now)
    }

    // MARK: What goes out

    /// The next thing to do; `.wait` when there is nothing more for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if let due = confirmDue, due <= now {
                setWatched(false, now: now)
                continue
            }
            if let due = keyframeDue, due <= now {
                lastRequest = now
                // Asked again if none comes.
                keyframeDue = needsKeyframe ? now + Self.keyframeInterval : nil
                return .requestKeyframe(layer: layer)
            }
            // RTCP first: before it, a gateway has no way back.
            if let due = path?.reportDue, due <= now {
                report(now: now)
                continue
            }
            if let wait = sendPicture(now: now) {
                return .wait(until: [wait, keyframeDue, confirmDue, path?.reportDue].compactMap { $0 }.min() ?? wait)
            }
        }
    }

    private mutating func report(now: MediaTime) {
        guard let path else { return }
        let time = NTPTime(now)
        outputs.append(
            .control(
                SenderReport(
                    source: path.sources.video, time: time, timestamp: clock.timestamp(of: now),
                    packets: path.sent.packets, bytes: path.sent.bytes
                ).compound(name: BrowserSources.name), isSound: false))
        if let source = path.sources.sound {
            outputs.append(
                .control(
                    SenderReport(
                        source: source, time: time, timestamp: sound.timestamp(of: now),
                        packets: path.sentSound.packets, bytes: path.sentSound.bytes
                    ).compound(name: BrowserSources.name), isSound: true))
        }
        self.path?.reportDue = now + (isWatched ? Self.reportInterval : Self.idleInterval)
    }

    /// Sends packets of the next picture. Returns when the next may leave, or nil if some have left.
    private mutating func sendPicture(now: MediaTime) -> MediaTime? {
        guard let frame = frames.first, let path else { return .distantFuture }
        if sentOfPicture == 0, now - frame.pushed > Self.longestBacklog, !frame.isKeyframe {
            fallBehind(now: now)
            return nil
        }
        let rest = frame.picture.count - sentOfPicture
        let isPaced =
            frame.isKeyframe && frame.picture.count > Self.burst
            || frame.picture.count > PacketDelivery.smallPicture
        let (count, wait) = isPaced ? paced(rest, now: now) : (rest, now)
        guard count > 0 else { return wait }
        let burst = BrowserBurst(
            content: .picture(frame.picture, sentOfPicture..<sentOfPicture + count),
            first: RTPHeader(
                payloadType: BrowserSources.videoType, marker: false, sequence: path.sequence,
                timestamp: frame.timestamp, source: path.sources.video, playoutDelay: .immediate))
        self.path?.sequence &+= UInt16(truncatingIfNeeded: count)
        self.path?.sent.packets &+= UInt32(count)
        self.path?.sent.bytes &+= UInt32(truncatingIfNeeded: burst.payloadBytes)
        self.count(packets: count, bytes: burst.payloadBytes)
        sentOfPicture += count
        if sentOfPicture == frame.picture.count {
            figures.frames += 1
            if frame.isKeyframe { figures.keyframes += 1 }
            frames.removeFirst()
            sentOfPicture = 0
        }
        outputs.append(.packets(burst))
        return nil
    }

    /// How many of `rest` packets may leave now; or 0, and when.
    private mutating func paced(_ rest: Int, now: MediaTime) -> (count: Int, wait: MediaTime) {
        let least = min(Self.burst, rest)
        if let wait = pacing.take(least, now: now) { return (0, wait) }
        let more = min(pacing.level(now: now), rest - least)
        if more > 0 { pacing.charge(more, now: now) }
        return (least + more, now)
    }

    private mutating func count(packets: Int, bytes: Int) {
        figures.packets += UInt64(packets)
        figures.bytes += UInt64(bytes)
    }
}
