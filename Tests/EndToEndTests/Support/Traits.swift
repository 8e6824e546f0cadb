import Testing

extension Trait where Self == ConditionTrait {
    static var needsProgram: Self {
        .enabled(if: Program.isBuilt, "beamroom isn't built: run `swift build`, or name it in BEAMROOM")
    }

    static var needsXServer: Self { .enabled(if: XServer.isAvailable, "Xvfb isn't installed (package xvfb)") }

    static var needsFFmpeg: Self {
        .enabled(if: RecordedStream.isAvailable, "ffmpeg and ffprobe aren't installed (package ffmpeg)")
    }

    static var needsXdotool: Self { .enabled(if: Tool.exists("xdotool"), "xdotool isn't installed (package xdotool)") }
}
