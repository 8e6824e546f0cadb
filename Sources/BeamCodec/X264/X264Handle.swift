import BeamLibAV
import BeamMedia
import CX264

/// Owns an `x264_t`.
final class X264Handle {
    private let pointer: OpaquePointer
    /// The coded pictures' size.
    let coded: PixelSize
    /// The last picture as a decoder shows it, in libx264's memory: valid until the next one is coded.
    private(set) var reconstruction = x264_image_t()

    /// Opens libx264 for pictures of an even size (any size for 4:4:4); nil if it refuses or there is no memory.
    init?(coded: PixelSize, frameRate: Double, chroma: ChromaFormat) {
        var parameters = x264_param_t()
        guard x264_param_default_preset(&parameters, "ultrafast", "zerolatency") == 0 else { return nil }
        Self.describe(&parameters, coded: coded, frameRate: frameRate, chroma: chroma)
        guard x264_param_apply_profile(&parameters, chroma == .full ? "high444" : "main") == 0,
            let pointer = beam_x264_encoder_open(&parameters)
        else { return nil }
        self.pointer = pointer
        self.coded = coded
    }

    deinit { x264_encoder_close(pointer) }

    private static func describe(
        _ parameters: inout x264_param_t, coded: PixelSize, frameRate: Double, chroma: ChromaFormat
    ) {
        parameters.i_log_level = X264_LOG_NONE
        parameters.i_width = CInt(coded.width)
        parameters.i_height = CInt(coded.height)
        parameters.i_csp = chroma == .full ? X264_CSP_I444 : X264_CSP_I420
        // Parallel slices: frame threads would delay frames.
        parameters.i_threads = LibAV.sliceThreads
        parameters.b_sliced_threads = LibAV.sliceThreads > 1 ? 1 : 0
        parameters.i_keyint_max = X264_KEYINT_MAX_INFINITE
        parameters.i_scenecut_threshold = 0
        // Frames refer one back. The second picture is kept for the frame after a disposable one; it isn't searched.
        parameters.i_frame_reference = 1
        parameters.i_dpb_size = CInt(ReferenceNumbers.keptPictures)
        parameters.b_repeat_headers = 0
        parameters.b_annexb = 0
        // With variable frame rate libx264 would delay each frame until it knows the next one's time.
        parameters.b_vfr_input = 0
        parameters.i_fps_num = UInt32((frameRate * 1000).rounded())
        parameters.i_fps_den = 1000
        parameters.vui.i_sar_width = 1
        parameters.vui.i_sar_height = 1
        parameters.vui.b_fullrange = 0
        // ITU-T H.273: 1 is BT.709 in each of them.
        parameters.vui.i_colorprim = 1
        parameters.vui.i_transfer = 1
        parameters.vui.i_colmatrix = 1
        // Chroma is between its four luma samples, as the conversion averages them (H.264 figure E-1).
        parameters.vui.i_chroma_loc = chroma == .full ? 0 : 1
        // Each frame sets its quantiser. libx264 limits it to the range that it calculates for P, I and B frames; with
        // these factors the range is 0 to 51.
        parameters.rc.i_rc_method = X264_RC_CQP
        parameters.rc.i_qp_constant = 40
        parameters.rc.f_ip_factor = 0.01
        parameters.rc.f_pb_factor = 0.01
        // libx264 raises the chroma quantiser of 4:4:4 by six, because there is more chroma. Undone, because the person
        // chose 4:4:4 for its chroma.
        if chroma == .full { parameters.analyse.i_chroma_qp_offset = -6 }
        // The preset's CAVLC stays: CABAC would save 14 % of the bits in motion, and take up to 3.5 ms more to decode a
        // 1080p picture. Intra prediction of 4 × 4 blocks saves 14 % of a keyframe of text; in other frames it would
        // save 4 % and take 15 % more time.
        parameters.analyse.intra = UInt32(X264_ANALYSE_I4x4)
        parameters.analyse.b_mb_info = 1
    }

    /// The parameter sets of the whole stream.
    var parameterSets: ParameterSets? {
        var units: UnsafeMutablePointer<x264_nal_t>?
        var count: CInt = 0
        guard x264_encoder_headers(pointer, &units, &count) > 0, let units else { return nil }
        var sets = ParameterSets(sps: [], pps: [])
        for unit in UnsafeBufferPointer(start: units, count: Int(count)) where unit.i_payload > 4 {
            let bytes = [UInt8](UnsafeBufferPointer(start: unit.p_payload + 4, count: Int(unit.i_payload) - 4))
            switch NALUnits.Kind(rawValue: UInt8(truncatingIfNeeded: unit.i_type)) {
            case .sequenceParameterSet: sets.sps.append(bytes)
            case .pictureParameterSet: sets.pps.append(bytes)
            default: continue
            }
        }
        return sets.sps.isEmpty || sets.pps.isEmpty ? nil : sets
    }

    /// From the next picture on no frame refers to those coded since `timestamp` (`i_pts`), inclusive.
    func invalidateReferences(since timestamp: Int64) {
        // Fails only with B-frames or intra refresh.
        _ = x264_encoder_invalidate_reference(pointer, timestamp)
    }

    /// Codes `picture` and returns its slices in AVCC form; nil if libx264 fails.
    func encode(_ picture: inout x264_picture_t) -> [UInt8]? {
        var units: UnsafeMutablePointer<x264_nal_t>?
        var count: CInt = 0
        var coded = x264_picture_t()
        let size = x264_encoder_encode(pointer, &units, &count, &picture, &coded)
        reconstruction = coded.img
        guard size > 0, let units, count > 0, let start = units[0].p_payload else { return nil }
        let all = UnsafeBufferPointer(start: units, count: Int(count))
        // libx264 stores the units one after the other.
        guard all.contains(where: { !$0.isSlice }) else {
            return [UInt8](UnsafeBufferPointer(start: start, count: Int(size)))
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(size))
        for unit in all where unit.isSlice {
            bytes.append(contentsOf: UnsafeBufferPointer(start: unit.p_payload, count: Int(unit.i_payload)))
        }
        return bytes.isEmpty ? nil : bytes
    }
}

extension x264_nal_t {
    /// Not a delimiter, filler, supplemental information or parameter set.
    fileprivate var isSlice: Bool {
        NALUnits.Kind(rawValue: UInt8(truncatingIfNeeded: i_type))?.isPicture == true
    }
}
