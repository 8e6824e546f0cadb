import BeamMedia
import CBeamCamera
import Glibc

/// A video device that takes pictures, from which other programs read them as from a camera: one of v4l2loopback.
///
/// The first picture decides the device's format, unless the person has fixed the size. It stays as it is, because the
/// device can't change it while a program reads; later pictures are fitted into it.
final class LoopbackDevice: CameraOutput {
    private let path: String
    private let size: CameraSize
    private let file: CInt
    private var picture: CameraPicture?

    /// - Throws: everything but `notWritten` that is about devices.
    init(path: String, size: CameraSize) throws(CameraError) {
        let file = beam_v4l2_open(path)
        guard file >= 0 else {
            let code = -file
            let isMissing = [ENOENT, ENXIO, ENODEV].contains(code)
            throw isMissing ? CameraError.noDevice(path: path) : CameraError.notOpened(path: path, code: code)
        }
        let trouble: CameraError? =
            switch beam_v4l2_kind_of(file) {
            case beam_v4l2_output: nil
            case beam_v4l2_taken: .taken(path: path)
            case beam_v4l2_no_output: .notOutput(path: path)
            default: .notVideo(path: path)
            }
        if let trouble {
            close(file)
            throw trouble
        }
        self.path = path
        self.size = size
        self.file = file
    }

    deinit { close(file) }

    func show(_ shown: Picture, isHidden: Bool) throws(CameraError) {
        let picture =
            if let picture { picture } else { CameraPicture(try format(for: size.size(for: shown.size))) }
        self.picture = picture
        picture.draw(isHidden ? nil : shown)
        try write(picture.bytes)
    }

    /// What most programs that read cameras take first.
    private static let layouts = [beam_layout_i420, beam_layout_nv12, beam_layout_yuyv]

    /// Agrees with the device. It may insist on another size, that of a program which reads already.
    private func format(for size: PixelSize) throws(CameraError) -> CameraLayout {
        var code: CInt?
        for layout in Self.layouts {
            var format = beam_v4l2_format(
                layout: layout, width: UInt32(size.width), height: UInt32(size.height), stride: 0, size: 0)
            let result = beam_v4l2_set_format(file, &format)
            if result < 0 {
                code = -result
            } else if let taken = Self.layout(format) {
                return taken
            }
        }
        throw .formatRefused(path: path, size: size, code: code)
    }

    private static let longestSide = 16384

    /// Nil: the device wants what can't be, or isn't known here.
    private static func layout(_ format: beam_v4l2_format) -> CameraLayout? {
        let size = PixelSize(width: Int(format.width), height: Int(format.height))
        let stride = Int(format.stride)
        guard let samples = CameraLayout.Samples(format.layout), (2...longestSide).contains(size.width),
            (2...longestSide).contains(size.height)
        else { return nil }
        let layout = CameraLayout(samples, size, stride: stride == 0 ? nil : stride)
        guard (CameraLayout.rowBytes(samples, size.width)...longestSide * 4).contains(layout.stride),
            format.size == 0 || layout.byteCount <= Int(format.size)
        else { return nil }
        return layout
    }

    /// One call writes one picture. A device that takes none at present misses it.
    private func write(_ bytes: UnsafeMutableRawBufferPointer) throws(CameraError) {
        while Glibc.write(file, bytes.baseAddress, bytes.count) < 0 {
            switch errno {
            case EINTR: continue
            case EAGAIN: return
            case let code: throw .notWritten(path: path, code: code)
            }
        }
    }
}
