import BeamMedia
import CAVCodec

/// What all users of the libav libraries share.
enum LibAV {
    /// Keeps the libraries from writing to standard error by themselves: what they report comes back as errors.
    static let quietened: Void = av_log_set_level(AV_LOG_QUIET)

    /// The library's words for an error code.
    static func message(_ code: CInt) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard av_strerror(code, &text, text.count) >= 0 else { return "error \(code)" }
        return OutputFile.words(text)
    }

    /// The largest side of a picture, in pixels, that is encoded or decoded.
    static let longestSide = 8192

    /// The most pixels of a coded picture: H.264's highest level (6.2, table A-1) allows 139,264 macroblocks.
    static let mostPixels: Int64 = 139_264 * 256

    static func isSupported(_ size: PixelSize) -> Bool {
        (1...longestSide).contains(size.width) && (1...longestSide).contains(size.height)
            && Int64(size.area) <= mostPixels
    }

    /// Threads that share the slices of one frame: more than four save nothing at the sizes of screens.
    static let sliceThreads = CInt(max(1, min(4, av_cpu_count())))
}

/// The one owner of an `AVFrame`.
final class Frame {
    let pointer: UnsafeMutablePointer<AVFrame>

    /// Nil when there is no memory.
    init?() {
        guard let pointer = av_frame_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = pointer
        av_frame_free(&pointer)
    }

    /// Lends `buffer`'s memory to this frame, without copying, as `format` of `size` samples. The frame, and any reference
    /// that a library takes to it, keeps the buffer alive.
    ///
    /// `planes` stand in for the buffer's own where given.
    func lend(_ buffer: PixelBuffer, format: AVPixelFormat, size: PixelSize, planes: [Plane]? = nil) -> Bool {
        av_frame_unref(pointer)
        let planes = planes ?? buffer.planes
        let holder = Unmanaged.passRetained(buffer)
        let lent = av_buffer_create(
            planes[0].base.assumingMemoryBound(to: UInt8.self), planes[0].stride * size.height,
            { holder, _ in
                if let holder { Unmanaged<PixelBuffer>.fromOpaque(holder).release() }
            }, holder.toOpaque(), 0)
        guard let lent else {
            holder.release()
            return false
        }
        pointer.pointee.buf.0 = lent
        pointer.pointee.format = format.rawValue
        pointer.pointee.width = CInt(size.width)
        pointer.pointee.height = CInt(size.height)
        withUnsafeMutablePointer(to: &pointer.pointee.data) { data in
            data.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 8) { data in
                for (index, plane) in planes.enumerated() {
                    data[index] = plane.base.assumingMemoryBound(to: UInt8.self)
                }
            }
        }
        withUnsafeMutablePointer(to: &pointer.pointee.linesize) { strides in
            strides.withMemoryRebound(to: CInt.self, capacity: 8) { strides in
                for (index, plane) in planes.enumerated() { strides[index] = CInt(plane.stride) }
            }
        }
        return true
    }
}

/// The one owner of an `AVPacket`.
final class Packet {
    let pointer: UnsafeMutablePointer<AVPacket>

    /// Nil when there is no memory.
    init?() {
        guard let pointer = av_packet_alloc() else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&pointer)
    }
}

/// The one owner of an `AVCodecContext`.
final class CodecContext {
    let pointer: UnsafeMutablePointer<AVCodecContext>

    /// Nil when there is no memory.
    init?(_ codec: UnsafePointer<AVCodec>) {
        guard let pointer = avcodec_alloc_context3(codec) else { return nil }
        self.pointer = pointer
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVCodecContext>? = pointer
        avcodec_free_context(&pointer)
    }
}

/// Options by name for a library call, freed at the end of the scope.
struct Options: ~Copyable {
    var dictionary: OpaquePointer?

    init(_ values: KeyValuePairs<String, String>) {
        for (name, value) in values { av_dict_set(&dictionary, name, value, 0) }
    }

    deinit {
        var dictionary = dictionary
        av_dict_free(&dictionary)
    }
}

extension ColourDescription {
    var space: AVColorSpace {
        switch matrix {
        case .bt709: AVCOL_SPC_BT709
        case .bt601: AVCOL_SPC_SMPTE170M
        case .bt2020: AVCOL_SPC_BT2020_NCL
        }
    }

    /// swscale's number for the matrix's coefficients.
    var swsSpace: CInt {
        switch matrix {
        case .bt709: SWS_CS_ITU709
        case .bt601: SWS_CS_ITU601
        case .bt2020: SWS_CS_BT2020
        }
    }
}
