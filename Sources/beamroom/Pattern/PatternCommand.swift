import ArgumentParser
import BeamCapture
import BeamCodec
import BeamMedia
import BeamTerminal

/// `beamroom pattern`.
struct PatternCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pattern", abstract: "Writes the test pattern into a file, bit-identical on every machine.")

    @Argument(help: ArgumentHelp("The file to write (.y4m).", valueName: "out.y4m"))
    var path: String
    @Option(
        help: ArgumentHelp("Width and height in pixels.", valueName: "WxH"),
        transform: PixelSize.reading(OptionText.size))
    var size = PixelSize(width: 1280, height: 720)
    @Option(help: ArgumentHelp("Frames a second.", valueName: "fps"))
    var fps = 30.0
    @Option(help: ArgumentHelp("Duration.", valueName: "seconds"))
    var seconds = 10.0
    @Option(help: "What it shows: chart, still (a desktop), scroll (text) or video.")
    var content = PatternContent.chart

    func validate() throws {
        guard path.lowercased().hasSuffix(".y4m") else {
            throw ValidationError(
                "\(Console.printable(path)) doesn't end in .y4m, which is the only format that `pattern` writes. Other "
                    + "programs convert it, for example `ffmpeg -i pattern.y4m pattern.mp4`.")
        }
        guard (1...240).contains(fps) else { throw ValidationError("--fps takes \(OptionText.frameRate).") }
        guard seconds > 0, seconds <= 3600 else {
            throw ValidationError("--seconds takes a number above 0, at most 3600.")
        }
    }

    func run() throws {
        let context = CommandContext(json: false)
        defer { context.close() }
        do {
            let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: fps, content: content))
            let writer = try Y4MWriter(path: path, frameRate: fps)
            for number in 0..<max(1, Int((seconds * fps).rounded())) {
                try writer.write(renderer.picture(number))
            }
            try writer.finish()
        } catch {
            try context.conclude(.failed("\(error)"))
        }
    }
}

extension PatternContent: ExpressibleByArgument {}
