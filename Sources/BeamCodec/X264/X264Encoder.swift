import BeamMedia
import CLateLibraries
import CX264

/// libx264 through its own interface: no delay, only changed macroblocks are analysed, and each frame's quantiser is
/// chosen here.
///
/// libx264 runs with constant quantisers, because its other rate controls keep and analyse a half-size copy of each
/// picture. It is told which macroblocks are constant. It uses that only if a frame's quantiser isn't lower than the
/// last one's; otherwise it analyses the whole picture, which takes two to three times as long. So does a frame after a
/// disposable one, which refers two frames back.
final class X264Encoder: EncoderBackend {
    /// The encoder's name in libavcodec.
    static let standardName = "libx264"

    let name = X264Encoder.standardName
    private let size: PixelSize
    private let chroma: ChromaFormat
    private let handle: X264Handle
    private let parameterSets: ParameterSets
    private let evenPictures: EvenPictures?
    private let macroblocks: MacroblockMap
    private var control: QuantiserControl
    private var input = x264_picture_t()
    private var partial: PartialPictures?
    private var numbers: ReferenceNumbers?
    /// Damage since the last coded picture, including that of pictures that couldn't be encoded.
    private var pending = DamageRegion()
    /// The most times that a frame is recoded because it is far too large.
    private static let mostRecodings = 3
    /// The last frame's quantiser. A lower one makes libx264 analyse the whole picture.
    private var currentQuantiser = 0
    private var frameCount: Int64 = 0
    /// The last frame if it is disposable. The next one refers to the frame before it.
    private var disposable: Disposable?
    var usesTemporalLayers = false

    private struct Disposable {
        /// The damage since the reference.
        var damage: DamageRegion
        var bits: Int
        /// `i_pts`.
        var timestamp: Int64
    }

    private var needsKeyframe = true

    init(_ settings: EncoderSettings) throws(CodecError) {
        size = settings.size
        chroma = settings.chroma
        // 4:4:4 codes odd sizes as they are.
        let coded = chroma == .subsampled ? size.codedSize : size
        if let reason = beam_load_libx264() {
            throw .encoderDoesNotStart(
                name: Self.standardName, size: settings.size, reason: String(cString: reason),
                working: VideoEncoder.workingEncoders())
        }
        guard let handle = X264Handle(coded: coded, frameRate: settings.boundedFrameRate, chroma: chroma),
            let parameterSets = handle.parameterSets
        else {
            throw .encoderDoesNotStart(
                name: Self.standardName, size: settings.size,
                reason: "the library refuses its settings, or there is not enough memory",
                working: VideoEncoder.workingEncoders())
        }
        self.handle = handle
        numbers = ReferenceNumbers(parameterSets)
        self.parameterSets = parameterSets.withOneReference.inMainProfile
        evenPictures = chroma == .subsampled ? EvenPictures(size) : nil
        macroblocks = MacroblockMap(coded)
        control = QuantiserControl(
            bitRate: settings.boundedBitRate, frameRate: settings.boundedFrameRate, macroblocks: macroblocks.count)
        x264_picture_init(&input)
        try warmUp(coded)
    }

    func setRate(_ bitRate: Int, isPathBound: Bool) {
        control.setRate(bitRate, regime: isPathBound ? .pathBound : .optionBound)
    }

    var lastQuantiser: Int? { currentQuantiser }

    var supportsTemporalLayers: Bool { numbers != nil }

    func encode(_ picture: Picture, keyframe: Bool, isSeen: Bool) throws(CodecError) -> EncodedFrame? {
        var isKeyframe = keyframe || needsKeyframe
        pending.formUnion(picture.damage)
        // The damage since the frame's reference.
        var damage = pending
        if let disposable { damage.formUnion(disposable.damage) }
        let changed = macroblocks.markDamaged(damage)
        var isDisposable = usesTemporalLayers && numbers != nil && !isKeyframe && disposable == nil && changed > 0
        var quantiser =
            isKeyframe
            ? control.keyframe(at: picture.time)
            : control.change(
                of: changed, at: picture.time, lastQuantiser: currentQuantiser, isDisposable: isDisposable,
                isSeen: isSeen
            ) { macroblocks.histogram }
        let timestamp = frameCount
        var unit = try code(picture, keyframe: isKeyframe, quantiser: quantiser, isDisposable: isDisposable)
        for _ in 0..<Self.mostRecodings where control.shouldRecode(bits: unit.bytes.count * 8, quantiser: quantiser) {
            isKeyframe = true
            isDisposable = false
            quantiser = max(quantiser + 1, control.keyframe(at: picture.time))
            unit = try code(picture, keyframe: true, quantiser: quantiser)
        }
        pending = DamageRegion()
        needsKeyframe = false
        if isKeyframe {
            macroblocks.setQuality(quantiser)
        } else if isDisposable {
            // The next frame's reference doesn't have this change.
            macroblocks.setQualityOfChanged(QuantiserControl.worst, analysedAll: false)
        } else {
            macroblocks.setQualityOfChanged(
                quantiser, analysedAll: quantiser < currentQuantiser || disposable != nil)
        }
        disposable =
            isDisposable ? Disposable(damage: damage, bits: unit.bytes.count * 8, timestamp: timestamp) : nil
        currentQuantiser = quantiser
        control.coded(bits: unit.bytes.count * 8)
        return EncodedFrame(unit: unit, captureTime: picture.time)
    }

    var isRefined: Bool { disposable == nil && macroblocks.coarsest <= QuantiserControl.best }

    func refine(_ picture: Picture, budget: Int?) throws(CodecError) -> EncodedFrame? {
        // Skipped damage is in this picture, but hasn't been coded.
        guard !needsKeyframe, pending.isEmpty, !isRefined else { return nil }
        let unit =
            if let disposable {
                try recodeAsReference(disposable, picture, budget)
            } else if control.regime == .pathBound {
                try refinePart(of: picture, budget)
            } else {
                try refineAll(of: picture, budget)
            }
        return unit.map { EncodedFrame(unit: $0, captureTime: picture.time) }
    }

    func encodeAgain(_ picture: Picture) throws(CodecError) -> EncodedFrame? {
        guard !needsKeyframe, pending.isEmpty, disposable == nil else { return try encode(picture, keyframe: false) }
        // Drains the bucket, and says that what follows is neither a change nor a keyframe.
        _ = control.hasRoom(bits: 0, at: picture.time)
        _ = macroblocks.markDamaged(DamageRegion())
        let unit = try code(picture, keyframe: false, quantiser: currentQuantiser)
        control.coded(bits: unit.bytes.count * 8)
        return EncodedFrame(unit: unit, captureTime: picture.time)
    }

    /// Codes the last picture again at the same quality as a reference. A refinement can't refer to the disposable
    /// frame, and without this it would have to code that frame's change anew, at the refinement's quality.
    private func recodeAsReference(
        _ disposable: Disposable, _ picture: Picture, _ budget: Int?
    ) throws(CodecError) -> AccessUnit? {
        guard disposable.bits <= budget ?? .max, control.hasRoom(bits: disposable.bits, at: picture.time) else {
            return nil
        }
        _ = macroblocks.markDamaged(disposable.damage)
        let unit = try code(picture, keyframe: false, quantiser: currentQuantiser)
        macroblocks.setQualityOfChanged(currentQuantiser, analysedAll: true)
        self.disposable = nil
        return refined(unit, currentQuantiser)
    }

    private func refineAll(of picture: Picture, _ budget: Int?) throws(CodecError) -> AccessUnit? {
        guard let quantiser = control.refinement(of: macroblocks.histogram, budget: budget, at: picture.time) else {
            return nil
        }
        macroblocks.markCoarser(than: quantiser)
        let unit = try code(picture, keyframe: false, quantiser: quantiser)
        macroblocks.improve(to: quantiser)
        return refined(unit, quantiser)
    }

    private func refinePart(of picture: Picture, _ budget: Int?) throws(CodecError) -> AccessUnit? {
        let source = evenPictures?.even(picture.buffer) ?? picture.buffer
        let shown = handle.reconstruction
        guard let luma = shown.plane.0 else { return nil }
        // Calculated only if there is room for a refinement.
        lazy var residual = Residual(
            of: source.planes[0], from: Plane(base: UnsafeMutableRawPointer(luma), stride: Int(shown.i_stride.0)),
            handle.coded)
        let plan = control.partialRefinement(from: macroblocks.coarsest, budget: budget, at: picture.time) {
            macroblocks.bits(toImprove: residual, to: $0, within: $1)
        }
        guard let (quantiser, bound) = plan else { return nil }
        control.planPartialRefinement(expected: macroblocks.markCoarser(than: quantiser, within: bound, residual))
        var picture = picture
        if quantiser < currentQuantiser {
            // libx264 will analyse the whole picture: outside the part it gets its own reconstruction, so that nothing
            // differs there.
            let partial = self.partial ?? PartialPictures(chroma.pixelFormat, handle.coded)
            self.partial = partial
            picture.buffer = partial.picture(of: source, where: macroblocks, over: shown)
        }
        let unit = try code(picture, keyframe: false, quantiser: quantiser)
        macroblocks.setQualityOfChanged(quantiser, analysedAll: false)
        return refined(unit, quantiser)
    }

    private func refined(_ unit: AccessUnit, _ quantiser: Int) -> AccessUnit {
        currentQuantiser = quantiser
        control.coded(bits: unit.bytes.count * 8)
        return unit
    }

    /// Codes one frame, with the flags in `macroblocks`.
    private func code(
        _ picture: Picture, keyframe: Bool, quantiser: Int, isDisposable: Bool = false
    ) throws(CodecError) -> AccessUnit {
        if let disposable { handle.invalidateReferences(since: disposable.timestamp) }
        let buffer =
            picture.size == handle.coded ? picture.buffer : evenPictures?.even(picture.buffer) ?? picture.buffer
        var bytes = try withExtendedLifetime(buffer) { () throws(CodecError) -> [UInt8] in
            try submit(buffer, keyframe: keyframe, quantiser: quantiser)
        }
        if numbers?.renumber(&bytes, isKeyframe: keyframe, isDisposable: isDisposable) == false {
            needsKeyframe = true
            throw .encodingFailed(reason: "libx264's frame can't be read")
        }
        return AccessUnit(
            bytes: bytes, isKeyframe: keyframe, parameterSets: keyframe ? parameterSets : nil, size: size,
            isDisposable: isDisposable)
    }

    private func submit(_ buffer: PixelBuffer, keyframe: Bool, quantiser: Int) throws(CodecError) -> [UInt8] {
        input.img.i_csp = chroma == .full ? X264_CSP_I444 : X264_CSP_I420
        input.img.i_plane = 3
        let planes = buffer.planes
        func samples(_ index: Int) -> UnsafeMutablePointer<UInt8> {
            planes[index].base.assumingMemoryBound(to: UInt8.self)
        }
        input.img.plane = (samples(0), samples(1), samples(2), nil)
        input.img.i_stride = (CInt(planes[0].stride), CInt(planes[1].stride), CInt(planes[2].stride), 0)
        input.i_type = keyframe ? X264_TYPE_IDR : X264_TYPE_P
        input.i_qpplus1 = CInt(quantiser) + 1
        input.i_pts = frameCount
        input.prop.mb_info = keyframe ? nil : macroblocks.info
        frameCount += 1
        guard let bytes = handle.encode(&input) else {
            // libx264's reference is unknown now.
            needsKeyframe = true
            throw .encodingFailed(reason: "libx264 made no frame; perhaps there is not enough memory")
        }
        return bytes
    }

    /// Codes two grey pictures that aren't sent: the first use of libx264's memory takes longer than coding a frame.
    private func warmUp(_ coded: PixelSize) throws(CodecError) {
        let grey = PixelBuffer(format: chroma.pixelFormat, size: coded)
        for index in 0..<3 {
            let (plane, rows) = (grey.planes[index], grey.format.plane(index, of: coded).rows)
            plane.base.initializeMemory(as: UInt8.self, repeating: 128, count: plane.stride * rows)
        }
        _ = macroblocks.markDamaged(DamageRegion(PixelRect(coded)))
        for keyframe in [true, false] { _ = try submit(grey, keyframe: keyframe, quantiser: QuantiserControl.worst) }
    }
}
