import BeamCamera
import BeamCodec
import BeamWords

/// The files that a viewer writes, and the cameras that it makes, each on a thread of its own.
struct ViewerFiles: Sendable {
    /// The frame rate in the header of a picture file. Pictures come when the screen changes, which the format can't
    /// express.
    private static let nominalFrameRate = 30.0

    let recorder: BackgroundRecorder?
    let pictures: BackgroundPictures?
    let sound: BackgroundSoundFile?
    let transcript: TranscriptFile?
    let cameras: [Camera]

    /// Something gets the decoded pictures or the stream itself, and not what the window makes of them.
    var haveVideo: Bool { recorder != nil || pictures != nil || !cameras.isEmpty }

    /// Creates those that the options ask for. `askForKeyframe` is called when a recording can go on after a gap.
    init(
        _ options: ViewerOptions, _ onNotice: @escaping @Sendable (ViewerNotice) -> Void,
        askForKeyframe: @escaping @Sendable () -> Void
    ) throws {
        cameras = try options.cameras.map { place throws in
            try Camera(place, size: options.cameraSize, handlers: Self.handlers(place, onNotice))
        }
        recorder = try options.recordPath.map { path throws in
            let handlers = Self.handlers(.recording, onNotice)
            return try BackgroundRecorder(
                path: path, captions: true, sound: .ifExpected, clock: { .now },
                handlers: BackgroundRecorder.Handlers(
                    onFile: handlers.onFile, onGap: { handlers.onBehind(path) }, onKeyframeNeeded: askForKeyframe,
                    onFailure: handlers.onFailure))
        }
        pictures = try options.framesPath.map { path throws in
            try BackgroundPictures(
                path: path, frameRate: Self.nominalFrameRate, handlers: Self.handlers(.frames, onNotice))
        }
        sound = try options.sound.path.map { path throws in
            try BackgroundSoundFile(path: path, handlers: Self.handlers(.sound, onNotice))
        }
        transcript = try options.transcriptPath.map { path in
            try TranscriptFile(path: path) {
                onNotice(.fileFailed(OutputPath(kind: .transcript, path: path), reason: $0.description))
            }
        }
    }

    private static func handlers(
        _ kind: OutputPath.Kind, _ onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) -> BackgroundHandlers {
        BackgroundHandlers(
            onFile: { onNotice(.writing(OutputPath(kind: kind, path: $0), isContinued: $1)) },
            onBehind: { onNotice(.fileBehind(OutputPath(kind: kind, path: $0))) },
            onCaughtUp: { onNotice(.fileCaughtUp(OutputPath(kind: kind, path: $0), leftOut: $1)) },
            onFailure: { onNotice(.fileFailed(OutputPath(kind: kind, path: $0), reason: $1.description)) })
    }

    private static func handlers(
        _ place: Camera.Place, _ onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) -> Camera.Handlers {
        let path =
            switch place {
            case .device(let path): path
            case .desktop(let name): name
            }
        let camera = OutputPath(kind: .camera, path: path)
        return Camera.Handlers(
            onShown: { onNotice(.writing(camera, isContinued: false)) },
            onLost: {
                onNotice(
                    .warning("The camera “\(path)” is gone, because PipeWire has ended. It comes back by itself."))
            },
            onFailure: { onNotice(.fileFailed(camera, reason: $0.description)) })
    }
}
