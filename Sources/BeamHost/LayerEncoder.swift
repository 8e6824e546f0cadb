import BeamClock
import BeamCodec
import BeamMedia

/// The encoder of one simulcast layer: decides which pictures are coded, when, at which size and rate. Used by the
/// encode stage's thread only.
struct LayerEncoder {
    /// The screen is at rest, and the picture may be refined, when nothing has changed for this many frame intervals:
    /// half an interval more than motion that misses a frame. Bounded by the two times below.
    private static let restPictures = 2.5
    private static let leastRest = Duration.milliseconds(60)
    private static let mostRest = Duration.milliseconds(300)
    /// Time between two refinements. Each takes less than this of a path's rate.
    private static let refinementInterval = Duration.milliseconds(50)
    /// The least time between two refinements.
    private static let leastRefinementInterval = Duration.milliseconds(20)
    /// How long the reduced layer's encoder stays open after its last viewer has left.
    private static let keepOpenTime = Duration.seconds(10)

    private let layer: Int
    private let rest: Duration
    private let settings: EncodeStage.Settings
    private let wanted: EncoderDemand
    private let state: EncodeState
    private let sinks: [any FrameSink]
    private let handlers: EncodeStage.Handlers

    private var codec: LayerCodec
    /// Nil: there are no patches beside this layer.
    private var telling: ChangeTelling?
    private var pace: PicturePace
    /// The sent size at full quality, if nobody needs less.
    private var fullSize: PixelSize
    /// The sent size at full quality.
    private var size: PixelSize
    private var ladder: QualityLadder
    private var demand = StreamDemand()
    private var unwatchedSince: MediaTime?

    private var pending = PendingPicture()
    /// The last coded picture, converted.
    private var lastPicture: Picture?
    /// The source's last picture has come since the layer was served last. Layers before this one may have been coded
    /// meanwhile, which takes time.
    private var isFresh = false
    /// When much of the picture changed last. A clock or a blinking caret isn't motion.
    private var lastMotion = MediaTime.zero
    /// When a requested keyframe is made from the last picture; before that a new picture is expected.
    private var keyframeDue: MediaTime?
    /// When the last picture is refined if no other comes; nil if it can't be.
    private var refinementDue: MediaTime?
    /// When the last frame was made, of whatever kind.
    private var lastFrame = MediaTime.zero

    init(
        _ layer: Int, _ settings: EncodeStage.Settings, encoder: VideoEncoder?, size: PixelSize,
        wanted: EncoderDemand, patches: PatchStage?, state: EncodeState, sinks: [any FrameSink],
        handlers: EncodeStage.Handlers
    ) {
        self.layer = layer
        self.settings = settings
        self.wanted = wanted
        self.state = state
        self.sinks = sinks
        self.handlers = handlers
        codec = LayerCodec(settings, encoder: encoder, onFallback: handlers.onFallback)
        telling = patches.map { ChangeTelling($0) }
        pace = PicturePace(frameRate: settings.frameRate)
        self.size = size
        fullSize = size
        ladder = QualityLadder(frameRate: settings.frameRate, size: size)
        rest = min(max(.seconds(Self.restPictures / settings.frameRate), Self.leastRest), Self.mostRest)
    }

    // MARK: What comes in

    /// Takes a new picture from the source.
    mutating func offer(_ picture: Picture, at now: MediaTime) {
        pace.offered(at: now)
        isFresh = true
        if Self.isMotion(picture) { lastMotion = now }
        telling?.offered(picture)
        setSize(settings.outputSize(for: picture.size))
        guard demand.isWatched else { return pending.skip() }
        keyframeDue = nil
        refinementDue = nil
        if pending.offer(picture, at: now), layer == 0 { state.shared.withLock { $0.leftOut += 1 } }
    }

    /// Whether an eighth of the picture or more has changed, so that the frame says something about the rate that the
    /// content needs.
    private static func isMotion(_ picture: Picture) -> Bool { picture.damage.area * 8 >= picture.size.area }

    /// Takes a picture that isn't new on the screen, but that this layer hasn't coded yet or not at this size.
    mutating func offerUnchanged(_ picture: Picture) { pending.offerUnchanged(picture) }

    private mutating func setSize(_ output: PixelSize) {
        guard output != fullSize else { return }
        fullSize = output
        fitSize()
        guard layer == 0 else { return }
        state.shared.withLock { $0.size = output }
        handlers.onResize(output)
    }

    /// As large as somebody needs. The ladder's steps are relative to that.
    private mutating func fitSize() {
        let eighths = demand.isWatched ? demand.eighths : StreamDemand.wholeSize
        let fitting = fullSize.part(eighths)
        guard fitting != size else { return }
        size = fitting
        ladder = QualityLadder(frameRate: settings.frameRate, size: fitting)
    }

    var isWatched: Bool { demand.isWatched }

    /// The last picture that was offered, or, once that is coded, what was coded of it.
    var newestPicture: Picture? { pending.picture ?? lastPicture }

    /// Whether the source's picture may be needed again: for a viewer that joins layer 1, or at another size.
    var mayNeedSource: Bool { demand.isWatched && (layer > 0 || isPathBound || ladder.quality.quarters < 4) }

    /// Reads the demand. Returns true if somebody watches and the layer has no picture.
    mutating func update(at now: MediaTime) -> Bool {
        let hadOnlyPatchTakers = demand.hasOnlyPatchTakers
        demand = wanted.demand(layer: layer, at: now)
        // Somebody gets the video alone now.
        if hadOnlyPatchTakers, !demand.hasOnlyPatchTakers, lastPicture != nil { refinementDue = refinementDue ?? now }
        fitSize()
        state.shared.withLock { $0.layers[layer] = report }
        if demand.isWatched {
            unwatchedSince = nil
            return pending.picture == nil && lastPicture == nil
        }
        pending.drop()
        (lastPicture, keyframeDue, refinementDue) = (nil, nil, nil)
        unwatchedSince = unwatchedSince ?? now
        return false
    }

    // MARK: What goes out

    /// Codes what is due, and returns the next deadline. `source`: the source's newest picture, if it was kept.
    mutating func serve(source: Picture?) throws(CodecError) -> MediaTime? {
        let now = MediaTime.now
        defer { isFresh = false }
        guard demand.isWatched else { return closeIfUnused(at: now) }
        // The stage is woken when the consumer ends its hold.
        guard !demand.isHeld else { return wanted.holdEnd(layer: layer) }
        ladder.advance(rate: rate, isPathBound: isPathBound, rest: now - lastMotion, at: now)
        if pending.picture != nil {
            try servePending(at: now)
        } else if wanted.needsKeyframe(layer: layer) {
            try repeatAsKeyframe(at: now)
        } else if let source, codec.isOpen, lastPicture != nil, codec.size != sentSize {
            // At rest the full size is restored.
            offerUnchanged(source)
            try servePending(at: now)
        } else {
            try refine(at: now)
        }
        try endPause(at: now)
        return deadline
    }

    private mutating func closeIfUnused(at now: MediaTime) -> MediaTime? {
        guard layer > 0, codec.isOpen, let since = unwatchedSince else { return nil }
        let end = since + Self.keepOpenTime
        guard end <= now else { return end }
        codec.close()
        return nil
    }

    private var deadline: MediaTime? {
        var times = [keyframeDue, refinementDue, pauseEnd]
        if pending.picture != nil {
            times.append(max(due.remembered, pending.exactPauseEnd(demand, telling)))
        } else if lastPicture != nil, let rest = ladder.requiredRest {
            times.append(lastMotion + rest)
        }
        return times.compactMap { $0 }.min()
    }

    private var due: (fresh: MediaTime, remembered: MediaTime) {
        pace.due(divisor: divisor, isSpaced: demand.frameRate != nil)
    }

    private mutating func servePending(at now: MediaTime) throws(CodecError) {
        let needsKeyframe = wanted.needsKeyframe(layer: layer)
        let time = max(isFresh ? due.fresh : due.remembered, pending.exactPauseEnd(demand, telling))
        guard needsKeyframe || now >= time, let (picture, isRepeated) = pending.take() else { return }
        try encode(picture, isRepeated: isRepeated, keyframe: needsKeyframe, begin: now)
    }

    private mutating func encode(
        _ source: Picture, isRepeated: Bool, keyframe: Bool, begin: MediaTime
    ) throws(CodecError) {
        var source = source
        telling?.coding(source)
        // All who get the frame see its changes already: how long it takes says nothing of what they see.
        let isSeen = source.isSentExactly && demand.hasOnlyPatchTakers
        if isRepeated {
            // A repeated picture shows the screen as it is now.
            source.time = begin
        } else if !isSeen {
            state.shared.withLock { shared in
                if layer == 0 { shared.capture.record(begin - source.time) }
            }
        }
        // The time to the next frame, by the source's or the ladder's rate. Time for which the layer was held doesn't
        // count: the ladder is to end that.
        let interval = max(pace.sourceInterval, 1 / frameRateLimit)
        pace.coding(at: begin)
        keyframeDue = nil
        try codec.open(sentSize)
        // Released first, so that the converter can reuse its memory and unchanged pixels.
        lastPicture = nil
        let converted = try codec.convert(source, to: sentSize)
        lastPicture = converted
        refinementDue = begin + rest
        // Where a path bounds the rate, the video is refined all the same, and needn't be coded twice for that.
        let isEnough = isSeen && !isPathBound
        guard let frame = try codec.encode(converted, keyframe: keyframe, isSeen: isEnough, aim) else { return }
        // Any keyframe answers the requests.
        if frame.isKeyframe { wanted.keyframeMade(layer: layer) }
        if !isRepeated, !frame.isKeyframe, Self.isMotion(source) {
            updateLadder(frame.unit, interval: interval, at: begin)
        }
        push(frame, waited: isRepeated || isSeen ? nil : begin - source.time, begin: begin)
    }

    /// Reports the frame's quantiser and size to the ladder.
    private mutating func updateLadder(_ unit: AccessUnit, interval: Double, at time: MediaTime) {
        let bits = unit.bytes.count * 8
        // If the encoder doesn't say its quantiser, take a coarse one when the frame exceeds the rate by a fifth, else
        // a fine one.
        let isTooMuch = Double(bits) / interval > Double(rate) * 1.2
        let quantiser = codec.lastQuantiser ?? (isTooMuch ? 44 : 30)
        ladder.coded(
            quantiser: quantiser, bits: bits, interval: interval, rate: rate, isPathBound: isPathBound, at: time)
    }

    /// Codes the last picture as a requested keyframe, as no new one has come.
    private mutating func repeatAsKeyframe(at now: MediaTime) throws(CodecError) {
        guard var last = lastPicture else { return }
        // In motion the next picture comes within one or two intervals, and is the keyframe.
        let due = pace.lastCoding + .seconds(clamping: 2 / settings.frameRate)
        guard due <= now else {
            keyframeDue = due
            return
        }
        keyframeDue = nil
        last.time = now
        refinementDue = now + Self.refinementInterval
        guard let frame = try codec.encode(last, keyframe: true, isSeen: false, aim) else { return }
        wanted.keyframeMade(layer: layer)
        push(frame, waited: nil, begin: now)
    }

    /// Refines the last picture.
    private mutating func refine(at now: MediaTime) throws(CodecError) {
        guard var last = lastPicture, codec.isOpen, let due = refinementDue, due <= now else { return }
        if demand.frameRate != nil, pace.nextSpaced > now {
            refinementDue = pace.nextSpaced
            return
        }
        // Those who take patches get the exact pixels instead.
        if demand.hasOnlyPatchTakers, telling?.hasSaid == true, !isPathBound {
            refinementDue = nil
            return
        }
        // Not if the picture is about to be sent in another size.
        guard ladder.requiredRest.map({ $0 > .seconds(1) }) ?? true else {
            refinementDue = now + Self.refinementInterval
            return
        }
        last.time = now
        let frame = try codec.refine(last, aim)
        refinementDue = codec.isRefined ? nil : now + refinementPause(after: frame?.unit)
        if let frame { push(frame, waited: nil, begin: now) }
    }

    /// When the last picture is coded once more: because somebody wants a frame at least so often, or because somebody
    /// takes patches and no frame has said yet what has changed. That happens when a relay's viewer gets a still
    /// screen's keyframe before the host knows that this viewer takes patches.
    private var pauseEnd: MediaTime? {
        // A keyframe or a picture that waits ends the pause itself.
        guard pending.picture == nil, keyframeDue == nil, lastPicture != nil else { return nil }
        let isUnsaid = demand.wantsPatches && telling?.couldSay(at: codec.size) == true
        guard let pause = isUnsaid ? Duration.zero : demand.longestPause else { return nil }
        return lastFrame + max(pause, Self.leastRefinementInterval)
    }

    /// Codes the last picture once more, if no frame was made for too long. It says nothing of the content, so neither
    /// the ladder nor the time of the next picture follows from it.
    private mutating func endPause(at now: MediaTime) throws(CodecError) {
        guard let end = pauseEnd, end <= now, var last = lastPicture else { return }
        last.time = now
        // A frame that an encoder delays comes with a later one.
        lastFrame = now
        if let frame = try codec.encodeAgain(last, aim) { push(frame, waited: nil, begin: now) }
    }

    /// Time to the next refinement. On a slow path a tenth of the rate stays unused, in case sizes were predicted too
    /// low.
    private func refinementPause(after unit: AccessUnit?) -> Duration {
        guard isPathBound, let unit else { return Self.refinementInterval }
        let taken = Duration.seconds(Double(unit.bytes.count * 8) / Double(rate))
        return min(max(taken * 1.1, Self.leastRefinementInterval), Self.refinementInterval)
    }

    // MARK: What is sent

    /// The options' rate in bits a second.
    private var allowedRate: Int { settings.encoderSettings(for: size).bitRate }
    private var rate: Int { min(allowedRate, demand.bitRate ?? .max) }
    /// One of this many pictures is coded.
    private var divisor: Int { max(ladder.quality.divisor, demand.frameDivisor) }
    private var frameRateLimit: Double { min(settings.frameRate / Double(divisor), demand.frameRate ?? .infinity) }
    private var isPathBound: Bool { demand.bitRate.map { $0 < allowedRate } ?? false }
    private var aim: LayerCodec.Aim {
        LayerCodec.Aim(rate: rate, isPathBound: isPathBound, wantsTemporalLayers: demand.wantsTemporalLayers)
    }

    /// The size that is sent now.
    private var sentSize: PixelSize {
        let quarters = ladder.quality.quarters
        guard quarters < 4 else { return size }
        return PixelSize(width: max(2, size.width * quarters / 8 * 2), height: max(2, size.height * quarters / 8 * 2))
    }

    /// Pushes the frame to the sinks. `waited` is nil for a picture that is shown already (`EncodedFrame.isRepeated`).
    private mutating func push(_ frame: EncodedFrame, waited: Duration?, begin: MediaTime) {
        let end = MediaTime.now
        lastFrame = begin
        if let rate = demand.frameRate { pace.made(at: begin, rate: rate) }
        var frame = frame
        frame.layer = layer
        frame.isRepeated = waited == nil
        frame.stages = waited.map { StageTimes(waited: $0, encode: end - begin) }
        telling?.say(in: &frame, isWanted: demand.wantsPatches)
        state.shared.withLock { shared in
            if layer == 0 { shared.encoded += 1 }
            if waited != nil, layer == 0 { shared.encode.record(end - begin) }
            shared.layers[layer] = report
        }
        for sink in sinks { sink.push(frame) }
    }

    private var report: HostReport.Layer {
        HostReport.Layer(
            isWatched: demand.isWatched, encoder: codec.name, bitRateLimit: rate, isPathBound: isPathBound,
            frameRateLimit: frameRateLimit, sentSize: codec.size ?? sentSize, quantiser: codec.lastQuantiser)
    }
}
