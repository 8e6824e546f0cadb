import BeamCapture
import BeamMedia
import Dispatch
import Foundation
import Glibc

/// Runs a host and a viewer from start to end, for timing, or for comparing pictures or sound. Used by one thread.
final class Pass {
    /// In seconds: the timeout for events that normally take a fraction of a second.
    private static let eventTimeoutSeconds = 20.0
    private static let hostNumber = 1
    private static let viewerNumber = 2
    /// The number of a process's last output lines that are kept.
    private static let wordsKept = 6

    private let cell: MeasureCell
    private let plan: MeasurePlan
    private let mailbox: Mailbox
    /// Passes on the output of a remote host's viewer.
    private let onWords: (String) -> Void

    private var host: ChildProgram?
    private var viewer: ChildProgram?
    private var events: [Int: [ProgramEvent]] = [:]
    private var words: [Int: [String]] = [:]
    private var endings: [Int: ChildProgram.Ending] = [:]

    init(_ cell: MeasureCell, _ plan: MeasurePlan, _ mailbox: Mailbox, onWords: @escaping (String) -> Void) {
        self.cell = cell
        self.plan = plan
        self.mailbox = mailbox
        self.onWords = onWords
    }

    // MARK: Starting

    /// Starts a host unless one is running already. Returns its address.
    private func startHost(for seconds: Double) throws(MeasureError) -> String {
        let source: [String]
        switch cell.source {
        case .host(let address): return address
        case .pattern(let options):
            source = [
                "pattern", "--content", options.content.rawValue, "--size", options.size.description, "--max-fps",
                "\(options.frameRate)",
            ]
        case .recording(let path, _, _): source = [path]
        }
        // What the person has set for other times isn't measured.
        var arguments = ["share", "--no-config", "--json", "--source"] + source
        arguments += [
            "--no-discovery", "--bind", "127.0.0.1", "--port", "0", "--media-port", "0", "--accept", "all",
            "--name", "beamroom measure", "--time-limit", "\(seconds + 60)",
        ]
        if let rate = cell.bitRate { arguments += ["--video-bit-rate", "\(rate)"] }
        if let encoder = plan.encoder { arguments += ["--video-encoder", encoder] }
        host = try ChildProgram(
            plan.program, arguments, environment: ["XDG_STATE_HOME": plan.scratch + "/host"],
            number: Self.hostNumber, mailbox: mailbox)
        let ready = try event("ready", of: Self.hostNumber, "The host didn't start")
        guard let port = ready.count("port") else {
            throw .cannotStart(program: "The host", reason: "it reports no port")
        }
        return "127.0.0.1:\(port)"
    }

    /// Starts a viewer. Returns when its first picture has come.
    private func startViewer(
        of address: String, for seconds: Double, _ more: [String]
    ) throws(MeasureError) -> ProgramEvent {
        // Whatever it plays goes nowhere: nobody hears it, and no sound server is needed.
        var environment = ["SDL_AUDIODRIVER": "dummy"]
        if cell.isHere { environment["XDG_STATE_HOME"] = plan.scratch + "/viewer" }
        var arguments = ["watch", address, "--no-config", "--json", "--time-limit", "\(seconds + 60)"]
        if !cell.hasWindow { arguments.append("--no-window") }
        if let decoder = plan.decoder { arguments += ["--video-decoder", decoder] }
        if let file = plan.codeFile { arguments += ["--code-file", file] }
        arguments += more
        viewer = try ChildProgram(
            plan.program, arguments, environment: environment, number: Self.viewerNumber, mailbox: mailbox)
        // With a remote host, a person may have to admit the viewer, so wait longer.
        return try event(
            "first-frame", of: Self.viewerNumber, "No picture came",
            within: cell.isHere ? Self.eventTimeoutSeconds : 60)
    }

    // MARK: What happens

    private func record(_ message: Mailbox.Message) {
        switch message {
        case .line(let number, let line):
            if let event = ProgramEvent(line: line) { events[number, default: []].append(event) }
        case .words(let number, let text):
            words[number, default: []].append(text)
            if words[number, default: []].count > Self.wordsKept { words[number]?.removeFirst() }
            if !cell.isHere, number == Self.viewerNumber { onWords(text) }
        case .ended(let number, let ending): endings[number] = ending
        }
    }

    private static func name(_ number: Int) -> String { number == hostNumber ? "host" : "viewer" }

    private func said(_ number: Int) -> String { (words[number] ?? []).joined(separator: "\n") }

    private func event(
        _ name: String, of number: Int, _ what: String, within seconds: Double = Pass.eventTimeoutSeconds
    ) throws(MeasureError) -> ProgramEvent {
        let deadline = DispatchTime.now() + seconds
        while true {
            if let event = events[number]?.first(where: { $0.name == name }) { return event }
            try checkNoneEnded()
            guard let message = try mailbox.take(until: deadline) else {
                throw .nothingCame(what: what, seconds: seconds, words: said(number))
            }
            record(message)
        }
    }

    private func checkNoneEnded() throws(MeasureError) {
        for (number, ending) in endings.sorted(by: { $0.key < $1.key }) {
            throw .ended(who: Self.name(number), ending: ending.description, words: said(number))
        }
    }

    /// Lets host and viewer run for some time.
    private func run(for seconds: Double) throws(MeasureError) {
        let deadline = DispatchTime.now() + seconds
        while let message = try mailbox.take(until: deadline) {
            record(message)
            try checkNoneEnded()
        }
    }

    /// Ends a process with SIGINT. Returns its summary.
    private func finish(_ child: ChildProgram) throws(MeasureError) -> ProgramEvent {
        child.signal(SIGINT)
        let number = child.number
        let deadline = DispatchTime.now() + Self.eventTimeoutSeconds
        while endings[number] == nil {
            guard let message = try mailbox.take(until: deadline) else {
                throw .nothingCame(
                    what: "The \(Self.name(number)) didn't end", seconds: Self.eventTimeoutSeconds, words: said(number))
            }
            record(message)
        }
        guard endings[number] == .exited(0), let summary = events[number]?.last(where: { $0.name == "summary" }) else {
            throw .ended(
                who: Self.name(number), ending: endings[number]?.description ?? "", words: said(number))
        }
        return summary
    }

    /// Ends all processes: with SIGINT if possible, otherwise by killing them.
    func end() {
        for child in [viewer, host].compactMap({ $0 }) where endings[child.number] == nil { child.signal(SIGINT) }
        let deadline = DispatchTime.now() + 5
        for child in [viewer, host].compactMap({ $0 }) {
            while endings[child.number] == nil, let message = mailbox.takeLast(until: deadline) { record(message) }
        }
        // Processes still running are killed by `ChildProgram.deinit`.
        viewer = nil
        host = nil
        while let message = mailbox.takeLast(until: .now()) { record(message) }
    }

    // MARK: The passes

    /// The result of a latency pass.
    struct Timing {
        var firstFrame: ProgramEvent
        var viewerEvents: [ProgramEvent]
        var viewer: ProgramEvent
        var host: ProgramEvent?
        var hostEvents: [ProgramEvent]
        /// The viewer got some.
        var hasSound: Bool { viewer.sound("packets") ?? 0 > 0 }
        var viewerUsage: MeasureRecord.Usage
        var hostUsage: MeasureRecord.Usage?
        var othersPercent: Double?
    }

    /// Streams for `plan.seconds` and collects the reports of host and viewer.
    func time() throws(MeasureError) -> Timing {
        let address = try startHost(for: plan.seconds)
        // Even if the host is this machine, and without a window.
        let firstFrame = try startViewer(of: address, for: plan.seconds, ["--audio-output", "default"])
        try run(for: 0.3)
        let before = Usages(host?.pid, viewer?.pid)
        try run(for: plan.seconds)
        let after = Usages(host?.pid, viewer?.pid)
        guard let viewer, let usage = after.usage(\.viewer, since: before) else {
            throw .ended(who: "viewer", ending: "no exit status", words: said(Self.viewerNumber))
        }
        let summary = try finish(viewer)
        var hostSummary: ProgramEvent?
        if let host { hostSummary = try finish(host) }
        return Timing(
            firstFrame: firstFrame, viewerEvents: events[Self.viewerNumber] ?? [], viewer: summary, host: hostSummary,
            hostEvents: events[Self.hostNumber] ?? [], viewerUsage: usage,
            hostUsage: after.usage(\.host, since: before), othersPercent: after.others(since: before))
    }

    /// Streams for `plan.qualitySeconds` and compares the viewer's pictures with the originals.
    func compare(with reference: sending any PictureReference) throws(MeasureError) -> QualityMeter.Outcome {
        let pipe = plan.scratch + "/pictures.y4m"
        unlink(pipe)
        defer { unlink(pipe) }
        let meter = try QualityMeter(pipe: pipe, reference: reference)
        do throws(MeasureError) {
            let seconds = plan.qualitySeconds + QualityMeter.settling.inSeconds
            let address = try startHost(for: seconds)
            _ = try startViewer(of: address, for: seconds, ["--no-audio", "--frames", pipe])
            try run(for: seconds)
            if let viewer { _ = try finish(viewer) }
            if let host { _ = try finish(host) }
        } catch {
            // End the pipe's writer first, so that the reader ends too.
            end()
            _ = meter.finish()
            throw error
        }
        return meter.finish()
    }

    /// Streams for `plan.soundSeconds` into a recording, and reads it.
    func recordSound() throws(MeasureError) -> RecordedPattern {
        // The recording may go on in further files.
        let directory = plan.scratch + "/recording"
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        } catch {
            throw .file(path: directory, reason: "this directory can't be made")
        }
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/sound.mkv"
        let address = try startHost(for: plan.soundSeconds)
        _ = try startViewer(of: address, for: plan.soundSeconds, ["--no-audio", "--record", path])
        try run(for: plan.soundSeconds)
        if let viewer { _ = try finish(viewer) }
        if let host { _ = try finish(host) }
        do throws(CaptureError) {
            return try RecordedPattern(path: path)
        } catch {
            throw .file(path: path, reason: "the viewer's recording can't be read (\(error.description))")
        }
    }

    /// Runs until the first picture, which pairs host and viewer.
    func pair() throws(MeasureError) {
        let address = try startHost(for: 1)
        _ = try startViewer(of: address, for: 1, ["--no-audio"])
        if let viewer { _ = try finish(viewer) }
        if let host { _ = try finish(host) }
    }
}

/// Resource usage of host, viewer and machine up to a moment.
private struct Usages {
    let moment = DispatchTime.now()
    let host: ProcessorTimes?
    let viewer: ProcessorTimes?
    let machine = ProcessorTimes.ofMachine()

    init(_ host: pid_t?, _ viewer: pid_t?) {
        self.host = host.flatMap { ProcessorTimes(of: $0) }
        self.viewer = viewer.flatMap { ProcessorTimes(of: $0) }
    }

    private func seconds(since earlier: Usages) -> Double {
        max(0.001, Double(moment.uptimeNanoseconds - earlier.moment.uptimeNanoseconds) / 1e9)
    }

    func usage(_ process: KeyPath<Usages, ProcessorTimes?>, since earlier: Usages) -> MeasureRecord.Usage? {
        guard let now = self[keyPath: process], let then = earlier[keyPath: process] else { return nil }
        return MeasureRecord.Usage(
            processorPercent: max(0, 100 * (now.own - then.own) / seconds(since: earlier)),
            peakMemoryMB: now.peakMemoryMB)
    }

    func others(since earlier: Usages) -> Double? {
        guard let machine, let before = earlier.machine else { return nil }
        let ours = [host, viewer].compactMap { $0?.own }.reduce(0, +)
        let oursBefore = [earlier.host, earlier.viewer].compactMap { $0?.own }.reduce(0, +)
        return max(0, 100 * (machine - before - ours + oursBefore) / seconds(since: earlier))
    }
}
