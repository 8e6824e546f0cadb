import BeamLog
import BeamMedia
import BeamWire

/// A viewer's side of the protocol, without I/O: `Admission`, `Receiver`, and what joins them.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it returns `.wait`. The first poll
/// begins to connect.
public struct ViewerSession: Sendable {
    /// A viewer's room has one other member that it is connected to: its host.
    static let keeper = LogMemberID(0)

    private var outputs = OutputQueue<Output>()
    private var deadlines = Deadlines<Purpose>()
    private var admission: Admission
    private(set) var receiver: Receiver
    private var share = ShareAnnouncements()
    /// Captions, notes, alerts and messages; nil without `Configuration.room`.
    private(set) var room: LogExchange?
    /// The host's version has words of another form.
    private var hasOtherWords = false
    private var wishes = ViewerWishes()
    /// Limits how often a host is told another wish: it sends away who says too much.
    private var quality = Announcement<QualityWish>()
    /// What became of the last wish that was told; nil: none was.
    private var toldQuality: ViewerEvent?
    /// Who gets the picture and the sound from here; nil: nobody can.
    private var relayed: PatchTakers?
    /// Limits how often a host is told who that is.
    private var patchTakers = Announcement<PatchTakers>()
    /// Where a receiver can watch what is shared here.
    private var offeredPort: UInt16?
    private let offersScreen: Bool

    /// `random` makes nonces and version 1's code: pass the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        offersScreen = configuration.offersScreen
        admission = Admission(configuration, random: &random)
        receiver = Receiver(
            buffer: configuration.buffer, takesSound: configuration.takesSound,
            takesPatches: configuration.takesPatches, takesPointer: configuration.takesPointer)
        room = configuration.room.map {
            LogExchange(
                LogExchange.Configuration(
                    role: .guest, own: configuration.trust.own, name: $0.name, signing: $0.signing),
                random: random)
        }
        deadlines.set(.control, at: MediaTime(nanoseconds: .min))
    }

    public var statistics: ViewerStatistics { receiver.statistics }

    /// The hosts that may answer; nil: any. If another one answers at one of several addresses, the others are tried
    /// before that is reported (`ControlFailure.wrongHost`).
    public var expectedHosts: Set<DeviceKey>? { admission.expectedHosts }

    /// Handles an input. One that is late or out of order is ignored.
    public mutating func handle(_ input: Input, now: MediaTime) {
        if admission.hasEnded { return }
        switch input {
        case .controlConnected: admission.connected(now: now)
        case .controlBytes(let bytes): admission.received(bytes, now: now)
        case .controlSecured(let host, let hasMoved):
            admission.secured(host, hasMoved: hasMoved, bounds: wishes.bounds, now: now)
        case .controlMessage(let bytes): admission.received(message: bytes, now: now)
        case .controlClosed(let reason, let failure):
            admission.closed(reason: reason, failure, hadStopped: receiver.isBroadcasting == false, now: now)
        case .code(let typed): admission.typed(typed, now: now)
        case .askPerson: admission.askPerson(now: now)
        case .remembered(let hosts): admission.remembered(hosts, now: now)
        case .hostAppeared: admission.hostAppeared(now: now)
        case .announced(let version): admission.announced(version: version)
        case .shutdown: admission.end(now: now)
        case .mediaOpened(let port): receiver.opened(localPort: port, now: now)
        case .mediaFailed(_, let hasNoAddress): receiver.failed(hasNoAddress: hasNoAddress, now: now)
        case .decoderFailed: receiver.decoderFailed()
        case .keyframeWanted: receiver.wantKeyframe()
        case .exactWanted(let tiles):
            if hasPatches { receiver.want(exact: tiles, now: now) }
        case .hashesWanted:
            if hasPatches, admission.features?.contains(.hashes) == true { receiver.wantHashes() }
        case .wishes(let new): wish(new, relayed: relayed, now: now)
        case .relayed(let takers): wish(wishes, relayed: takers, now: now)
        case .offerScreen(let port):
            offeredPort = port
            if admission.features != nil { send(.screenOffered(port: port)) }
        case .room(let input):
            if hasOtherWords || admission.isPlain { room?.refuse(input) } else { room?.handle(input, now: now) }
        }
        settle(now: now)
        settleRoom(now: now)
        armDeadlines(now: now)
    }

    /// Handles a datagram from the media socket.
    public mutating func handleDatagram(_ bytes: UnsafeRawBufferPointer, now: MediaTime) {
        guard receiver.isOpen else { return }
        let isHeard = receiver.datagram(bytes, now: now)
        settle(now: now)
        if isHeard {
            admission.heard(now: now)
            settle(now: now)
        }
        armDeadlines(now: now)
    }

    /// The next thing to do; `.wait` when there is nothing more to do now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            guard let purpose = deadlines.popDue(now) else {
                return .wait(until: deadlines.next, for: deadlines.first)
            }
            switch purpose {
            case .control: admission.deadlineReached(now: now)
            case .announcements:
                for event in share.deadlineReached(now: now) { emit(event) }
                if let wish = quality.deadlineReached(now: now), admission.isAdmitted { tell(wish) }
                if let takers = patchTakers.deadlineReached(now: now) { tell(takers) }
            case .room: settleRoom(now: now)
            case .media, .reassembly, .feedback, .playout: break
            }
            receiver.deadlineReached(purpose, now: now)
            settle(now: now)
            armDeadlines(now: now)
        }
    }

    private mutating func armDeadlines(now: MediaTime) {
        receiver.review(now: now)
        settle(now: now)
        if !admission.isIdle { deadlines.arm(.control, at: admission.deadline) }
        receiver.arm(&deadlines, now: now)
        let announcements = min(
            share.deadline, receiver.portDeadline ?? .distantFuture, quality.deadline ?? .distantFuture,
            patchTakers.deadline ?? .distantFuture)
        deadlines.arm(.announcements, at: announcements < .distantFuture ? announcements : nil)
        deadlines.arm(.room, at: room.flatMap { $0.deadline < .distantFuture ? $0.deadline : nil })
    }

    // MARK: What the parts have decided

    /// Carries out what the parts have decided, in the order in which they did.
    private mutating func settle(now: MediaTime) {
        settleReceiver(now: now)
        settleAdmission(now: now)
    }

    private mutating func settleReceiver(now: MediaTime) {
        while let output = receiver.pollOutput() {
            switch output {
            case .pass(let output):
                outputs.append(output)
                continue
            case .announce(let localPort): admission.announce(localPort: localPort)
            case .testControl: admission.test(now: now)
            case .silent: admission.silent(now: now)
            }
            settleAdmission(now: now)
        }
    }

    private mutating func settleAdmission(now: MediaTime) {
        while let output = admission.pollOutput() {
            switch output {
            case .pass(let output): outputs.append(output)
            case .closed: room?.disconnected(Self.keeper)
            case .admitted(let admitted): enter(admitted, now: now)
            case .said(let message): take(message, now: now)
            case .lost: receiver.controlLost(now: now)
            case .hostEnded:
                receiver.hostEnded(now: now)
                settleReceiver(now: now)
                // A receiver that says goodbye has got what it wanted, or wants nothing.
                if offersScreen { admission.end(now: now) }
            case .ended:
                receiver.end(now: now)
                settleReceiver(now: now)
            }
        }
    }

    private mutating func emit(_ event: ViewerEvent) { outputs.append(.event(event)) }

    /// To the host that has admitted this viewer (version 2).
    private mutating func send(_ message: SecureMessage) { outputs.append(.sendControl(message.bytes)) }

    // MARK: In the session

    private mutating func enter(_ admitted: Admission.Admitted, now: MediaTime) {
        let keys = admitted.secure.map { (own: $0.session.viewerKey, media: $0.session.mediaKey) }
        if admitted.isNewSession {
            share.forget()
            receiver.begin(keys, mediaPort: admitted.mediaPort, now: now)
        } else {
            receiver.resume(keys, hasMoved: admitted.secure?.hasMoved ?? false, now: now)
            if admitted.isNews, let port = receiver.localPort { admission.announce(localPort: port) }
            if let port = admitted.mediaPort { receiver.mediaPortNamed(port, now: now) }
        }
        settleReceiver(now: now)
        if let secure = admitted.secure { enter(secure, now: now) }
        let quality = wishes.asked(relayed: relayed).quality
        // A session that continues may have the wish that was told before the connection was lost.
        if quality != .any || toldQuality != nil { tell(quality) }
    }

    private mutating func enter(_ secure: Admission.Admitted.Secure, now: MediaTime) {
        emit(.hostRelays(secure.features.relays))
        if receiver.beside.takesPatches { emit(.hostHasPatches(hasPatches)) }
        take(.broadcast(secure.session.isBroadcasting), now: now)
        receiver.greet(isRelayed: secure.features.relays > 0, now: now)
        settleReceiver(now: now)
        ping(now: now)
        if let offeredPort { send(.screenOffered(port: offeredPort)) }
        let asked = wishes.asked(relayed: relayed)
        patchTakers.forget(as: .exact)
        tellPatchTakers(asked.patchTakers, now: now)
        if asked.shownSize != nil { send(asked.shownSize) }
        if secure.features.contains(.sound), receiver.beside.takesSound {
            emit(.hostHasSound)
            if !asked.sound { send(.soundWanted(false)) }
        }
        let hadOtherWords = hasOtherWords
        hasOtherWords = secure.features.isDisjoint(with: .words) && secure.features.contains(.firstWords)
        if secure.features.contains(.words) {
            room?.metKeeper(Self.keeper, device: secure.host, name: admission.hostName, now: now)
        } else if hasOtherWords, !hadOtherWords, room != nil {
            emit(.room(.otherVersion(of: admission.hostName)))
        }
    }

    private mutating func take(_ message: SecureMessage, now: MediaTime) {
        switch message {
        case .mediaKey(let key):
            receiver.add(key)
            send(.mediaKeyReady(key.number))
        case .mediaPort(let port):
            receiver.mediaPortNamed(port, now: now)
            settleReceiver(now: now)
        case .broadcast(let isOn):
            receiver.broadcastNamed(isOn, now: now)
            if let event = share.broadcast(isOn, now: now) { emit(event) }
        case .sourceVisibility(let visibility):
            if let event = share.sourceVisibility(visibility, now: now) { emit(event) }
        case .fullSize(let width, let height):
            let size = width > 0 && height > 0 ? PixelSize(width: Int(width), height: Int(height)) : nil
            if let event = share.fullSize(size) { emit(event) }
        case .pong(let sent, let clock):
            if receiver.pong(sent: sent, clock: clock, now: now) { ping(now: now) }
        case .room(let message): room?.received(message, from: Self.keeper, now: now)
        case .screenAwaited: emit(.screenAwaited)
        default: break
        }
    }

    private mutating func ping(now: MediaTime) { send(.ping(UInt64(clamping: now.nanoseconds))) }

    // MARK: Wishes

    private mutating func wish(_ new: ViewerWishes, relayed: PatchTakers?, now: MediaTime) {
        let before = wishes.asked(relayed: self.relayed)
        (wishes, self.relayed) = (new, relayed)
        receiver.hold(new.pictureHold)
        let asked = new.asked(relayed: relayed)
        tellPatchTakers(asked.patchTakers, now: now)
        if asked.shownSize != before.shownSize { send(asked.shownSize) }
        if asked.quality != before.quality, let wish = quality.received(asked.quality, now: now), admission.isAdmitted {
            tell(wish)
        }
        guard asked.sound != before.sound else { return }
        if asked.sound { receiver.restartSound() }
        if admission.features?.contains(.sound) == true { send(.soundWanted(asked.sound)) }
    }

    /// Tells the host who gets the picture by way of this viewer.
    private mutating func tellPatchTakers(_ takers: PatchTakers, now: MediaTime) {
        if let takers = patchTakers.received(takers, now: now) { tell(takers) }
    }

    private mutating func tell(_ takers: PatchTakers) { if hasPatches { send(.patchTakers(takers)) } }

    /// The host may send exact patches, and this viewer takes some.
    public var hasPatches: Bool { receiver.beside.takesPatches && admission.features?.contains(.patches) == true }

    /// Through how many relays the host's picture comes.
    public var relays: Int { admission.features?.relays ?? 0 }

    /// Tells the host the size in which the picture is shown, if it wants to know it.
    private mutating func send(_ shownSize: PixelSize?) {
        guard admission.features?.contains(.shownSize) == true else { return }
        guard let shownSize else { return send(.shownSize(width: 0, height: 0)) }
        send(
            .shownSize(
                width: UInt16(clamping: max(1, shownSize.width)), height: UInt16(clamping: max(1, shownSize.height))))
    }

    /// Tells the host the most that it is to send here. A host that can't send less to one viewer isn't told.
    private mutating func tell(_ quality: QualityWish) {
        let isTaken = admission.features?.contains(.quality) == true
        if isTaken { send(.qualityWanted(quality)) }
        let event = ViewerEvent.quality(quality, isTaken: isTaken)
        // Connections may come and go without end.
        guard event != toldQuality else { return }
        toldQuality = event
        emit(event)
    }

    // MARK: The room

    /// Carries out what the room has decided.
    private mutating func settleRoom(now: MediaTime) {
        room?.settle(now: now)
        while let output = room?.pollOutput() {
            switch output {
            case .send(_, let message):
                // Of a connection that is being replaced nothing is sent any more.
                if admission.features != nil { send(.room(message)) }
            case .event(let event): emit(.room(event))
            case .violation(_, let reason):
                admission.violated(reason, now: now)
                settleAdmission(now: now)
            }
        }
    }
}
