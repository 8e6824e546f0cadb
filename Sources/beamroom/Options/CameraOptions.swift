import ArgumentParser
import BeamCamera
import BeamMedia

/// How other programs see what is watched: as a camera.
struct CameraOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Show the picture to programs of this desktop as a camera of this name (PipeWire).", valueName: "name"))
    var camera: String?
    @Option(
        help: ArgumentHelp(
            "Write the picture into a device of the kernel's module v4l2loopback, which programs read as a camera.",
            valueName: "device"))
    var v4l2: String?
    @Option(
        help: ArgumentHelp(
            "The size of the camera's pictures (default: the picture's; of a device, that of the first one).",
            valueName: "WxH"), transform: PixelSize.reading(OptionText.size))
    var cameraSize: PixelSize?

    func validate() throws {
        try ValidationError.check(name: camera, of: "--camera")
        if let v4l2, v4l2.isEmpty { throw ValidationError("--v4l2 takes the path of a device, as in /dev/video10.") }
        if cameraSize != nil, places.isEmpty {
            throw ValidationError("--camera-size is of a camera: add --camera NAME or --v4l2 DEVICE.")
        }
    }

    var places: [Camera.Place] {
        [v4l2.map { .device(path: $0) }, camera.map { .desktop(name: ShownText.line($0)) }].compactMap { $0 }
    }
}
