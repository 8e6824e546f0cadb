import BeamMedia
import Glibc

/// Why a camera can't be had, or has ended.
public enum CameraError: Error, Equatable, Sendable, CustomStringConvertible {
    case noDevice(path: String)
    case notOpened(path: String, code: CInt)
    /// It is no video device.
    case notVideo(path: String)
    /// A camera, into which nothing can be written.
    case notOutput(path: String)
    /// A loopback device into which another program writes.
    case taken(path: String)
    /// The device takes no layout that is offered, or says what can't be.
    case formatRefused(path: String, size: PixelSize, code: CInt?)
    case notWritten(path: String, code: CInt)
    case noLibrary(reason: String)
    case noPipeWire(reason: String)

    /// A sentence for the person.
    public var description: String {
        switch self {
        case .noDevice(let path):
            "There is no \(path). Load the kernel's module that makes such devices: "
                + "`\(Self.loading(path))` (Debian: package v4l2loopback-dkms)."
        case .notOpened(let path, EACCES), .notOpened(let path, EPERM):
            "This user may not write into \(path): add it to the group video (`sudo adduser $USER video`), and log in again."
        case .notOpened(let path, EBUSY):
            "\(path) is in use by as many programs as it takes. End one of them, or use another device."
        case .notOpened(let path, let code): "\(path) can't be opened: \(Self.text(code))."
        case .notVideo(let path):
            "\(path) isn't a video device. `v4l2-ctl --list-devices` lists them; "
                + "`\(Self.loading("/dev/video10"))` makes one for pictures."
        case .notOutput(let path):
            "\(path) is a camera, into which no pictures can be written. Use a device of the module v4l2loopback: "
                + "`\(Self.loading("/dev/video10"))` makes /dev/video10."
        case .taken(let path):
            "Another program writes into \(path) already. End that program, or use another device."
        case .formatRefused(let path, let size, EBUSY):
            "\(path) is in use, so that it can't take pictures of \(size). End the programs that have it open, or use "
                + "another device."
        case .formatRefused(let path, let size, let code):
            "\(path) takes no pictures of \(size) in a layout that is known here\(code.map { ": \(Self.text($0))" } ?? ""). "
                + "Give it a smaller size with --camera-size, or load the module anew: "
                + "`sudo modprobe -r v4l2loopback && \(Self.loading(path))`."
        case .notWritten(let path, EBUSY):
            "Another program writes into \(path) meanwhile. End that program, or use another device."
        case .notWritten(let path, ENODEV): "\(path) is gone: its module was unloaded."
        case .notWritten(let path, let code): "\(path) takes no more pictures: \(Self.text(code))."
        case .noLibrary(let reason):
            "A camera for the desktop's programs needs the library of PipeWire, which can't be used: \(reason). Install "
                + "libpipewire-0.3-0."
        case .noPipeWire(let reason):
            "PipeWire, through which the desktop's programs find cameras, can't be reached: \(reason). Start it with "
                + "“systemctl --user start pipewire wireplumber”, or use --v4l2."
        }
    }

    /// The command that makes the device.
    private static func loading(_ path: String) -> String {
        let number = path.hasPrefix("/dev/video") ? Int(path.dropFirst("/dev/video".count)) : nil
        return "sudo modprobe v4l2loopback exclusive_caps=1 card_label=BeamRoom"
            + (number.map { " video_nr=\($0)" } ?? "")
    }

    static func text(_ code: CInt) -> String { String(cString: strerror(code)) }
}
