import BeamLibAV
import BeamMedia
import CX264

/// The one owner of an `x264_t`.
final class X264Handle {
    private let pointer: OpaquePointer
    /// The pictures' size, for the library.
    let coded: PixelSize
    /// The last picture as a decoder has it, in the library's own memory: good until the next one is coded.
    private(set) var reconstruction = x264_image_t()

    /// Opens the library for pictures of an even size (or for 4:4:4 of any); nil when it refuses, or there is no memory.
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
        // Slices that are coded at once; without them a frame would wait for the next ones.
        parameters.i_threads = LibAV.sliceThreads
        parameters.b_sliced_threads = LibAV.sliceThreads > 1 ? 1 : 0
        parameters.i_keyint_max = X264_KEYINT_MAX_INFINITE
        parameters.i_scenecut_threshold = 0
        // Frames refer one back; the second picture is kept for a frame after one that nothing refers to. It isn't searched.
        parameters.i_frame_reference = 1
        parameters.i_dpb_size = CInt(ReferenceNumbers.keptPictures)
        parameters.b_repeat_headers = 0
        parameters.b_annexb = 0
        // With variable intervals the library would keep each frame back until it knows the next one's time.
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
        // Between its four luma samples, as the conversion averages them (H.264 figure E-1).
        parameters.vui.i_chroma_loc = chroma == .full ? 0 : 1
        // Each frame brings its quantiser. The library takes the range that it allows from what it would use for P, I and B
        // frames by itself; these factors make that everything from 0 to 51.
        parameters.rc.i_rc_method = X264_RC_CQP
        parameters.rc.i_qp_constant = 40
        parameters.rc.f_ip_factor = 0.01
        parameters.rc.f_pb_factor = 0.01
        // The library saves on 4:4:4's chroma, six steps of it, because there is more of it: but it is what the person asked for.
        if chroma == .full { parameters.analyse.i_chroma_qp_offset = -6 }
        // The preset's CAVLC stays: CABAC would win 14 % of the bits where much moves, and cost up to 3.5 ms in the decoder of a
        // 1080p picture. Intra prediction of 4 × 4 blocks wins 14 % of a keyframe of text; in other frames it would win 4 %
        // and cost 15 % of the time.
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

    /// From the next picture on nothing refers to the frames coded since `timestamp` (`i_pts`), which is included.
    func forget(since timestamp: Int64) {
        // Fails only with B-frames or intra refresh.
        _ = x264_encoder_invalidate_reference(pointer, timestamp)
    }

    /// Codes `picture` and returns its slices in AVCC form; nil when the library fails.
    func encode(_ picture: inout x264_picture_t) -> [UInt8]? {
        var units: UnsafeMutablePointer<x264_nal_t>?
        var count: CInt = 0
        var coded = x264_picture_t()
        let size = x264_encoder_encode(pointer, &units, &count, &picture, &coded)
        reconstruction = coded.img
        guard size > 0, let units, count > 0, let start = units[0].p_payload else { return nil }
        let all = UnsafeBufferPointer(start: units, count: Int(count))
        // The library puts them one behind the other.
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
    /// Not a delimiter, filler, supplemental information or a parameter set.
    fileprivate var isSlice: Bool {
        NALUnits.Kind(rawValue: UInt8(truncatingIfNeeded: i_type))?.isPicture == true
    }
}
