import ArgumentParser
import BeamCapture
import BeamMeasure
import BeamMedia
import BeamTerminal
import Foundation
import Glibc

/// `beamroom measure`.
struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measures latency, picture quality, sound and cost of sharing, and writes a report.",
        discussion: """
            Host and viewer run on this machine, for each size, rate and content. With --host, only the viewer does: run \
            `beamroom share --source pattern` on the other machine, with the size, rate and content to measure.
            """)

    @Option(help: ArgumentHelp("Sizes, separated by commas.", valueName: "WxH,…"))
    var sizes = OptionList([PixelSize(width: 1280, height: 720), PixelSize(width: 1920, height: 1080)])
    @Option(help: ArgumentHelp("Frames a second, separated by commas.", valueName: "fps,…"))
    var rates = OptionList([30.0, 60])
    @Option(help: "What the test pattern shows, separated by commas: chart, still (a desktop), scroll (text), video.")
    var contents = OptionList([PatternContent.still, .scroll, .video])
    @Option(
        help: ArgumentHelp(
            "Stream these recordings instead of the test pattern, separated by commas.", valueName: "file.y4m,…"))
    var recording: OptionList<String>?
    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp("Bits a second, as in 8M or 800k. (default: 10M)", valueName: "rate"),
        transform: BitRate.reading(OptionText.bitRate))
    var videoBitRate: BitRate?
    @Option(help: ArgumentHelp("The host's encoder, as for `share`.", valueName: "name"))
    var videoEncoder: String?
    @Option(help: ArgumentHelp("The viewer's decoder, as for `watch`.", valueName: "name"))
    var videoDecoder: String?
    @Option(help: ArgumentHelp("The time measured in each repetition.", valueName: "seconds"))
    var seconds = 8.0
    @Option(name: .customLong("repeat"), help: ArgumentHelp("Number of repetitions.", valueName: "times"))
    var repetitions = 3

    @Option(
        help: ArgumentHelp("Watch this host, which already shares the test pattern.", valueName: "address"))
    var host: String?
    @OptionGroup var code: CodeOptions
    @Flag(help: "Watch with a window on $DISPLAY, and include it in the latency.")
    var window = false

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The directory for results.jsonl and report.html. It must not contain them yet. (default: measure-DATE-TIME)",
            valueName: "dir"))
    var output: String?
    @Option(
        help: ArgumentHelp("Compare with the results of an earlier run.", valueName: "results.jsonl"))
    var against: String?
    @Flag(help: "Write one JSON object a line on standard output. Messages for people go to standard error.")
    var json = false

    func validate() throws {
        guard (0.5...3600).contains(seconds) else {
            throw ValidationError("--seconds takes a number from 0.5 to 3600.")
        }
        guard (1...1000).contains(repetitions) else { throw ValidationError("--repeat takes a number from 1 to 1000.") }
        for rate in rates.values where !(1...240).contains(rate) {
            throw ValidationError("--rates takes numbers from 1 to 240.")
        }
        for size in sizes.values where size.width < 320 || size.height < 180 {
            throw ValidationError(
                "\(size) is too small (--sizes): pictures below 320x180 carry no number, so they can't be compared.")
        }
        if host == nil, code.code != nil || code.codeFile != nil {
            throw ValidationError("--code and --code-file need --host.")
        }
        if host != nil, recording != nil || videoEncoder != nil || videoBitRate != nil {
            throw ValidationError(
                "With --host, that host decides what is streamed: leave --recording, --video-encoder and --video-bit-rate out."
            )
        }
        if let host, host.isEmpty || host.hasPrefix("-") { throw ValidationError("--host takes an address.") }
        if window, (ProcessInfo.processInfo.environment["DISPLAY"] ?? "").isEmpty {
            throw ValidationError("--window needs a display: DISPLAY isn't set.")
        }
    }

    func run() throws {
        let context = CommandContext(json: json)
        defer { context.close() }
        let endings = EndingSources(context.latch, timeLimit: nil)
        defer { withExtendedLifetime(endings) {} }
        do {
            try measure(context)
        } catch let exit as ExitStatus {
            throw exit
        } catch {
            context.console.finish()
            try context.conclude(.failed("\(error)"))
        }
    }

    private func measure(_ context: CommandContext) throws {
        // Find errors in the options before minutes of measuring.
        let cells = try cells()
        let old = try against.map { path throws(MeasureError) in try ResultsFile.read(path) }
        if let old, let against, host == nil {
            try MeasureOutput.checkCommonCells(cells, old, path: against)
        }
        let output = try MeasureOutput(output ?? MeasureOutput.defaultDirectory)
        let scratch = try ScratchDirectory()
        defer { scratch.remove() }
        let plan = MeasurePlan(
            cells: cells, repetitions: repetitions, seconds: seconds, encoder: videoEncoder, decoder: videoDecoder,
            codeFile: try codeFile(in: scratch), program: OwnProgram.path,
            version: Beamroom.configuration.version, scratch: scratch.path)
        let measurement = MeasureRun(plan)
        context.latch.whenEnded { measurement.cancel() }
        let progress = MeasureProgress(context.console, repetitions: repetitions)
        let ticker = context.console.isTerminal ? EverySecond { progress.redraw() } : nil
        defer { ticker?.cancel() }
        var records: [MeasureRecord] = []
        let failures: [MeasureRun.Failure]
        do {
            failures = try measurement.run(
                onProgress: { progress.show($0) },
                onRecord: { record throws(MeasureError) in
                    try output.append(record)
                    records.append(record)
                    progress.tell(record)
                    context.events.write(record)
                })
        } catch {
            // So that the next try can use the same directory.
            if records.isEmpty { output.discard() }
            throw error
        }
        ticker?.cancel()
        progress.finish()
        try conclude(context, output, records, old: old, failures, isCancelled: measurement.isCancelled)
    }

    /// Writes the report and the terminal's output.
    private func conclude(
        _ context: CommandContext, _ output: MeasureOutput, _ records: [MeasureRecord], old: [MeasureRecord]?,
        _ failures: [MeasureRun.Failure], isCancelled: Bool
    ) throws {
        var comparison: Comparison?
        if let old, let against, !records.isEmpty {
            do {
                comparison = try Comparison(records, to: old, path: against)
            } catch {
                context.console.say("beamroom: \(error)")
            }
        }
        let plots = Gnuplot()
        let report = Report(records, comparison: comparison, failures: failures, isCancelled: isCancelled)
        try output.write(report: report.html(plots: plots))
        context.events.write(comparison)
        context.events.write(.measure(.report(results: output.resultsPath, path: output.reportPath)))
        if !json, !records.isEmpty {
            Console.list(TextTable.summary(records))
            if let comparison { Console.list("\nAgainst \(comparison.path):\n\(TextTable.comparison(comparison))") }
        }
        if plots == nil {
            context.console.say(
                "The report has no plots, because gnuplot isn't installed (Debian: apt-get install "
                    + "\(Gnuplot.package)).")
        }
        context.console.say("Results: \(output.resultsPath). Report: \(output.reportPath).")
        for failure in failures {
            context.console.say("beamroom: \(failure.cell) couldn't be measured. \(failure.error)")
        }
        if !failures.isEmpty || against != nil && comparison == nil && !isCancelled { throw ExitStatus(1) }
        if isCancelled { context.console.say("The measurement was interrupted. The results up to then are kept.") }
    }

    private func cells() throws -> [MeasureCell] {
        if let host { return [MeasureCell(source: .host(host), bitRate: nil, hasWindow: window)] }
        let bitRate = videoBitRate?.bitsPerSecond ?? 10_000_000
        guard let recording else {
            return MeasureCell.matrix(
                sizes: sizes.values, frameRates: rates.values, contents: contents.values, bitRate: bitRate,
                hasWindow: window)
        }
        return try recording.values.map { path in
            let facts = try RecordingFacts(path: path)
            return MeasureCell(
                source: .recording(path: path, size: facts.size, frameRate: facts.frameRate), bitRate: bitRate,
                hasWindow: window)
        }
    }

    /// The viewers read the code from a file, so that it isn't in the process list.
    private func codeFile(in scratch: ScratchDirectory) throws -> String? {
        guard let code = try code.read() else { return nil }
        return try scratch.write(code.description + "\n", to: "code")
    }
}

/// `a,b,c`.
struct OptionList<Element: ExpressibleByArgument>: ExpressibleByArgument {
    var values: [Element]

    init(_ values: [Element]) { self.values = values }

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        values = parts.compactMap { Element(argument: String($0)) }
        guard !values.isEmpty, values.count == parts.count else { return nil }
    }

    var defaultValueDescription: String { values.map(\.defaultValueDescription).joined(separator: ",") }
}
