import BeamMedia
import BeamWire

/// A stream to any number of guests: what is sent to whom, in which layer and how fast. It knows nothing of control
/// connections and pairing: guests come by `admit`, when somebody has let them in.
///
/// Four parts: the `HostStream` cuts and seals each frame once; a `Sender` for each guest sends it at that guest's pace;
/// `LayerAssignment` says who gets which layer; the estimators in `Path` say what a guest's path carries. Only a broadcast
/// writes to its senders.
///
/// Call a method for each event, then `pollOutput` until it returns `.wait`.
public struct Broadcast: Sendable {
    public struct Configuration: Sendable {
        /// The highest pacing rate, and how much may wait to be sent.
        public var pacing: Pacing
        /// The encoder's highest rate in bits a second.
        public var bitRate: Int
        /// The most frames a second that the encoder makes; infinite if that isn't known.
        public var frameRate: Double
        /// The full layer is 4:4:4. Viewers that can't decode that get the reduced layer.
        public var usesFullChroma: Bool
        /// There may be sound (`handleSound`).
        public var hasSound: Bool
        /// There may be exact patches beside the frames (`handlePatch`).
        public var hasPatches: Bool
        /// Hashes of the picture are told to those who ask for them (`Output.hashesWanted`).
        public var hasHashes = false
        /// The pointer may be told beside the pictures (`handlePointer`).
        public var hasPointer: Bool
        /// Somebody encodes a reduced layer when it is demanded. Frames that come from elsewhere are of one layer.
        public var hasReducedLayer: Bool

        public init(
            pacing: Pacing = Pacing(), bitRate: Int = 20_000_000, frameRate: Double = .infinity,
            usesFullChroma: Bool = false, hasSound: Bool = false, hasPatches: Bool = false,
            hasPointer: Bool = false, hasReducedLayer: Bool = true
        ) {
            self.hasPatches = hasPatches
            self.hasPointer = hasPointer
            self.frameRate = frameRate
            self.hasReducedLayer = hasReducedLayer
            self.pacing = pacing
            self.bitRate = bitRate
            self.usesFullChroma = usesFullChroma
            self.hasSound = hasSound
        }
    }

    enum Output: Sendable {
        case transmit(MediaBurst)
        /// The layer's next frame has to be a keyframe; it is needed even if the screen doesn't change.
        case requestKeyframe(layer: Int)
        /// The demand on the layer's encoder has changed.
        case demand(StreamDemand, layer: Int)
        /// Which encodings of the sound guests want has changed.
        case soundDemand(SoundDemand)
        /// A guest lacks these rectangles of tiles (`ExactTiles`) exactly. It has chosen them: they may lie anywhere.
        case exactWanted([PixelRect])
        /// A guest has all tiles exactly, and wants hashes of the newest picture (`handleHashes`).
        case hashesWanted
        case event(HostEvent)
        /// Every guest of version 2 has to get this media key, the next one.
        case mediaKeyMade(SealingKey)
        /// The key made last is the present one now.
        case mediaKeyUsed
        /// The full picture has this size, and the guest gets less of it; nil: it gets all of it.
        case fullSize(ViewerID, PixelSize?)
        /// The guest has exceeded a limit that no honest one reaches: it has to go.
        case evict(ViewerID, reason: String)
        /// Whether the machine serves nobody else.
        case overloaded(Bool)
        /// Nothing to do until this deadline or the next event. `for` says what the deadline is for; nil if there is none.
        case wait(until: MediaTime, for: HostWaitReason?)
    }

    let configuration: Configuration
    var random: any RandomNumberGenerator & Sendable
    var outputs = OutputQueue<Output>()

    var stream: HostStream
    var senders = Senders()
    /// Who gets which layer, in the order of the senders.
    var layers: LayerAssignment
    /// What is sent less of because the machine can't send everything; and what had left when its load was measured last.
    var shedding = LoadShedding()
    var loadMeasurement: (time: MediaTime, bytes: UInt64)?
    /// Who gets sound, or at which rate, may have changed.
    var isSoundDirty = false
    /// Layers whose demand may have changed.
    var isDirty = [Bool](repeating: false, count: SimulcastLayer.count)
    /// For each layer, frames dropped since its last keyframe because all its viewers have fallen behind; nil while
    /// none was.
    var dropped = [Int?](repeating: nil, count: SimulcastLayer.count)
    /// Memory for bursts of retransmissions, reused.
    var retransmissionMemory: [UInt8] = []
    /// Memory for the plaintext of a viewer's datagram, reused.
    var opened: [UInt8] = []
    /// Memory for a state datagram, reused once it has been sent.
    var sealedState: [UInt8] = []
    /// Memory for the datagrams of a patch, reused; the patches that may be requested again; and the number of the next
    /// repair.
    var patchMemory: [UInt8] = []
    var sentChanges = SentChanges()
    var nextRepair: UInt32 = 0
    /// There may be exact patches; those who come from now on are offered them.
    var hasPatches: Bool
    /// Memory for the pointer's datagrams, reused.
    var pointerMemory: [UInt8] = []
    /// Memory for the arrivals of a report, reused.
    var arrivals: [Feedback.Arrival] = []
    var audience = 0
    var totals = HostStatistics()

    /// `random` makes keys and tokens: has to be the system's generator, except in tests.
    init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        self.random = random
        hasPatches = configuration.hasPatches
        stream = HostStream(configuration.pacing, random: &self.random)
        layers = LayerAssignment(
            bitRate: configuration.bitRate, frameRate: configuration.frameRate,
            usesFullChroma: configuration.usesFullChroma, hasReducedLayer: configuration.hasReducedLayer)
    }

    /// The next thing that was decided already; nil if there is none. Unlike `pollOutput` it begins nothing.
    mutating func popOutput() -> Output? { outputs.popFirst() }

    /// The next thing to do; `.wait` when there is nothing more for now.
    mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if let deadline = stream.deadline, deadline <= now {
                streamDeadlineReached(now: now)
            } else if let index = senders.takeDue(now) {
                deadlineReached(index, now: now)
            } else if let index = senders.nextReady() {
                if let burst = serve(index, now: now) { return .transmit(burst) }
            } else if !changeDemands(now: now) {
                return wait()
            }
        }
    }

    /// Mutating, because the compiler would copy the whole broadcast for it otherwise.
    private mutating func wait() -> Output {
        let (stream, sender) = (stream.deadline ?? .distantFuture, senders.nextWait)
        let next = min(stream, sender?.until ?? .distantFuture)
        if next == .distantFuture { return .wait(until: next, for: nil) }
        return .wait(until: next, for: next == stream ? .stream : sender.map { .viewer($0.for) })
    }

    /// Ends: nothing more is sent, and all guests are forgotten.
    mutating func end() {
        stream.isOn = false
        stream.stopLayers()
        senders.removeAll()
        layers.removeAll()
        audience = 0
    }

    /// Begins to send, or pauses.
    mutating func turn(on isOn: Bool, now: MediaTime) {
        guard isOn != stream.isOn else { return }
        stream.isOn = isOn
        stream.stopLayers()
        stream.sound.removeAll()
        isSoundDirty = true
        for index in senders.all.indices {
            senders.all[index].interrupt()
            senders.markReady(index)
        }
        for layer in isDirty.indices {
            isDirty[layer] = true
            if isOn, isWatched(layer) { requestKeyframe(layer: layer, isShared: false, now: now) }
        }
    }

    /// What is shared is sent at present.
    var isOn: Bool { stream.isOn }

    /// What the stream is sealed with at present.
    var mediaKey: SealingKey { stream.keys.current }

    mutating func emit(_ event: HostEvent) { outputs.append(.event(event)) }

    // MARK: Statistics

    var statistics: HostStatistics {
        var statistics = totals
        statistics.viewers = senders.all.count
        statistics.watching = audience
        statistics.sheds = shedding.sheds
        statistics.parity = stream.layers.reduce(0) { $0 + $1.parityDatagrams }
        let bound = senders.all.lazy.compactMap { $0.delivery?.path }.filter { $0.isBound && !$0.isSilent }
        statistics.pathRate = bound.map(\.rate).min()
        return statistics
    }

    /// Enters what is known of the guest's stream. False if it isn't a guest.
    func complete(_ figures: inout ViewerFigures, of id: ViewerID) -> Bool {
        guard let index = senders.index(of: id) else { return false }
        figures.isReduced = layers[index] == SimulcastLayer.reduced
        figures.isWatching = senders.all[index].destination.isSet
        let totals = senders.all[index].totals
        (figures.frames, figures.keyframes, figures.skipped) = (totals.frames, totals.keyframes, totals.skipped)
        (figures.datagrams, figures.bytes) = (totals.datagrams, totals.bytes)
        figures.retransmissions = totals.retransmissions
        if let path = senders.all[index].delivery?.path {
            (figures.loss, figures.roundTrip) = (path.loss, path.roundTrip)
            figures.pathRate = path.isBound ? path.rate : nil
        }
        return true
    }
}
