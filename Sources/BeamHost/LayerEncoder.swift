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
    /// How long a change that was sent exactly waits for its frame, so that one frame has several changes: viewers show
    /// them already. The shorter one is for paths that lose datagrams.
    private static let exactPause = Duration.milliseconds(200)
    private static let exactPauseWithLoss = Duration.milliseconds(40)
    /// How long the reduced layer's encoder stays open after its last viewer has left.
    private static let keepOpenTime = Duration.seconds(10)

    private let layer: Int
    private let rest: Duration
    private var settings: EncodeStage.Settings
    private let wanted: EncoderDemand
    /// Nil: there are no patches beside this layer.
    private let patches: PatchStage?
    private let state: EncodeState
    private let sinks: [any FrameSink]
    private let handlers: EncodeStage.Handlers

    private var encoder: VideoEncoder?
    private var converter: PictureConverter?
    /// The sent size at full quality, if nobody needs less.
    private var fullSize: PixelSize
    /// The sent size at full quality.
    private var size: PixelSize
    private var ladder: QualityLadder
    private var demand = StreamDemand()
    private var unwatchedSince: MediaTime?

    /// The newest picture, not coded yet because the layer is held or its next frame isn't due.
    private var pending: (picture: Picture, isRepeated: Bool)?
    /// Since when a picture waits.
    private var pendingSince = MediaTime.zero
    /// What frames say of the screen, where there are patches; the source's size and time of the last coded picture; and
    /// whether the last frame said something.
    private var changes = ChangeLog()
    private var screen: (size: PixelSize, time: MediaTime)?
    private var hasSaid = false
    /// Pictures were skipped while nobody watched, so the damage since the last coded one is unknown.
    private var hasMissed = false
    /// The last coded picture, converted, and when it was coded.
    private var lastPicture: Picture?
    private var lastTime = MediaTime.zero
    /// When the source's last picture came.
    private var lastOffer = MediaTime.zero
    /// It has come since the layer was served last. Layers before this one may have been coded meanwhile, which takes time.
    private var isFresh = false
    /// When much of the picture changed last. A clock or a blinking caret isn't motion.
    private var lastMotion = MediaTime.zero
    /// Seconds between the source's pictures, a moving average.
    private var offerInterval: Double
    /// When a requested keyframe is made from the last picture; before that a new picture is expected.
    private var keyframeDue: MediaTime?
    /// When the last picture is refined if no other comes; nil if it can't be.
    private var refinementDue: MediaTime?
    /// When the last frame was made, of whatever kind.
    private var lastFrame = MediaTime.zero
    /// Spaces frames where fewer are wanted a second than the source has.
    private var spacing = FrameSpacing()

    init(
        _ layer: Int, _ settings: EncodeStage.Settings, encoder: VideoEncoder?, size: PixelSize,
        wanted: EncoderDemand, patches: PatchStage?, state: EncodeState, sinks: [any FrameSink],
        handlers: EncodeStage.Handlers
    ) {
        self.layer = layer
        self.settings = settings
        self.wanted = wanted
        self.patches = patches
        self.state = state
        self.sinks = sinks
        self.handlers = handlers
        self.encoder = encoder
        self.size = size
        fullSize = size
        ladder = QualityLadder(frameRate: settings.frameRate, size: size)
        offerInterval = 1 / settings.frameRate
        rest = min(max(.seconds(Self.restPictures / settings.frameRate), Self.leastRest), Self.mostRest)
    }

    // MARK: What comes in

    /// Takes a new picture from the source.
    mutating func offer(_ picture: Picture, at now: MediaTime) {
        let passed = (now - lastOffer).inSeconds
        if passed < 1 { offerInterval += (passed - offerInterval) / 8 }
        lastOffer = now
        isFresh = true
        if Self.isMotion(picture) { lastMotion = now }
        if patches != nil {
            if let said = picture.changes {
                changes.add(said.changes, of: picture.size, at: picture.time)
            } else {
                changes.add(picture.damage, of: picture.size, at: picture.time)
            }
        }
        setSize(settings.outputSize(for: picture.size))
        guard demand.isWatched else {
            hasMissed = true
            return
        }
        var picture = picture
        if hasMissed {
            hasMissed = false
            picture.damage = DamageRegion(PixelRect(picture.size))
            picture.isSentExactly = false
        }
        keyframeDue = nil
        refinementDue = nil
        if let pending {
            picture = picture.replacing(pending.picture)
            if pending.isRepeated { picture.isSentExactly = false }
            if layer == 0 { state.shared.withLock { $0.leftOut += 1 } }
        }
        if pending == nil { pendingSince = now }
        pending = (picture, false)
    }

    /// Whether an eighth of the picture or more has changed, so that the frame says something about the rate that the
    /// content needs.
    private static func isMotion(_ picture: Picture) -> Bool { picture.damage.area * 8 >= picture.size.area }

    /// Takes a picture that isn't new on the screen, but that this layer hasn't coded yet or not at this size.
    mutating func offerUnchanged(_ picture: Picture) {
        guard pending == nil else { return }
        var picture = picture
        picture.damage = DamageRegion(PixelRect(picture.size))
        picture.isSentExactly = false
        hasMissed = false
        pending = (picture, true)
    }

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
    var newestPicture: Picture? { pending?.picture ?? lastPicture }

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
            return pending == nil && lastPicture == nil
        }
        if pending != nil { hasMissed = true }
        (pending, lastPicture, keyframeDue, refinementDue) = (nil, nil, nil, nil)
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
        if pending != nil {
            try servePending(at: now)
        } else if wanted.needsKeyframe(layer: layer) {
            try repeatAsKeyframe(at: now)
        } else if let source, let encoder, lastPicture != nil, encoder.settings.size != sentSize {
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
        guard layer > 0, encoder != nil, let since = unwatchedSince else { return nil }
        let end = since + Self.keepOpenTime
        guard end <= now else { return end }
        (encoder, converter) = (nil, nil)
        return nil
    }

    private var deadline: MediaTime? {
        var times = [keyframeDue, refinementDue, pauseEnd]
        if pending != nil { times.append(max(due.remembered, exactPauseEnd)) }
        if pending == nil, lastPicture != nil, let rest = ladder.requiredRest { times.append(lastMotion + rest) }
        return times.compactMap { $0 }.min()
    }

    /// When the next picture is coded: `fresh` for one that comes at that moment, `remembered` for one that came before
    /// and is coded unless a newer one comes.
    private var due: (fresh: MediaTime, remembered: MediaTime) {
        let spaced = demand.frameRate == nil ? (.zero, .zero) : spacing.due(sourceInterval: offerInterval)
        let divisor = Double(self.divisor)
        guard divisor > 1 else { return spaced }
        // The margin of 0.4 intervals allows for pictures that come early or late.
        func time(_ pictures: Double) -> MediaTime {
            lastTime + .seconds(clamping: pictures / settings.frameRate)
        }
        return (max(spaced.fresh, time(divisor - 0.4)), max(spaced.remembered, time(divisor + 0.4)))
    }

    /// Until then a change that all have exactly waits for more.
    private var exactPauseEnd: MediaTime {
        guard let pending, pending.picture.isSentExactly, demand.hasOnlyPatchTakers else { return .zero }
        return pendingSince + (demand.losesPatches ? Self.exactPauseWithLoss : Self.exactPause)
    }

    private mutating func servePending(at now: MediaTime) throws(CodecError) {
        guard let pending else { return }
        let needsKeyframe = wanted.needsKeyframe(layer: layer)
        guard needsKeyframe || now >= max(isFresh ? due.fresh : due.remembered, exactPauseEnd) else { return }
        self.pending = nil
        try encode(pending.picture, isRepeated: pending.isRepeated, keyframe: needsKeyframe, begin: now)
    }

    private mutating func encode(
        _ source: Picture, isRepeated: Bool, keyframe: Bool, begin: MediaTime
    ) throws(CodecError) {
        var source = source
        screen = (source.size, source.time)
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
        let interval = max(offerInterval, 1 / frameRateLimit)
        lastTime = begin
        keyframeDue = nil
        try open(sentSize)
        // Released first, so that the converter can reuse its memory and unchanged pixels.
        lastPicture = nil
        let converter = self.converter ?? PictureConverter(settings.chroma)
        self.converter = converter
        let converted = try converter.convert(source, to: sentSize)
        lastPicture = converted
        refinementDue = begin + rest
        guard let frame = try coded(converted, keyframe: keyframe) else { return }
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
        let quantiser = encoder?.lastQuantiser ?? (isTooMuch ? 44 : 30)
        ladder.coded(
            quantiser: quantiser, bits: bits, interval: interval, rate: rate, isPathBound: isPathBound, at: time)
    }

    /// Codes the last picture as a requested keyframe, as no new one has come.
    private mutating func repeatAsKeyframe(at now: MediaTime) throws(CodecError) {
        guard var last = lastPicture else { return }
        // In motion the next picture comes within one or two intervals, and is the keyframe.
        let due = lastTime + .seconds(clamping: 2 / settings.frameRate)
        guard due <= now else {
            keyframeDue = due
            return
        }
        keyframeDue = nil
        last.time = now
        refinementDue = now + Self.refinementInterval
        guard let frame = try coded(last, keyframe: true) else { return }
        wanted.keyframeMade(layer: layer)
        push(frame, waited: nil, begin: now)
    }

    /// Refines the last picture.
    private mutating func refine(at now: MediaTime) throws(CodecError) {
        guard var last = lastPicture, let encoder, let due = refinementDue, due <= now else { return }
        if demand.frameRate != nil, spacing.next > now {
            refinementDue = spacing.next
            return
        }
        // Those who take patches get the exact pixels instead.
        if demand.hasOnlyPatchTakers, hasSaid, !isPathBound {
            refinementDue = nil
            return
        }
        // Not if the picture is about to be sent in another size.
        guard ladder.requiredRest.map({ $0 > .seconds(1) }) ?? true else {
            refinementDue = now + Self.refinementInterval
            return
        }
        last.time = now
        encoder.setRate(rate, isPathBound: isPathBound)
        let frame = try coded(last) { encoder, last throws(CodecError) in try encoder.refine(last) }
        refinementDue = encoder.isRefined ? nil : now + refinementPause(after: frame?.unit)
        if let frame { push(frame, waited: nil, begin: now) }
    }

    /// When the last picture is coded once more: because somebody wants a frame at least so often, or because somebody takes
    /// patches and no frame has said yet what has changed. That happens when a relay's viewer gets a still screen's keyframe
    /// before the host knows that this viewer takes patches.
    private var pauseEnd: MediaTime? {
        // A keyframe or a picture that waits ends the pause itself.
        guard pending == nil, keyframeDue == nil, lastPicture != nil else { return nil }
        let isUnsaid = patches != nil && demand.wantsPatches && !hasSaid && screen?.size == encoder?.settings.size
        guard let pause = isUnsaid ? Duration.zero : demand.longestPause else { return nil }
        return lastFrame + max(pause, Self.leastRefinementInterval)
    }

    /// Codes the last picture once more, if no frame was made for too long. It says nothing of the content, so neither the
    /// ladder nor the time of the next picture follows from it.
    private mutating func endPause(at now: MediaTime) throws(CodecError) {
        guard let end = pauseEnd, end <= now, var last = lastPicture else { return }
        last.time = now
        // A frame that an encoder delays comes with a later one.
        lastFrame = now
        encoder?.setRate(rate, isPathBound: isPathBound)
        let frame = try coded(last) { encoder, last throws(CodecError) in try encoder.encodeAgain(last) }
        if let frame { push(frame, waited: nil, begin: now) }
    }

    /// Time to the next refinement. On a slow path a tenth of the rate stays unused, in case sizes were predicted too
    /// low.
    private func refinementPause(after unit: AccessUnit?) -> Duration {
        guard isPathBound, let unit else { return Self.refinementInterval }
        let taken = Duration.seconds(Double(unit.bytes.count * 8) / Double(rate))
        return min(max(taken * 1.1, Self.leastRefinementInterval), Self.refinementInterval)
    }

    // MARK: The encoder

    /// The options' rate in bits a second.
    private var allowedRate: Int { settings.encoderSettings(for: size).bitRate }
    private var rate: Int { min(allowedRate, demand.bitRate ?? .max) }
    /// One of this many pictures is coded.
    private var divisor: Int { max(ladder.quality.divisor, demand.frameDivisor) }
    private var frameRateLimit: Double { min(settings.frameRate / Double(divisor), demand.frameRate ?? .infinity) }
    private var isPathBound: Bool { demand.bitRate.map { $0 < allowedRate } ?? false }

    /// The size that is sent now.
    private var sentSize: PixelSize {
        let quarters = ladder.quality.quarters
        guard quarters < 4 else { return size }
        return PixelSize(width: max(2, size.width * quarters / 8 * 2), height: max(2, size.height * quarters / 8 * 2))
    }

    /// Opens an encoder for pictures of `size`, unless the present one has that size.
    private mutating func open(_ size: PixelSize) throws(CodecError) {
        guard encoder?.settings.size != size else { return }
        // Close the old one first, to save memory.
        encoder = nil
        encoder = try VideoEncoder(settings.encoderSettings(for: size))
    }

    private mutating func coded(_ picture: Picture, keyframe: Bool) throws(CodecError) -> EncodedFrame? {
        encoder?.setRate(rate, isPathBound: isPathBound)
        encoder?.usesTemporalLayers = demand.wantsTemporalLayers
        return try coded(picture) { encoder, picture throws(CodecError) in
            try encoder.encode(picture, keyframe: keyframe)
        }
    }

    /// The frame that `body` codes. If a device's encoder fails, libx264 replaces it and begins with a keyframe.
    private mutating func coded(
        _ picture: Picture, _ body: (VideoEncoder, Picture) throws(CodecError) -> EncodedFrame?
    ) throws(CodecError) -> EncodedFrame? {
        guard let encoder else { return nil }
        do throws(CodecError) {
            return try body(encoder, picture)
        } catch {
            guard encoder.name != VideoEncoder.standardName else { throw error }
            handlers.onFallback(encoder.name, error)
            VideoEncoder.giveUpPreferred()
            settings.encoder = VideoEncoder.standardName
            let replacement = try VideoEncoder(settings.encoderSettings(for: picture.size))
            replacement.setRate(rate, isPathBound: isPathBound)
            replacement.usesTemporalLayers = demand.wantsTemporalLayers
            self.encoder = replacement
            return try body(replacement, picture)
        }
    }

    /// Pushes the frame to the sinks. `waited` is nil for a picture that is shown already (`EncodedFrame.isRepeated`).
    private mutating func push(_ frame: EncodedFrame, waited: Duration?, begin: MediaTime) {
        let end = MediaTime.now
        lastFrame = begin
        if let rate = demand.frameRate { spacing.made(at: begin, rate: rate, sourceInterval: offerInterval) }
        var frame = frame
        frame.layer = layer
        frame.isRepeated = waited == nil
        frame.stages = waited.map { StageTimes(waited: $0, encode: end - begin) }
        sayChanges(in: &frame)
        state.shared.withLock { shared in
            if layer == 0 { shared.encoded += 1 }
            if waited != nil, layer == 0 { shared.encode.record(end - begin) }
            shared.layers[layer] = report
        }
        for sink in sinks { sink.push(frame) }
    }

    /// Where somebody takes patches, the frame says which parts of the screen have changed since the frame before.
    private mutating func sayChanges(in frame: inout EncodedFrame) {
        guard let patches else { return }
        guard demand.wantsPatches, let screen, screen.size == frame.unit.size else {
            if hasSaid { patches.framesSay(size: nil) }
            hasSaid = false
            return
        }
        let said = changes.take(
            at: screen.time, of: screen.size, isContinued: hasSaid && !frame.isKeyframe)
        frame.unit = said.inserted(into: frame.unit)
        hasSaid = true
        patches.framesSay(size: screen.size)
    }

    private var report: HostReport.Layer {
        HostReport.Layer(
            isWatched: demand.isWatched, encoder: encoder?.name, bitRateLimit: rate, isPathBound: isPathBound,
            frameRateLimit: frameRateLimit,
            sentSize: encoder?.settings.size ?? sentSize, quantiser: encoder?.lastQuantiser)
    }
}
