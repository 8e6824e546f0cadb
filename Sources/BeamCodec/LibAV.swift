import BeamLibAV
import BeamMedia
import CAVCodec

extension LibAV {
    /// Whether pictures of this size are encoded and decoded.
    static func isSupported(_ size: PixelSize) -> Bool {
        size.width >= 1 && size.height >= 1 && PictureBounds.possible.contains(size)
    }

    /// Threads for the slices of one frame. More than four save nothing at screen sizes.
    static let sliceThreads = CInt(max(1, min(4, av_cpu_count())))
}

extension FrameHandle {
    /// Makes this frame refer to `buffer`'s memory, without a copy, as `format` of `size` samples. The frame, and any
    /// reference that a library takes to it, retains the buffer.
    ///
    /// `planes` replace the buffer's own if given.
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

extension UnsafeMutablePointer<AVCodecParameters> {
    /// Copies `bytes` into the parameters, which have no extradata yet. False without memory.
    func setExtradata(_ bytes: [UInt8]) -> Bool {
        guard let extradata = av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return false }
        bytes.withUnsafeBytes {
            if let base = $0.baseAddress { extradata.copyMemory(from: base, byteCount: $0.count) }
        }
        pointee.extradata = extradata.assumingMemoryBound(to: UInt8.self)
        pointee.extradata_size = CInt(bytes.count)
        return true
    }
}

/// Options for a library call, freed at the end of the scope.
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

    /// swscale's constant for the matrix.
    var swsSpace: CInt {
        switch matrix {
        case .bt709: SWS_CS_ITU709
        case .bt601: SWS_CS_ITU601
        case .bt2020: SWS_CS_BT2020
        }
    }
}
