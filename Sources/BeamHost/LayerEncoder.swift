import BeamClock
import BeamCodec
import BeamMedia

/// One layer: what of the source's pictures is coded when, how large, and at what rate. The encode stage's thread's own.
struct LayerEncoder {
    /// A screen at rest: for so many pictures at the full frame rate nothing has changed, and the picture may get better. (Of a
    /// motion one may be missing.) Not before, and in any case after so long.
    private static let restPictures = 2.5
    private static let leastRest = Duration.milliseconds(60)
    private static let mostRest = Duration.milliseconds(300)
    /// From one improvement to the next; each takes less than that of a path's rate.
    private static let refinement = Duration.milliseconds(50)
    /// The same where one took little of a path's rate.
    private static let leastRefinement = Duration.milliseconds(20)
    /// How long the reduced layer's encoder is kept when nobody watches.
    private static let keptTime = Duration.seconds(10)

    private let layer: Int
    private let rest: Duration
    private var settings: EncodeStage.Settings
    private let wanted: EncoderDemand
    private let state: EncodeState
    private let sinks: [any FrameSink]
    private let handlers: EncodeStage.Handlers

    private var encoder: VideoEncoder?
    private var converter: PictureConverter?
    /// What is sent of the source at full quality.
    private var size: PixelSize
    private var ladder: QualityLadder
    private var demand = StreamDemand()
    private var unwatchedSince: MediaTime?

    /// The newest picture, not coded yet: the layer is held, or its next frame isn't due.
    private var pending: (picture: Picture, isRepeated: Bool)?
    /// Pictures went by while nobody watched: what they changed isn't known any more.
    private var hasMissed = false
    /// The picture that was coded last, as it was coded, and when.
    private(set) var lastPicture: Picture?
    private var lastTime = MediaTime.zero
    /// When the source's last picture came, and how many seconds lie between such, lately.
    private var lastOffer = MediaTime.zero
    /// When much of the picture changed last: a clock or a caret that blinks is no motion.
    private var lastMotion = MediaTime.zero
    private var offerInterval: Double
    /// When a keyframe that was asked for is made of the last picture; until then the next one is about to come.
    private var repetition: MediaTime?
    /// When the last picture is coded better, if no other comes; nil when it can't be.
    private var improvement: MediaTime?

    init(
        _ layer: Int, _ settings: EncodeStage.Settings, encoder: VideoEncoder?, size: PixelSize,
        wanted: EncoderDemand, state: EncodeState, sinks: [any FrameSink], handlers: EncodeStage.Handlers
    ) {
        self.layer = layer
        self.settings = settings
        self.wanted = wanted
        self.state = state
        self.sinks = sinks
        self.handlers = handlers
        self.encoder = encoder
        self.size = size
        ladder = QualityLadder(frameRate: settings.frameRate, size: size)
        offerInterval = 1 / settings.frameRate
        rest = min(max(.seconds(Self.restPictures / settings.frameRate), Self.leastRest), Self.mostRest)
    }

    // MARK: What comes in

    /// The source has another picture.
    mutating func offer(_ picture: Picture, at now: MediaTime) {
        let passed = (now - lastOffer).inSeconds
        if passed < 1 { offerInterval += (passed - offerInterval) / 8 }
        lastOffer = now
        if Self.isMotion(picture) { lastMotion = now }
        follow(settings.outputSize(for: picture.size))
        guard demand.isWatched else {
            hasMissed = true
            return
        }
        var picture = picture
        if hasMissed {
            hasMissed = false
            picture.damage = DamageRegion(PixelRect(picture.size))
        }
        repetition = nil
        improvement = nil
        if let pending {
            picture = picture.replacing(pending.picture)
            if layer == 0 { state.shared.withLock { $0.leftOut += 1 } }
        }
        pending = (picture, false)
    }

    /// So much has changed that it says something about what the stream takes.
    private static func isMotion(_ picture: Picture) -> Bool { picture.damage.area * 8 >= picture.size.area }

    /// A picture that the layer hasn't seen, though the screen has looked like this for a while.
    mutating func offerAgain(_ picture: Picture) {
        guard pending == nil else { return }
        var picture = picture
        picture.damage = DamageRegion(PixelRect(picture.size))
        hasMissed = false
        pending = (picture, true)
    }

    /// The source's size may have changed.
    private mutating func follow(_ output: PixelSize) {
        guard output != size else { return }
        size = output
        ladder = QualityLadder(frameRate: settings.frameRate, size: output)
        guard layer == 0 else { return }
        state.shared.withLock { $0.size = output }
        handlers.onResize(output)
    }

    /// Whether the source's picture may be wanted once more.
    var mayWantSource: Bool { demand.isWatched && (layer > 0 || isPathBound || ladder.quality.quarters < 4) }

    /// Takes in what is demanded; returns whether somebody watches who has no picture.
    mutating func update(at now: MediaTime) -> Bool {
        demand = wanted.demand(layer: layer, at: now)
        state.shared.withLock { $0.layers[layer] = report }
        if demand.isWatched {
            unwatchedSince = nil
            return pending == nil && lastPicture == nil
        }
        if pending != nil { hasMissed = true }
        (pending, lastPicture, repetition, improvement) = (nil, nil, nil, nil)
        unwatchedSince = unwatchedSince ?? now
        return false
    }

    // MARK: What goes out

    /// Codes what is due, and returns when something will be. `source`: the source's newest picture, if it is kept.
    mutating func serve(source: Picture?) throws(CodecError) -> MediaTime? {
        let now = MediaTime.now
        guard demand.isWatched else { return letGo(at: now) }
        // When the consumer that holds the layer ends that, the stage is woken.
        guard !demand.isHeld else { return wanted.holdEnd(layer: layer) }
        ladder.advance(rate: rate, isPathBound: isPathBound, rest: now - lastMotion, at: now)
        if pending != nil {
            try servePending(at: now)
        } else if wanted.needsKeyframe(layer: layer) {
            try repeatAsKeyframe(at: now)
        } else if let source, let encoder, lastPicture != nil, encoder.settings.size != sentSize {
            // At rest the size returns.
            offerAgain(source)
            try servePending(at: now)
        } else {
            try improve(at: now)
        }
        return deadline
    }

    private mutating func letGo(at now: MediaTime) -> MediaTime? {
        guard layer > 0, encoder != nil, let since = unwatchedSince else { return nil }
        let end = since + Self.keptTime
        guard end <= now else { return end }
        (encoder, converter) = (nil, nil)
        return nil
    }

    private var deadline: MediaTime? {
        var times = [repetition, improvement]
        if pending != nil { times.append(due.remembered) }
        if pending == nil, lastPicture != nil, let rest = ladder.restWanted { times.append(lastMotion + rest) }
        return times.compactMap { $0 }.min()
    }

    /// When a picture that comes just then is coded, and when one that came before is, if no newer one comes.
    private var due: (fresh: MediaTime, remembered: MediaTime) {
        let divisor = Double(ladder.quality.divisor)
        guard divisor > 1 else { return (.zero, .zero) }
        // Pictures don't come to the millisecond.
        func time(_ pictures: Double) -> MediaTime {
            lastTime + .seconds(clamping: pictures / settings.frameRate)
        }
        return (time(divisor - 0.4), time(divisor + 0.4))
    }

    private mutating func servePending(at now: MediaTime) throws(CodecError) {
        guard let pending else { return }
        let needsKeyframe = wanted.needsKeyframe(layer: layer)
        let isFresh = now - lastOffer < .milliseconds(2)
        guard needsKeyframe || now >= (isFresh ? due.fresh : due.remembered) else { return }
        self.pending = nil
        try encode(pending.picture, isRepeated: pending.isRepeated, keyframe: needsKeyframe, begin: now)
    }

    private mutating func encode(
        _ source: Picture, isRepeated: Bool, keyframe: Bool, begin: MediaTime
    ) throws(CodecError) {
        var source = source
        if isRepeated {
            // The screen still looks like this.
            source.time = begin
        } else {
            state.shared.withLock { shared in
                if layer == 0 { shared.capture.record(begin - source.time) }
            }
        }
        // As often as they come, or may go; that the layer was held in between is what the ladder is to help.
        let interval = max(offerInterval, Double(ladder.quality.divisor) / settings.frameRate)
        lastTime = begin
        repetition = nil
        try open(sentSize)
        // Let go of, so that its memory and what hasn't changed in it serve again.
        lastPicture = nil
        let converter = self.converter ?? PictureConverter(settings.chroma)
        self.converter = converter
        let converted = try converter.convert(source, to: sentSize)
        lastPicture = converted
        improvement = begin + rest
        guard let frame = try coded(converted, keyframe: keyframe) else { return }
        // A keyframe that comes by itself answers those that were asked for.
        if frame.isKeyframe { wanted.keyframeMade(layer: layer) }
        if !isRepeated, !frame.isKeyframe, Self.isMotion(source) { tell(frame.unit, interval: interval, at: begin) }
        handOn(frame, waited: isRepeated ? nil : begin - source.time, begin: begin)
    }

    /// Tells the ladder how the frame went.
    private mutating func tell(_ unit: AccessUnit, interval: Double, at time: MediaTime) {
        let bits = unit.bytes.count * 8
        // An encoder that doesn't tell its quantiser shows by its bits whether it follows.
        let isTooMuch = Double(bits) / interval > Double(rate) * 1.2
        let quantiser = encoder?.lastQuantiser ?? (isTooMuch ? 44 : 30)
        ladder.coded(
            quantiser: quantiser, bits: bits, interval: interval, rate: rate, isPathBound: isPathBound, at: time)
    }

    /// No new picture has come, but a keyframe was asked for.
    private mutating func repeatAsKeyframe(at now: MediaTime) throws(CodecError) {
        guard var last = lastPicture else { return }
        // A picture that moves is not sent twice: the next one comes within a frame or two, and is the keyframe.
        let due = lastTime + .seconds(clamping: 2 / settings.frameRate)
        guard due <= now else {
            repetition = due
            return
        }
        repetition = nil
        last.time = now
        improvement = now + Self.refinement
        guard let frame = try coded(last, keyframe: true) else { return }
        wanted.keyframeMade(layer: layer)
        handOn(frame, waited: nil, begin: now)
    }

    /// There is time to make the last picture better.
    private mutating func improve(at now: MediaTime) throws(CodecError) {
        guard var last = lastPicture, let encoder, let due = improvement, due <= now else { return }
        // What is about to be sent in another size isn't worth the bits.
        guard ladder.restWanted.map({ $0 > .seconds(1) }) ?? true else {
            improvement = now + Self.refinement
            return
        }
        last.time = now
        encoder.setRate(rate, isPathBound: isPathBound)
        let frame = try coded(last) { encoder, last throws(CodecError) in try encoder.refine(last) }
        improvement = encoder.isRefined ? nil : now + pause(after: frame?.unit)
        if let frame { handOn(frame, waited: nil, begin: now) }
    }

    /// From this improvement to the next: a path that carries little is used but for a tenth, however well sizes were foreseen.
    private func pause(after unit: AccessUnit?) -> Duration {
        guard isPathBound, let unit else { return Self.refinement }
        let taken = Duration.seconds(Double(unit.bytes.count * 8) / Double(rate))
        return min(max(taken * 1.1, Self.leastRefinement), Self.refinement)
    }

    // MARK: The encoder

    /// What the options allow, in bits a second.
    private var allowedRate: Int { settings.encoderSettings(for: size).bitRate }
    private var rate: Int { min(allowedRate, demand.bitRate ?? .max) }
    private var isPathBound: Bool { demand.bitRate.map { $0 < allowedRate } ?? false }

    /// The size of what is sent now.
    private var sentSize: PixelSize {
        let quarters = ladder.quality.quarters
        guard quarters < 4 else { return size }
        return PixelSize(width: max(2, size.width * quarters / 8 * 2), height: max(2, size.height * quarters / 8 * 2))
    }

    /// Sees to it that there is an encoder for pictures of `size`.
    private mutating func open(_ size: PixelSize) throws(CodecError) {
        guard encoder?.settings.size != size else { return }
        // One at a time: two of them need the memory of two.
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

    /// What `body` codes. A device's encoder that fails gives way to the processor's, which begins with a keyframe.
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

    /// `waited` is nil for a picture that was sent before.
    private func handOn(_ frame: EncodedFrame, waited: Duration?, begin: MediaTime) {
        let end = MediaTime.now
        var frame = frame
        frame.layer = layer
        frame.isRepeated = waited == nil
        frame.stages = waited.map { StageTimes(waited: $0, encode: end - begin) }
        state.shared.withLock { shared in
            if layer == 0 { shared.encoded += 1 }
            if waited != nil, layer == 0 { shared.encode.record(end - begin) }
            shared.layers[layer] = report
        }
        for sink in sinks { sink.push(frame) }
    }

    private var report: HostReport.Layer {
        HostReport.Layer(
            isWatched: demand.isWatched, encoder: encoder?.name, bitRateLimit: rate, isPathBound: isPathBound,
            frameRateLimit: settings.frameRate / Double(ladder.quality.divisor),
            sentSize: encoder?.settings.size ?? sentSize, quantiser: encoder?.lastQuantiser)
    }
}
