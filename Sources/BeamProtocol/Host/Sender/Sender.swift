import BeamMedia

/// One viewer's stream: where it goes, how far it has come in its layer, and at what pace. Nobody else's state is in it, so that a
/// viewer that is slow, gone or lying harms only itself.
///
/// Events go in; what is to be done comes back as a small enum. Time comes in as well.
struct Sender: Sendable {
    let id: ViewerID
    /// What both sides call the session.
    let session: SessionID
    let form: MediaForm
    /// Which of the host's layers it gets.
    private(set) var layer: Int
    private let limits: Pacing

    var destination = MediaDestination()
    /// Version 2: whether it is where its hellos come from.
    var validation = AddressValidation()
    /// Version 2: opens its datagrams.
    var opener: DatagramOpener?
    /// The media key that it has said it holds.
    var mediaKey: UInt16?
    /// Version 2: its path, what left when, and what is to be sent again.
    var delivery: Delivery?
    var rateLimits = ViewerRateLimits()
    var hysteresis = LayerHysteresis()
    /// The last line, message or datagram.
    var lastHeard: MediaTime
    /// Since when the stream goes to its present layer and destination.
    private(set) var since: MediaTime
    private(set) var totals = SenderTotals()

    private(set) var cursor = Cursor()
    private var pace: Pacing
    private var bucket: TokenBucket
    private var tail = TailProbe()
    /// When the next burst can be paid for; nil while none waits for that.
    private var paidAt: MediaTime?
    /// When something can be sent again; nil while nothing waits for that.
    private var resendAt: MediaTime?
    /// The path is full.
    private(set) var isBlocked = false
    private var nextProbe: MediaTime?
    /// It waits for a keyframe: it is asked for again then, in case the wish got lost.
    private var keyframeAgain: MediaTime?
    /// The position of the frame that it began last.
    private(set) var lastBegun: Int?

    init(_ id: ViewerID, session: SessionID, form: MediaForm, layer: Int, limits: Pacing, now: MediaTime) {
        self.id = id
        self.session = session
        self.form = form
        self.layer = layer
        self.limits = limits
        lastHeard = now
        since = now
        pace = limits
        bucket = TokenBucket(capacity: limits.bucketBytes, bitsPerSecond: limits.bitsPerSecond)
    }

    /// Nothing has come back from its path for so long that it has to be taken for dead.
    var isSilent: Bool { delivery?.path.isSilent ?? false }
    /// The stream goes to it, and its path isn't silent.
    var isReachable: Bool { destination.isSet && !isSilent }
    var parityShare: Double { delivery?.parity.share ?? 0 }

    // MARK: Frames

    enum PushVerdict: Hashable, Sendable {
        case none
        /// Too many frames waited, or for too long: it needs a keyframe.
        case fellBehind
    }

    /// The layer has one more frame. `patience`: how long the oldest may wait.
    mutating func pushed(_ layer: SimulcastLayer, patience: Duration, now: MediaTime) -> PushVerdict {
        guard destination.isSet else { return .none }
        let position = layer.end - 1
        if layer[position].unit.isKeyframe {
            // Whoever is silent begins with the one that is made when it is heard again.
            if isSilent, !cursor.isStreaming { return .none }
            // Frames that still wait for it are of no use any more.
            cursor.next = .frame(position: position)
            return .none
        }
        guard case .frame(let next) = cursor.next, next < position else { return .none }
        let isTooOld = !layer.contains(next) || now - layer[next].pushed > patience
        guard isTooOld || layer.bytes(from: next) > limits.queueBytes else { return .none }
        cursor.next = .keyframe
        return .fellBehind
    }

    /// Bytes that wait for it, as the encoder made them.
    func backlog(_ layer: SimulcastLayer) -> Int {
        var bytes = 0
        if let current = cursor.current, layer.contains(current.position), let cut = layer[current.position].cut(form) {
            bytes += max(0, cut.length - current.sent)
            bytes += max(0, parityLength(of: layer[current.position]) - current.paritySent)
        }
        if case .frame(let position) = cursor.next { bytes += layer.bytes(from: position) }
        return bytes
    }

    /// How long what waits needs at the present pace, but for what the bucket holds.
    mutating func backlogTime(_ layer: SimulcastLayer, now: MediaTime) -> Duration {
        let bytes = max(0, backlog(layer) - bucket.level(now: now))
        return .seconds(clamping: Double(bytes) * 8 / Double(pace.bitsPerSecond))
    }

    /// What leaves next.
    enum Step: Sendable {
        /// `begins`: it is a frame's first burst to this viewer.
        case send(MediaBurst, begins: Bool)
        /// The frame at that position can't be cut or sealed.
        case unsendable(position: Int)
        /// The next frame is gone, or can't be sent: it needs a keyframe.
        case fellBehind
        /// Nothing, or nothing yet.
        case none
    }

    /// The next burst of its layer's frames, if one may leave now.
    mutating func step(
        _ layer: inout SimulcastLayer, sealer: DatagramSealer, parityShare: Double, now: MediaTime
    ) -> Step {
        paidAt = nil
        isBlocked = false
        guard let address = destination.address else { return .none }
        while true {
            guard let current = cursor.current ?? nextFrame(in: layer, now: now) else { break }
            guard layer.contains(current.position), !layer[current.position].isUnsendable else {
                cursor = Cursor()
                return .fellBehind
            }
            guard !isSilent, room >= 0 else {
                isBlocked = true
                return .none
            }
            do throws(FragmentationError) {
                try layer.cut(current.position, as: form, parityShare: parityShare, sealedBy: sealer)
            } catch {
                cursor = Cursor()
                return .unsendable(position: current.position)
            }
            guard let burst = takeBurst(current, of: &layer, to: address, now: now) else {
                if paidAt != nil { return .none }
                cursor.current = nil
                continue
            }
            return burst
        }
        return .none
    }

    /// The frame to begin with; nil if there is none.
    private mutating func nextFrame(in layer: SimulcastLayer, now: MediaTime) -> Cursor.Current? {
        while case .frame(let position) = cursor.next, position < layer.end {
            if layer.contains(position), isToBeSkipped(position, in: layer, now: now) {
                totals.skipped += 1
                cursor.next = .frame(position: position + 1)
                continue
            }
            return Cursor.Current(position: position)
        }
        return nil
    }

    /// Nothing refers to the frame, and it is late: the time is better spent on the next one.
    private func isToBeSkipped(_ position: Int, in layer: SimulcastLayer, now: MediaTime) -> Bool {
        let frame = layer[position]
        guard frame.unit.isDisposable, let path = delivery?.path, path.isBound else { return false }
        return position + 1 < layer.end || now - frame.pushed > Self.latestBegin
    }

    /// A disposable frame that begins later than this is left out: its viewer's path still has the one before it to carry.
    private static let latestBegin = Duration.milliseconds(5)

    /// Bytes that may be on their way in addition; a datagram always may where that isn't negative.
    private var room: Int { delivery.map { $0.path.congestionWindow - $0.path.inFlight } ?? .max }

    /// Pays for and takes the next burst of the frame. Nil with `paidAt` set if the bucket doesn't hold enough, and without if nothing is
    /// left of the frame.
    private mutating func takeBurst(
        _ current: Cursor.Current, of layer: inout SimulcastLayer, to address: NetworkAddress, now: MediaTime
    ) -> Step? {
        let position = current.position
        guard let cut = layer[position].cut(form) else { return nil }
        followPath(now: now)
        let limit = min(
            pace.burstBytes(holding: bucket.level(now: now)),
            max(1, room / MediaLimits.datagramLength) * MediaLimits.datagramLength)
        let isParity = current.sent >= cut.length
        let (start, end) =
            isParity
            ? (current.paritySent, parityLength(of: layer[position])) : (current.sent, cut.length)
        // The path may need less parity by now than has left already.
        guard start < end else { return nil }
        let range = start..<min(start + limit, end)
        if let time = bucket.take(range.count, now: now) {
            paidAt = time
            return nil
        }
        let begins = cursor.current == nil
        if begins { begin(layer[position], at: position, cut, now: now) }
        note(range, isParity: isParity, now: now)
        if isParity {
            cursor.current?.paritySent = range.upperBound
            layer.parityDatagrams += UInt64(Self.datagrams(range.count))
        } else {
            cursor.current?.sent = range.upperBound
        }
        let isOver =
            isParity ? range.upperBound >= end : range.upperBound >= end && parityLength(of: layer[position]) == 0
        if isOver { cursor.current = nil }
        let memory = isParity ? layer[position].parity?.memory ?? [] : cut.memory
        let burst = MediaBurst(
            bytes: memory, range: range, segmentSize: MediaLimits.datagramLength, address: address)
        return .send(burst, begins: begins)
    }

    /// Of the frame's parity this viewer gets as much as its own path needs.
    private func parityLength(of frame: LayerFrame) -> Int {
        guard parityShare > 0, let parity = frame.parity, let cut = frame.sealed else { return 0 }
        let wanted = ParityLayout(partCount: cut.datagramCount).parityCount(forShare: parityShare)
        return min(parity.length, wanted * MediaLimits.datagramLength)
    }

    private mutating func begin(_ frame: LayerFrame, at position: Int, _ cut: LayerFrame.Cut, now: MediaTime) {
        cursor = Cursor(current: Cursor.Current(position: position), next: .frame(position: position + 1))
        lastBegun = position
        keyframeAgain = nil
        tail.frameSent(now: now)
        totals.frames += 1
        if frame.unit.isKeyframe { totals.keyframes += 1 }
        guard let number = frame.number else { return }
        delivery?.log.began(
            number, isKeyframe: frame.unit.isKeyframe, partCount: cut.datagramCount, length: cut.length, now: now)
    }

    private mutating func note(_ range: Range<Int>, isParity: Bool, now: MediaTime) {
        if isParity {
            delivery?.log.sentParity(now: now)
        } else {
            delivery?.log.sent(upTo: Self.datagrams(range.upperBound), now: now)
            rateLimits.partsSent(Self.datagrams(range.count), now: now)
        }
        sent(range.count, now: now)
    }

    private static func datagrams(_ bytes: Int) -> Int {
        (bytes + MediaLimits.datagramLength - 1) / MediaLimits.datagramLength
    }

    /// Something leaves for it.
    private mutating func sent(_ bytes: Int, now: MediaTime) {
        delivery?.sent(bytes: bytes, now: now)
        totals.bytes += UInt64(bytes)
        totals.datagrams += UInt64(Self.datagrams(bytes))
    }

    /// As fast as the path allows.
    private mutating func followPath(now: MediaTime) {
        guard let path = delivery?.path else { return }
        let slowed = limits.slowed(to: path.pacingRate, burst: path.burst)
        guard slowed != pace else { return }
        pace = slowed
        bucket.change(capacity: slowed.bucketBytes, bitsPerSecond: slowed.bitsPerSecond, now: now)
    }

    // MARK: Retransmissions

    /// The next burst of what the viewer has asked for again, if one may leave now. `memory` is used again.
    mutating func nextRetransmission(
        _ layer: SimulcastLayer, sealer: DatagramSealer, memory: inout [UInt8], now: MediaTime
    ) -> MediaBurst? {
        resendAt = nil
        guard delivery != nil, let due = delivery?.retransmissions.due else { return nil }
        guard let address = destination.address, !isSilent else {
            delivery?.retransmissions.removeAll()
            return nil
        }
        guard due <= now else {
            resendAt = due
            return nil
        }
        guard let length = takeRetransmission(layer, sealer: sealer, memory: &memory, now: now) else { return nil }
        totals.retransmissions += UInt64(Self.datagrams(length))
        sent(length, now: now)
        bucket.charge(length, now: now)
        return MediaBurst(
            bytes: memory, range: 0..<length, segmentSize: MediaLimits.datagramLength, address: address)
    }

    private mutating func takeRetransmission(
        _ layer: SimulcastLayer, sealer: DatagramSealer, memory: inout [UInt8], now: MediaTime
    ) -> Int? {
        while let due = delivery?.retransmissions.due, due <= now {
            let limit = delivery?.resendBurst ?? 1
            let cost = min(limit, delivery?.retransmissions.nextCount ?? 0) * MediaLimits.datagramLength
            if let time = delivery?.payResend(cost, now: now) {
                resendAt = time
                return nil
            }
            let duplicating = delivery?.wantsDuplicates ?? false
            guard let next = delivery?.retransmissions.next(duplicating: duplicating, limit: limit, now: now) else {
                return nil
            }
            if let length = layer.sent.write(next.parts, of: next.frame, sealedBy: sealer, to: &memory), length > 0 {
                return length
            }
            // Too late for that one.
            delivery?.returnResend(cost)
        }
        resendAt = delivery?.retransmissions.due
        return nil
    }

    // MARK: Beginning anew

    /// It begins with the keyframe at that position.
    mutating func begin(at position: Int) { cursor = Cursor(current: nil, next: .frame(position: position)) }

    /// What it is sent next has to be a keyframe.
    mutating func interrupt() { cursor = Cursor() }

    /// How long a keyframe that was wanted may take: `KeyframeSchedule.minimumInterval`, and as much for the encoder.
    private static let keyframePatience = Duration.milliseconds(400)

    /// A keyframe is wanted for it.
    mutating func waitForKeyframe(now: MediaTime) {
        // Version 1 gets one every two seconds anyway.
        if form == .version2 { keyframeAgain = now + Self.keyframePatience }
    }

    /// What is on its way, or waits, comes too late: the next keyframe takes its place.
    mutating func abandon() {
        cursor = Cursor()
        delivery?.log.forgetAll()
        delivery?.retransmissions.removeAll()
    }

    /// It gets that layer from now on, from a keyframe on.
    mutating func move(to layer: Int, now: MediaTime) {
        self.layer = layer
        since = now
        interrupt()
        delivery?.layerChanged()
        if layer == SimulcastLayer.reduced { hysteresis.left(now: now) } else { hysteresis.cameBack(now: now) }
    }

    /// Before it gets anything: the layer that suits it.
    mutating func start(in layer: Int) { self.layer = layer }

    /// Two version 1 viewers on one machine were taken for each other.
    mutating func exchangeTarget(with other: inout Sender) {
        destination.exchangeTarget(with: &other.destination)
        swap(&cursor, &other.cursor)
    }

    /// The stream goes nowhere until the next hello. False if it went nowhere before.
    mutating func stop() -> Bool {
        cursor = Cursor()
        tail.stop()
        keyframeAgain = nil
        return destination.stop()
    }

    // MARK: Time

    /// What `deadlineReached` finds.
    enum Due: Hashable, Sendable {
        /// Nothing but bursts, which `step` finds by itself.
        case none
        /// The person or machine behind it has left.
        case left
        /// It hasn't said hello for too long: the stream to it ends.
        case stopped
        /// Nobody has answered from the address that was to be proved.
        case validationFailed
        /// Nothing has come back from its path for too long.
        case fellSilent
        /// It is silent: is it still there?
        case probe
        /// Silent for so long that it is evicted.
        case evict(reason: String)
        /// A moment after the last frame: the viewer learns that there was one.
        case tail
        /// It still waits for a keyframe.
        case needsKeyframe
    }

    /// When something may be due, and what.
    var wait: (until: MediaTime, for: SenderWaitReason) {
        var next = (until: lastHeard + HostLimits.viewerTimeout, for: SenderWaitReason.silence)
        func consider(_ time: MediaTime?, _ reason: SenderWaitReason) {
            if let time, time < next.until { next = (time, reason) }
        }
        consider(paidAt, .pace)
        consider(resendAt, .retransmission)
        consider(destination.target.map { $0.lastHello + HostLimits.streamTimeout }, .hello)
        consider(validation.expiry, .addressValidation)
        if destination.isSet {
            consider(tail.deadline, .tail)
            if !cursor.isStreaming, !isSilent { consider(keyframeAgain, .keyframe) }
            if isSilent { consider(nextProbe, .probe) } else { consider(delivery?.path.deadline, .path) }
        }
        return next
    }

    mutating func deadlineReached(now: MediaTime) -> Due {
        if lastHeard + HostLimits.viewerTimeout <= now { return .left }
        if let expiry = validation.expiry, expiry <= now {
            validation.cancel()
            return .validationFailed
        }
        guard let target = destination.target else { return .none }
        if target.lastHello + HostLimits.streamTimeout <= now { return .stopped }
        if isSilent {
            guard let nextProbe, nextProbe <= now else { return .none }
            if let since = delivery?.silentSince, now - since > ViewerRateLimits.longestSilence {
                return .evict(reason: "nothing that was sent to it arrived, as far as it said")
            }
            return .probe
        }
        if let deadline = delivery?.path.deadline, deadline <= now {
            delivery?.path.timePassed(now: now)
            if isSilent { return .fellSilent }
        }
        if tail.take(now: now) { return .tail }
        if !cursor.isStreaming, let keyframeAgain, keyframeAgain <= now {
            self.keyframeAgain = nil
            return .needsKeyframe
        }
        return .none
    }

    /// Nothing gets there: from now on it is only asked whether it is there.
    mutating func fellSilent(now: MediaTime) {
        delivery?.silentSince = now
        delivery?.retransmissions.removeAll()
    }

    /// From one probe to the next of a viewer that doesn't answer.
    private static let probing = Duration.milliseconds(100)

    /// It is being asked whether it is there.
    mutating func probed(now: MediaTime) {
        delivery?.probed(now: now)
        nextProbe = now + Self.probing
    }
}

/// Totals of one viewer's stream.
struct SenderTotals: Hashable, Sendable {
    /// Frames that were begun, keyframes among them, and those that were left out because they were late.
    var frames: UInt64 = 0
    var keyframes: UInt64 = 0
    var skipped: UInt64 = 0
    var datagrams: UInt64 = 0
    var bytes: UInt64 = 0
    /// Of the datagrams, those that were sent again.
    var retransmissions: UInt64 = 0
}
