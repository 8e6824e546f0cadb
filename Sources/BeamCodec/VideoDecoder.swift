import BeamLibAV
import BeamMedia
import CAVCodec

/// Decodes H.264 through libavcodec: each access unit's picture at once, and never a broken one.
///
/// After damage nothing is shown before the next keyframe. Decodes on the processor or on a device. If a device fails,
/// decoding continues on the processor, at the latest from the next keyframe. Used by one thread.
public final class VideoDecoder {
    private let input: DecoderInput
    private let decoded: FrameHandle
    private let output = DecodedPictures()
    private var numbers = FrameNumbers()
    /// The next frame has to be a keyframe.
    private var needsKeyframe = true

    private let bounds: StreamBounds
    private let choice: DecoderChoice
    private let openers: DecoderOpeners
    /// Always open, so that it can replace a device at once.
    private let software: any FrameDecoder
    /// Nil if the processor decodes, and after a device's failure.
    private var hardware: (any FrameDecoder)?
    /// A device has failed, or none opens: none is tried again.
    private var isHardwareUnusable = false
    /// The device decodes the stream since the last keyframe.
    private var usesHardware = false

    /// The decoder of the last picture, by its command-line name: `software`, `vaapi:/dev/dri/renderD128`.
    public var name: String { (usesHardware ? hardware : nil)?.name ?? software.name }

    /// Why the device failed, as part of a sentence; nil: it hasn't.
    public private(set) var hardwareFailure: String?

    /// `threads` decode the slices of a frame on the processor; nil: one.
    ///
    /// With one thread libavcodec checks every slice to its end, and that all are there. With more it reports no damage
    /// inside a slice (nor does a device): use them for streams whose bytes are authenticated. They save up to 0.7 ms
    /// of a 1080p picture.
    ///
    /// - Throws: `decoderDoesNotStart`; `hardwareDecoderDoesNotStart` if `choice` names a device.
    public convenience init(
        threads: Int? = nil, choice: DecoderChoice = .automatic, bounds: StreamBounds = StreamBounds()
    ) throws(CodecError) {
        try self.init(threads: threads, choice: choice, bounds: bounds, openers: .libAV)
    }

    init(
        threads: Int? = nil, choice: DecoderChoice, bounds: StreamBounds = StreamBounds(), openers: DecoderOpeners
    ) throws(CodecError) {
        software = try openers.software(max(1, min(16, threads ?? 1)))
        if case .vaapi(let path) = choice { hardware = try openers.hardware(path) }
        guard let decoded = FrameHandle(), let input = DecoderInput() else {
            throw .decoderDoesNotStart(reason: "there is not enough memory")
        }
        self.bounds = bounds
        self.choice = choice
        self.openers = openers
        self.decoded = decoded
        self.input = input
    }

    /// Decodes `frame`. The picture refers to the decoder's memory, without a copy. It has the size that the frame says
    /// if the coded size is at most a row and a column larger, else the coded size. Its time is the frame's last
    /// arrival.
    ///
    /// Returns nil if the stream requires a delay.
    ///
    /// - Throws: `keyframeNeeded` for a frame whose reference is missing; `damagedFrame`, after which the next keyframe
    ///   is needed; `unsupportedStream`; `streamBeyondBounds`.
    public func decode(_ frame: ReceivedFrame) throws(CodecError) -> Picture? {
        let unit = frame.unit
        guard unit.isKeyframe || !needsKeyframe else { throw .keyframeNeeded }
        do {
            needsKeyframe = true
            try input.fill(unit)
            try bounds.check(unit)
            try checkNumber(unit)
            if unit.isKeyframe { chooseDecoder(for: unit) }
            let hasPicture = try decodeInput(unit)
            let picture = hasPicture ? try output.picture(takingFrom: decoded, of: frame) : nil
            needsKeyframe = false
            return picture
        } catch {
            flush()
            throw error
        }
    }

    /// Throws for a frame whose predecessor is missing. The framing has been checked before.
    private func checkNumber(_ unit: AccessUnit) throws(CodecError) {
        if let sets = unit.parameterSets { numbers.take(sets) }
        guard let slice = NALUnits.firstPicture(avcc: unit.avcc) else {
            throw .damagedFrame(reason: "there is no picture in it")
        }
        guard numbers.follows(slice) else { throw .damagedFrame(reason: "the frame before it is missing") }
    }

    /// Resets the decoder: the next unit has to be a keyframe.
    public func flush() {
        software.flush()
        hardware?.flush()
        av_frame_unref(decoded.pointer)
        numbers.reset()
        needsKeyframe = true
    }

    /// At a keyframe the decoder may change.
    private func chooseDecoder(for unit: AccessUnit) {
        // Devices don't decode full colour. That isn't a failure: the next stream may use them again.
        let isForDevices = unit.parameterSets?.isFullColour != true
        let wants: Bool
        switch choice {
        case .software: wants = false
        case .vaapi: wants = isForDevices
        case .automatic:
            wants = isForDevices && unit.size.area > DecoderOpeners.largestSoftwareArea
            // Opened only when needed, because a driver takes time to load.
            if wants, hardware == nil, !isHardwareUnusable {
                hardware = try? openers.hardware(nil)
                isHardwareUnusable = hardware == nil
            }
        }
        let uses = wants && hardware != nil
        if uses != usesHardware { (usesHardware ? hardware : software)?.flush() }
        usesHardware = uses
    }

    /// Returns false if the stream requires a delay.
    private func decodeInput(_ unit: AccessUnit) throws(CodecError) -> Bool {
        input.packet.pointer.pointee.flags = unit.isKeyframe ? AV_PKT_FLAG_KEY : 0
        if usesHardware, let hardware {
            do throws(FrameDecoderError) {
                return try hardware.decode(input.packet, into: decoded)
            } catch {
                switch error {
                case .damaged(let reason): throw .damagedFrame(reason: reason)
                case .deviceFailed(let reason): giveUpHardware(reason)
                }
            }
            // The processor decodes a keyframe instead; another frame needs references that only the device has.
            guard unit.isKeyframe else {
                throw .damagedFrame(reason: "the device that decodes has failed (\(hardwareFailure ?? "no reason"))")
            }
        }
        do throws(FrameDecoderError) {
            return try software.decode(input.packet, into: decoded)
        } catch {
            switch error {
            case .damaged(let reason), .deviceFailed(let reason): throw .damagedFrame(reason: reason)
            }
        }
    }

    private func giveUpHardware(_ reason: String) {
        hardware = nil
        isHardwareUnusable = true
        usesHardware = false
        hardwareFailure = reason
        av_frame_unref(decoded.pointer)
    }
}
