import BeamMedia
import BeamWire

/// Sends one viewer's stream: its destination, its position in its layer, its pacing. It shares no state with other
/// senders, so a viewer that is slow, gone or lying harms only itself.
///
/// Events go in, and what to do comes back as a small enum. Time is an argument.
struct Sender: Sendable {
    let id: ViewerID
    /// The session's ID at both ends.
    let session: SessionID
    let form: MediaForm
    /// Where its control connection comes from.
    var address: IPAddress
    private let limits: Pacing

    var destination = MediaDestination()
    /// Version 2: validates the address that its hellos come from.
    var validation = AddressValidation()
    /// Version 2: opens the viewer's datagrams.
    var opener: DatagramOpener?
    /// The number of the media key that the viewer has confirmed.
    var mediaKey: UInt16?
    /// Version 2: congestion control, departures, retransmissions.
    var delivery: Delivery?
    var rateLimits = ViewerRateLimits()
    /// What it gets of the sound.
    var sound = SoundDelivery()
    /// What it gets of exact patches.
    var patches = PatchDelivery()
    /// What it gets of the pointer.
    var pointer = PointerDelivery()
    /// When a datagram of the viewer came last, or when it was admitted or came back.
    var lastHeard: MediaTime
    /// Since when it gets its present layer.
    private(set) var since: MediaTime
    var totals = SenderTotals()

    private(set) var cursor = Cursor()
    private var pace: Pacing
    var bucket: TokenBucket
    /// The most that the viewer wishes.
    var quota = SendingQuota()
    var tail = TailProbe()
    /// When the token bucket allows the next burst; nil while none waits for it.
    var burstAllowedAt: MediaTime?
    /// When the next retransmission may leave; nil while none waits.
    private(set) var retransmissionAt: MediaTime?
    /// The congestion window is full, the path silent, or the viewer's wish used up for the moment.
    private(set) var isBlocked = false
    var nextProbe: MediaTime?
    /// When to repeat the keyframe request for this viewer, in case it got lost.
    var keyframeRetry: MediaTime?
    /// A whole keyframe has left.
    private(set) var hasSentPicture = false
    /// The position of the frame begun last.
    private(set) var lastBegun: Int?
    /// Frames before this position were sent in another length, in which parts of them may have arrived. They aren't begun
    /// again: their parts would contradict those.
    var freshFrom = 0
    private var lastSize = DatagramSize.full

    init(_ guest: AdmittedGuest, limits: Pacing, now: MediaTime) {
        id = guest.id
        session = guest.session
        form = guest.key == nil ? .version1 : .version2
        address = guest.address
        self.limits = limits
        lastHeard = now
        since = now
        pace = limits
        bucket = TokenBucket(capacity: limits.bucketBytes, bitsPerSecond: limits.bitsPerSecond)
    }

    /// The path is silent: nothing was received for so long that it is taken for dead.
    var isSilent: Bool { delivery?.path.isSilent ?? false }
    /// A report has come. Version 1 sends none, and counts as having answered.
    var hasAnswered: Bool { delivery?.path.hasAnswered ?? true }
    /// The stream goes to the viewer, and its path isn't silent.
    var isReachable: Bool { destination.isSet && !isSilent }
    var parityShare: Double { datagramSize == .full ? delivery?.parity.share ?? 0 : 0 }
    /// The length of the datagrams that frames are cut to for it from now on.
    var datagramSize: DatagramSize { delivery?.mtu.size ?? .full }

    // MARK: Frames

    enum PushVerdict: Hashable, Sendable {
        case none
        /// Too many frames were waiting, or for too long: the viewer needs a keyframe.
        case fellBehind
    }

    /// Frames before the layer's newest one still wait to be begun.
    func isBehind(_ layer: SimulcastLayer) -> Bool {
        if case .frame(let next) = cursor.next { next < layer.end - 1 } else { false }
    }

    /// A frame was added to the layer. `patience`: how long the oldest frame may wait.
    mutating func pushed(_ layer: SimulcastLayer, patience: Duration, now: MediaTime) -> PushVerdict {
        guard destination.isSet else { return .none }
        let position = layer.end - 1
        if layer[position].unit.isKeyframe {
            // A silent viewer begins with the keyframe that is made when it is heard from again.
            if isSilent, !cursor.isStreaming { return .none }
            // The keyframe replaces all frames that still wait.
            cursor.next = .frame(position: position)
            return .none
        }
        guard case .frame(let next) = cursor.next, next < position else { return .none }
        let isTooOld = !layer.contains(next) || now - layer[next].pushed > patience
        guard isTooOld || layer.bytes(from: next) > limits.queueBytes else { return .none }
        cursor.next = .keyframe
        return .fellBehind
    }

    /// Bytes that wait to be sent to the viewer.
    func backlog(_ layer: SimulcastLayer) -> Int {
        var bytes = 0
        if let current = cursor.current, layer.contains(current.position),
            let cut = layer[current.position].cut(form, current.size)
        {
            bytes += max(0, cut.length - current.sent)
            bytes += max(0, parityLength(of: layer[current.position], current.size) - current.paritySent)
        }
        if case .frame(let position) = cursor.next { bytes += layer.bytes(from: position) }
        return bytes
    }

    /// How long the waiting bytes take at the present pacing rate, less what the bucket holds.
    mutating func backlogTime(_ layer: SimulcastLayer, now: MediaTime) -> Duration {
        let bytes = max(0, backlog(layer) - bucket.level(now: now))
        return .seconds(clamping: Double(bytes) * 8 / Double(pace.bitsPerSecond))
    }

    /// What to send next.
    enum Step: Sendable {
        /// `begins`: it is a frame's first burst to this viewer.
        case send(MediaBurst, begins: Bool)
        /// The frame at that position can't be cut or sealed.
        case unsendable(position: Int)
        /// The next frame was removed or can't be sent: the viewer needs a keyframe.
        case fellBehind
        /// Nothing, or nothing yet.
        case none
    }

    /// The next burst of the layer's frames, if one may leave now.
    mutating func step(
        _ layer: inout SimulcastLayer, sealer: DatagramSealer, parityShare: Double, now: MediaTime
    ) -> Step {
        burstAllowedAt = nil
        isBlocked = false
        guard let address = destination.address else { return .none }
        while true {
            guard let current = cursor.current ?? nextFrame(in: layer, now: now) else { break }
            guard layer.contains(current.position), !layer[current.position].isUnsendable else {
                cursor = Cursor()
                return .fellBehind
            }
            guard !isSilent, windowSpace >= 0 else {
                isBlocked = true
                return .none
            }
            do throws(FragmentationError) {
                try layer.cut(current.position, as: form, current.size, parityShare: parityShare, sealedBy: sealer)
            } catch {
                cursor = Cursor()
                return .unsendable(position: current.position)
            }
            guard let burst = takeBurst(current, of: &layer, to: address, now: now) else {
                if burstAllowedAt != nil { return .none }
                cursor.current = nil
                continue
            }
            return burst
        }
        return .none
    }

    /// The next frame to begin; nil if there is none.
    private mutating func nextFrame(in layer: SimulcastLayer, now: MediaTime) -> Cursor.Current? {
        while case .frame(let position) = cursor.next, position < layer.end {
            if layer.contains(position), layer[position].isDropped || isToBeSkipped(position, in: layer, now: now) {
                totals.skipped += 1
                cursor.next = .frame(position: position + 1)
                continue
            }
            return Cursor.Current(position: position, size: datagramSize)
        }
        return nil
    }

    /// The frame is disposable, and late or more than the viewer wishes, so it is skipped in favour of the next one.
    private mutating func isToBeSkipped(_ position: Int, in layer: SimulcastLayer, now: MediaTime) -> Bool {
        let frame = layer[position]
        guard frame.unit.isDisposable else { return false }
        if quota.leavesOut(frame.unit.range.count, now: now) { return true }
        guard delivery?.path.isBound ?? false else { return false }
        return position + 1 < layer.end || now - frame.pushed > Self.latestBegin
    }

    /// A disposable frame older than this isn't begun: the path is still busy with the frame before it.
    private static let latestBegin = Duration.milliseconds(5)

    /// Bytes left in the congestion window. One datagram may be sent unless this is negative.
    private var windowSpace: Int { delivery?.path.windowSpace ?? .max }

    /// Takes the next burst of the frame. Returns nil and sets `burstAllowedAt` if the bucket holds too little; nil without
    /// `burstAllowedAt` if nothing of the frame is left.
    private mutating func takeBurst(
        _ current: Cursor.Current, of layer: inout SimulcastLayer, to address: NetworkAddress, now: MediaTime
    ) -> Step? {
        let position = current.position
        guard let cut = layer[position].cut(form, current.size) else { return nil }
        let unit = cut.size.length
        followPath(now: now)
        let limit = min(
            pace.burstBytes(holding: bucket.level(now: now), in: cut.size), max(1, windowSpace / unit) * unit)
        let isParity = current.sent >= cut.length
        let (start, end) =
            isParity
            ? (current.paritySent, parityLength(of: layer[position], cut.size)) : (current.sent, cut.length)
        // The parity needed may have become less than was sent already.
        guard start < end else { return nil }
        let range = start..<min(start + limit, end)
        if let time = quota.take(range.count, now: now) {
            (burstAllowedAt, isBlocked) = (time, true)
            return nil
        }
        if let time = bucket.take(range.count, now: now) {
            quota.putBack(range.count)
            burstAllowedAt = time
            return nil
        }
        let begins = cursor.current == nil
        if begins { begin(layer[position], at: position, cut, now: now) }
        note(range, of: cut, isParity: isParity, now: now)
        if isParity {
            cursor.current?.paritySent = range.upperBound
            layer.parityDatagrams += UInt64(Self.datagrams(range.count, unit))
        } else {
            cursor.current?.sent = range.upperBound
        }
        let isOver =
            range.upperBound >= end && (isParity || parityLength(of: layer[position], cut.size) == 0)
        if isOver {
            cursor.current = nil
            if layer[position].unit.isKeyframe {
                hasSentPicture = true
                delivery?.keyframeSent()
            }
        }
        let memory = isParity ? layer[position].parity?.memory ?? [] : cut.memory
        let burst = MediaBurst(
            bytes: memory, range: range, segmentSize: unit, address: address)
        return .send(burst, begins: begins)
    }

    /// The length in bytes of the parity that this viewer's path needs, at most what was made for the frame. There is
    /// none for shorter datagrams: it is as long as full ones.
    private func parityLength(of frame: LayerFrame, _ size: DatagramSize) -> Int {
        guard parityShare > 0, size == .full, let parity = frame.parity, let cut = frame.sealed else { return 0 }
        let wanted = ParityLayout(partCount: cut.datagramCount).parityCount(forShare: parityShare)
        return min(parity.length, wanted * MediaLimits.datagramLength)
    }

    private mutating func begin(_ frame: LayerFrame, at position: Int, _ cut: LayerFrame.Cut, now: MediaTime) {
        cursor = Cursor(
            current: Cursor.Current(position: position, size: cut.size), next: .frame(position: position + 1))
        lastBegun = position
        if cut.size != lastSize { (lastSize, freshFrom) = (cut.size, max(freshFrom, position)) }
        keyframeRetry = nil
        tail.frameSent(now: now)
        quota.frameBegan(now: now)
        totals.frames += 1
        if frame.unit.isKeyframe { totals.keyframes += 1 }
        guard let number = frame.number else { return }
        delivery?.log.began(
            number, isKeyframe: frame.unit.isKeyframe, partCount: cut.datagramCount, length: cut.length,
            size: cut.size, now: now)
    }

    private mutating func note(_ range: Range<Int>, of cut: LayerFrame.Cut, isParity: Bool, now: MediaTime) {
        let unit = cut.size.length
        if isParity {
            delivery?.log.sentParity(now: now)
        } else {
            delivery?.log.sent(upTo: Self.datagrams(range.upperBound, unit), now: now)
            rateLimits.partsSent(Self.datagrams(range.count, unit), now: now)
        }
        sent(range.count, unit, now: now)
    }

    /// How many datagrams of `unit` bytes, the last of which may be shorter, make up so many bytes.
    private static func datagrams(_ bytes: Int, _ unit: Int) -> Int { (bytes + unit - 1) / unit }

    /// Counts what is being sent, in datagrams of `unit` bytes.
    private mutating func sent(_ bytes: Int, _ unit: Int, now: MediaTime) {
        delivery?.sent(bytes: bytes, now: now)
        // The last one may be a frame's last part, which is shorter.
        delivery?.mtu.sent(bytes / unit, now: now)
        totals.bytes += UInt64(bytes)
        totals.datagrams += UInt64(Self.datagrams(bytes, unit))
    }

    /// Adapts the pacing to the path.
    mutating func followPath(now: MediaTime) {
        guard let (rate, burst) = delivery?.path.pace else { return }
        let slowed = limits.slowed(to: rate, burst: burst)
        guard slowed != pace else { return }
        pace = slowed
        bucket.change(capacity: slowed.bucketBytes, bitsPerSecond: slowed.bitsPerSecond, now: now)
    }

    // MARK: Retransmissions

    /// The next burst of retransmissions, if one may leave now. `memory` is reused.
    mutating func nextRetransmission(
        _ layer: SimulcastLayer, sealer: DatagramSealer, memory: inout [UInt8], now: MediaTime
    ) -> MediaBurst? {
        retransmissionAt = nil
        guard delivery != nil, let due = delivery?.retransmissions.due else { return nil }
        guard let address = destination.address, !isSilent else {
            delivery?.retransmissions.removeAll()
            return nil
        }
        guard due <= now else {
            retransmissionAt = due
            return nil
        }
        guard let (length, size) = takeRetransmission(layer, sealer: sealer, memory: &memory, now: now) else {
            return nil
        }
        totals.retransmissions += UInt64(Self.datagrams(length, size.length))
        sent(length, size.length, now: now)
        bucket.charge(length, now: now)
        quota.charge(length, now: now)
        return MediaBurst(bytes: memory, range: 0..<length, segmentSize: size.length, address: address)
    }

    private mutating func takeRetransmission(
        _ layer: SimulcastLayer, sealer: DatagramSealer, memory: inout [UInt8], now: MediaTime
    ) -> (length: Int, size: DatagramSize)? {
        while let due = delivery?.retransmissions.due, due <= now {
            let limit = delivery?.resendBurst ?? 1
            let count = delivery?.retransmissions.nextCount(limit: limit, now: now) ?? 0
            let cost = count * MediaLimits.datagramLength
            if let time = delivery?.payResend(cost, now: now) {
                retransmissionAt = time
                return nil
            }
            let duplicating = delivery?.wantsDuplicates ?? false
            guard let next = delivery?.retransmissions.next(duplicating: duplicating, limit: limit, now: now) else {
                return nil
            }
            let size = delivery?.log.frame(next.frame)?.size ?? .full
            let length = layer.sent.write(next.parts, of: next.frame, size: size, sealedBy: sealer, to: &memory)
            if let length, length > 0 { return (length, size) }
            // The frame is no longer kept.
            delivery?.returnResend(cost)
        }
        retransmissionAt = delivery?.retransmissions.due
        return nil
    }

    // MARK: Starting and stopping

    /// Begins with the keyframe at `position`.
    mutating func begin(at position: Int) { cursor = Cursor(current: nil, next: .frame(position: position)) }

    /// Stops within the layer: the next frame sent has to be a keyframe.
    mutating func interrupt() {
        cursor = Cursor()
        patches.dropQueue()
    }

    /// How long a requested keyframe may take: `KeyframeSchedule.minimumInterval`, and as much again for the encoder.
    private static let keyframePatience = Duration.milliseconds(400)

    /// A keyframe was requested for this viewer.
    mutating func waitForKeyframe(now: MediaTime) {
        // Version 1 viewers get a keyframe every two seconds anyway.
        if form == .version2 { keyframeRetry = now + Self.keyframePatience }
    }

    /// Drops all that is in flight or waiting as too late; the next keyframe replaces it.
    mutating func abandon(now: MediaTime) {
        cursor = Cursor()
        delivery?.abandoned(now: now)
    }

    /// The viewer gets another layer, from a keyframe on.
    mutating func layerChanged(now: MediaTime) {
        since = now
        freshFrom = 0
        interrupt()
        delivery?.layerChanged()
    }

    /// Swaps the targets of two version 1 viewers on one machine that were confused.
    mutating func exchangeTarget(with other: inout Sender) {
        destination.exchangeTarget(with: &other.destination)
        swap(&cursor, &other.cursor)
    }

    /// Stops the stream until the next hello. False if there was none.
    mutating func stop() -> Bool {
        interrupt()
        tail.stop()
        keyframeRetry = nil
        return destination.stop()
    }
}
