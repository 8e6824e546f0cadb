import BeamLibAV
import BeamMedia
import CAVCodec

/// Pictures from H.264, through libavcodec: each access unit's picture at once, and never a broken one.
///
/// After damage nothing is shown before the next keyframe. Decodes on the processor or on a device; a device that fails costs at
/// most the time to the next keyframe. Used by one thread.
public final class VideoDecoder {
    private let input: DecoderInput
    private let decoded: FrameHandle
    private let output = DecodedPictures()
    private var numbers = FrameNumbers()
    /// Pictures cannot be built on what came before.
    private var needsKeyframe = true

    private let bounds: StreamBounds
    private let choice: DecoderChoice
    private let openers: DecoderOpeners
    /// Always there: what a device falls back to, at once.
    private let software: any FrameDecoder
    /// Nil where the processor decodes, and from a device's failure on.
    private var hardware: (any FrameDecoder)?
    /// A device has failed, or none opens: it is left alone.
    private var isHardwareOut = false
    /// The current stream, from its last keyframe on, is the device's.
    private var usesHardware = false

    /// Where the last picture was decoded, by the words of a command line: `software`, `vaapi:/dev/dri/renderD128`.
    public var name: String { (usesHardware ? hardware : nil)?.name ?? software.name }

    /// Why the device isn't used any more, once it has failed, as a sentence goes on.
    public private(set) var hardwareFailure: String?

    /// `threads` share the slices of a frame on the processor; nil is one.
    ///
    /// One thread checks every slice to its end, and that all are there. With more, libavcodec reports no damage inside a slice
    /// (nor does a device): they are for streams whose bytes are authenticated, and win up to 0.7 ms of a 1080p picture.
    ///
    /// - Throws: `decoderDoesNotStart`; `hardwareDecoderDoesNotStart` where `choice` names a device.
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

    /// Decodes `frame`. The picture refers to the decoder's own memory, without a copy, in the size that the frame says where the
    /// coded one is at most a row and a column larger, else in the coded size. Its time is the frame's last arrival.
    ///
    /// Returns nil when the stream itself asks for a delay.
    ///
    /// - Throws: `keyframeNeeded` for a frame that nothing can be built on; `damagedFrame`, after which the next keyframe is
    ///   needed; `unsupportedStream`; `streamBeyondBounds`.
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

    /// Refuses a frame before which another one is missing. The framing has been checked already.
    private func checkNumber(_ unit: AccessUnit) throws(CodecError) {
        if let sets = unit.parameterSets { numbers.take(sets) }
        guard let slice = NALUnits.firstPicture(avcc: unit.avcc) else {
            throw .damagedFrame(reason: "there is no picture in it")
        }
        guard numbers.follows(slice) else { throw .damagedFrame(reason: "the frame before it is missing") }
    }

    /// Forgets everything: the next unit has to be a keyframe.
    public func flush() {
        software.flush()
        hardware?.flush()
        av_frame_unref(decoded.pointer)
        numbers.reset()
        needsKeyframe = true
    }

    /// Between two streams, which a keyframe is, the decoder may change.
    private func chooseDecoder(for unit: AccessUnit) {
        // Full colour is beyond what devices decode, which is no reason to leave them alone afterwards.
        let isForDevices = unit.parameterSets?.isFullColour != true
        let wants: Bool
        switch choice {
        case .software: wants = false
        case .vaapi: wants = isForDevices
        case .automatic:
            wants = isForDevices && unit.size.area > DecoderOpeners.largestSoftwareArea
            // Opened when it's needed: most streams never need one, and a driver takes its time to load.
            if wants, hardware == nil, !isHardwareOut {
                hardware = try? openers.hardware(nil)
                isHardwareOut = hardware == nil
            }
        }
        let uses = wants && hardware != nil
        if uses != usesHardware { (usesHardware ? hardware : software)?.flush() }
        usesHardware = uses
    }

    /// False when the stream asks for a delay.
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
            // A keyframe is decoded all the same; another frame needs what only the device has.
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
        isHardwareOut = true
        usesHardware = false
        hardwareFailure = reason
        av_frame_unref(decoded.pointer)
    }
}
