import BeamMedia
import BeamWire

/// A viewer's media: datagrams in, frames and sound out, feedback to the host. It knows nothing of how the host has
/// admitted this viewer.
///
/// Call a method for each thing that happens, then `pollOutput` until it returns nil.
struct Receiver: Sendable {
    enum Output: Sendable {
        /// It is the session's as it is.
        case pass(ViewerSession.Output)
        /// Tell the host the media socket's local port (version 1).
        case announce(localPort: UInt16)
        /// Nothing arrives: test the control connection.
        case testControl
        /// The picture stands still because nothing arrives.
        case silent
    }

    private var outputs = OutputQueue<Output>()
    private var media = MediaLiveness()
    /// Nil in version 1, which doesn't encrypt, and while there is no session.
    private(set) var keys: Keys?
    /// Whether the host is sharing, as it said last in this session; nil: it hasn't said.
    private(set) var isBroadcasting: Bool?
    /// Rate limit on the ports that the host names.
    private var port = Announcement<UInt16>()
    private(set) var reassembler = Reassembler()
    private var reports = PathReports()
    private(set) var playout: PlayoutBuffer
    private(set) var beside: BesidePictures
    /// When the session began.
    private var began = MediaTime.zero
    /// That of the last frame that was delivered.
    private var pictureSize: PixelSize?
    private var clock = HostClock()
    private var clockError: Duration?
    /// The last datagram's plaintext; its memory is reused.
    private var opened: [UInt8] = []

    /// - Parameter buffer: the playout delay; nil: adaptive.
    init(buffer: Duration?, takesSound: Bool, takesPatches: Bool = false, takesPointer: Bool = false) {
        playout = PlayoutBuffer(fixed: buffer)
        beside = BesidePictures(takesSound: takesSound, takesPatches: takesPatches, takesPointer: takesPointer)
    }

    var statistics: ViewerStatistics {
        var statistics = reassembler.statistics
        statistics.roundTrip = clock.roundTrip
        statistics.clockError = clockError
        statistics.keyframesRequested = reports.keyframesRequested
        statistics.estimatedRate = reports.rates.map { Int($0.estimated) * 1000 }
        statistics.usedRate = reports.rates.map { Int($0.used) * 1000 }
        statistics.buffer = playout.delay
        statistics.sound = beside.sound.statistics
        return statistics
    }

    mutating func pollOutput() -> Output? { outputs.popFirst() }

    /// Version 2: datagrams are sealed, and parts and keyframes can be requested.
    private var isSealed: Bool { keys != nil }

    /// The media socket's local port.
    var localPort: UInt16? { media.localPort }
    var isOpen: Bool { media.isOpen }

    // MARK: The session

    /// A new session. `keys` seal it in version 2: the viewer's and the host's.
    mutating func begin(_ keys: (own: SealingKey, media: SealingKey)?, mediaPort: UInt16?, now: MediaTime) {
        self.keys = nil
        began = now
        isBroadcasting = nil
        setKeys(keys)
        port.forget()
        reassembler.reset(canAsk: isSealed)
        if beside.restart() { outputs.append(.pass(.pointer(.inPicture))) }
        pictureSize = nil
        playout.removeAll()
        media.broadcast(nil, now: now)
        guard let mediaPort else { return perform(media.stop(), now: now) }
        _ = port.received(mediaPort, now: now)
        perform(media.start(port: mediaPort, isNewSession: true, now: now), now: now)
    }

    /// The session goes on, on another control connection. `hasMoved`: to another address than the media socket's.
    mutating func resume(_ keys: (own: SealingKey, media: SealingKey)?, hasMoved: Bool, now: MediaTime) {
        setKeys(keys)
        if hasMoved { perform(media.hostMoved(now: now), now: now) }
    }

    private mutating func setKeys(_ new: (own: SealingKey, media: SealingKey)?) {
        media.isAnswered = new != nil
        keys = new.map { Keys($0, after: keys) }
    }

    /// The host knows this viewer by another key, and its clock is measured anew.
    mutating func greet(isRelayed: Bool, now: MediaTime) {
        beside.isRelayed = isRelayed
        perform(media.helloNow(now: now), now: now)
        clock = HostClock()
    }

    mutating func add(_ key: SealingKey) { keys?.media.add(key) }

    mutating func mediaPortNamed(_ named: UInt16, now: MediaTime) {
        start(port: port.received(named, now: now), now: now)
    }

    private mutating func start(port: UInt16?, now: MediaTime) {
        if let port { perform(media.start(port: port, isNewSession: false, now: now), now: now) }
    }

    mutating func broadcastNamed(_ isOn: Bool, now: MediaTime) {
        media.broadcast(isOn, now: now)
        isBroadcasting = isOn
    }

    /// The control connection is lost. Whether the host is sharing is unknown now, so silence counts as a stall.
    mutating func controlLost(now: MediaTime) { media.broadcast(nil, now: now) }

    /// The host has ended its session, and comes back with a new one: silence is expected from here on.
    mutating func hostEnded(now: MediaTime) {
        perform(media.stop(), now: now)
        keys = nil
        isBroadcasting = nil
    }

    mutating func end(now: MediaTime) {
        perform(media.stop(), now: now)
        reassembler.reset()
    }

    // MARK: The socket, the decoder, the wishes

    mutating func opened(localPort: UInt16, now: MediaTime) {
        perform(media.opened(localPort: localPort, now: now), now: now)
    }

    mutating func failed(hasNoAddress: Bool, now: MediaTime) {
        perform(media.failed(hasNoAddress: hasNoAddress, now: now), now: now)
    }

    mutating func decoderFailed() { reassembler.decoderFailed() }

    mutating func wantKeyframe() { reports.wantKeyframe() }

    /// These rectangles of tiles (`ExactTiles`) aren't exact here, or at somebody to whom the picture is passed on.
    mutating func want(exact tiles: [PixelRect], now: MediaTime) {
        if let pictureSize { beside.want(exact: tiles, of: pictureSize, now: now) }
    }

    /// All is exact here: asks the host for hashes to compare it with.
    mutating func wantHashes() { beside.wantsHashes = true }

    mutating func hold(_ time: Duration) { playout.hold = time }

    /// Sound is wanted again: what wasn't sent meanwhile isn't lost.
    mutating func restartSound() { beside.restartSound() }

    /// The host's answer to a ping. Returns whether another ping is of use.
    mutating func pong(sent: UInt64, clock microseconds: UInt64, now: MediaTime) -> Bool {
        guard let sent = Int64(exactly: sent), let host = MediaTime(microseconds: microseconds) else { return false }
        clock.pong(sent: MediaTime(nanoseconds: sent), host: host, now: now)
        if let trip = clock.roundTrip { reassembler.requests.expect(roundTrip: trip) }
        return clock.wantsMore
    }

    // MARK: Datagrams

    /// Takes a datagram from the media socket. Returns whether it shows that the host hears this viewer.
    mutating func datagram(_ bytes: UnsafeRawBufferPointer, now: MediaTime) -> Bool {
        let arrival: MediaLiveness.Arrival? =
            if isSealed { open(bytes, now: now) } else { reassembler.insert(bytes, now: now) ? .media : nil }
        deliver(now: now)
        // After it was taken, so that a stall ends with a picture.
        notePictures(now: now)
        guard let arrival else { return false }
        if let action = media.datagram(arrival, now: now) { perform([action], now: now) }
        // A sealed answer is to a hello that the host has received.
        return arrival == .answer || !isSealed
    }

    /// Returns what it says of the following ones; nil if it isn't the host's, or isn't data.
    private mutating func open(_ bytes: UnsafeRawBufferPointer, now: MediaTime) -> MediaLiveness.Arrival? {
        let kind: SealedHeader.Kind
        do throws(SealedDatagramError) {
            guard let result = try keys?.media.open(bytes, into: &opened, now: now) else { return nil }
            kind = result.kind
        } catch {
            reassembler.refused(error, wireLength: bytes.count)
            return nil
        }
        // `opened`'s storage is shared here, not copied, and released before the next datagram is opened.
        let plaintext = opened
        return plaintext.withUnsafeBytes { part in
            switch kind {
            case .state: return take(StreamState(part), now: now)
            case .sound, .patch, .pointer: return takeBeside(kind, part, wireLength: bytes.count, now: now)
            case .parity: return takeParity(part, wireLength: bytes.count, now: now) ? .media : nil
            default:
                do throws(MediaDatagramError) {
                    return reassembler.insert(try MediaDatagram(version2: part), now: now) ? .media : nil
                } catch {
                    reassembler.refused(wireLength: bytes.count)
                    return nil
                }
            }
        }
    }

    private mutating func takeParity(_ plaintext: UnsafeRawBufferPointer, wireLength: Int, now: MediaTime) -> Bool {
        do throws(ParityDatagramError) {
            return reassembler.insert(try ParityDatagram(plaintext), now: now)
        } catch {
            reassembler.refused(wireLength: wireLength)
            return false
        }
    }

    /// Nil if it is malformed, or this viewer doesn't take what it belongs to.
    private mutating func takeBeside(
        _ kind: SealedHeader.Kind, _ plaintext: UnsafeRawBufferPointer, wireLength: Int, now: MediaTime
    ) -> MediaLiveness.Arrival? {
        let isValid = beside.insert(kind, plaintext, clock: clock, session: began, now: now) {
            outputs.append(.pass($0))
        }
        guard let isValid else { return nil }
        reassembler.received(wireLength: wireLength, isValid: isValid)
        return isValid ? .sound : nil
    }

    private mutating func take(_ state: StreamState, now: MediaTime) -> MediaLiveness.Arrival? {
        if let token = state.challenge {
            if keys?.own.challenged(token, now: now) == true { perform(media.helloNow(now: now), now: now) }
            // A challenge isn't data: hellos continue as if nothing had arrived.
            return nil
        }
        if let newest = state.newest, reassembler.layer ?? state.layer == state.layer {
            reassembler.announced(newest, now: now)
        }
        if let newest = state.newestChange { beside.announced(change: newest, now: now) }
        if beside.takesPatches {
            for hashes in state.hashes { outputs.append(.pass(.hashes(ReceivedHashes(hashes, session: began)))) }
        }
        reports.take(state, now: now)
        // They say nothing of frames.
        guard state.hashes.isEmpty else { return .sound }
        // Only the tail probe says nothing but the newest frame.
        return state.rates == nil && state.probe == nil ? .pause : .answer
    }

    // MARK: Frames

    private mutating func deliver(now: MediaTime) {
        while let frame = reassembler.nextFrame() {
            playout.put(frame, isPathBound: reports.rates?.isPathBound ?? false, now: now)
        }
        play(now: now)
    }

    private mutating func play(now: MediaTime) {
        while var frame = playout.next(now: now) {
            frame.captureTime = frame.captureTime.flatMap { clock.local($0) }
            frame.session = began
            pictureSize = frame.unit.size
            reports.delivered(frame)
            clockError = clock.error(now: frame.lastArrival)
            outputs.append(.pass(.deliver(frame)))
        }
    }

    /// Notices when the picture stands still, or goes on.
    private mutating func notePictures(now: MediaTime) {
        let complete = reassembler.statistics.frames
        if let action = media.pictures(complete: complete, isBehind: reassembler.isBehind, now: now) {
            perform([action], now: now)
        }
    }

    // MARK: Deadlines

    var portDeadline: MediaTime? { port.deadline }

    mutating func arm(_ deadlines: inout Deadlines<ViewerSession.Purpose>, now: MediaTime) {
        deadlines.arm(.media, at: media.deadline)
        deadlines.arm(.reassembly, at: reassembler.deadline)
        deadlines.arm(.feedback, at: feedbackDeadline(now: now))
        deadlines.arm(.playout, at: playout.deadline)
    }

    private mutating func feedbackDeadline(now: MediaTime) -> MediaTime? {
        guard isSealed, media.isOpen else { return nil }
        // Read with each datagram: nothing is allocated.
        var next = min(reports.deadline(now: now), beside.deadline(now: now))
        if let deadline = reassembler.requestDeadline(now: now) { next = min(next, deadline) }
        return next < .distantFuture ? next : nil
    }

    /// Notes what has changed by an input or a deadline. To be called before `arm`.
    mutating func review(now: MediaTime) {
        let canAsk = canAskForKeyframes
        reports.review(&reassembler, canAskForKeyframes: canAsk, now: now)
        notePictures(now: now)
    }

    mutating func deadlineReached(_ purpose: ViewerSession.Purpose, now: MediaTime) {
        switch purpose {
        case .media: perform(media.deadlineReached(now: now), now: now)
        case .reassembly:
            reassembler.expire(now: now)
            deliver(now: now)
        case .feedback: giveFeedback(now: now)
        case .playout: play(now: now)
        case .announcements: start(port: port.deadlineReached(now: now), now: now)
        case .control, .room: break
        }
    }

    // MARK: What the host is told

    /// Version 1 hosts can't be asked: they send a keyframe every two seconds.
    private var canAskForKeyframes: Bool { isSealed && media.isOpen && isBroadcasting != false }

    /// Sends requests and the arrival report.
    private mutating func giveFeedback(now: MediaTime) {
        guard isSealed, media.isOpen else { return }
        for feedback in reports.takeProbes() { send(feedback) }
        // Apart from the reports, because these requests together may take most of a datagram.
        var request = Feedback(layer: reassembler.layer ?? 0)
        beside.addRequests(to: &request, now: now)
        send(request)
        let canAsk = canAskForKeyframes
        let sound = beside.takeSoundFeedback(now: now)
        let all = reports.take(&reassembler, sound: sound, canAskForKeyframes: canAsk, now: now)
        for feedback in all { send(feedback) }
    }

    private mutating func send(_ feedback: Feedback) {
        if !feedback.isEmpty { send(keys?.own.seal(feedback)) }
    }

    private mutating func send(_ datagram: [UInt8]?) {
        if let datagram { outputs.append(.pass(.sendMedia(datagram))) }
    }

    private mutating func perform(_ actions: [MediaLiveness.Action], now: MediaTime) {
        for action in actions {
            switch action {
            case .open(let port):
                keys?.own.moved()
                outputs.append(.pass(.openMedia(port: port)))
            case .close: outputs.append(.pass(.closeMedia))
            case .hello: send(isSealed ? keys?.own.hello(now: now) : MediaLimits.hello)
            case .announce(let port): outputs.append(.announce(localPort: port))
            case .testControl: outputs.append(.testControl)
            case .stalled(let time, let isSilent):
                let cause = isSealed ? reports.stallCause : .loss
                outputs.append(.pass(.event(.stalled(time, isSilent ? .nothingArrives : cause))))
                if isSilent { outputs.append(.silent) }
            case .tell(let event): outputs.append(.pass(.event(event)))
            }
        }
    }
}
