import BeamCapture
import Foundation

/// Makes a record from the reports of host and viewer.
struct RecordMaker {
    let cell: MeasureCell
    let plan: MeasurePlan
    let timing: Pass.Timing
    let outcome: QualityMeter.Outcome
    /// Nil if no sound was recorded.
    let soundSteps: [RecordedPattern.Step]?

    func record(_ repetition: Int) -> MeasureRecord {
        let (stages, seconds) = stages
        return MeasureRecord(
            cell: cell.name, repetition: repetition, date: Date().formatted(.iso8601), conditions: conditions,
            machine: .current(beamroom: plan.version), latencyMs: stages, latencySeconds: seconds,
            totalMs: LatencyStages.total(stages),
            clockErrorMs: cell.isHere ? nil : timing.viewer.number("clockErrorMs"),
            firstFrameMs: timing.firstFrame.number("ms") ?? 0, delivery: delivery, quality: outcome.quality,
            sound: MeasureRecord.Sound(
                timing.viewer, seconds: Self.reports(timing.viewerEvents, after: timing.firstFrame.time),
                recorded: soundSteps.map { .init($0) }),
            host: timing.hostUsage, viewer: timing.viewerUsage, othersPercent: timing.othersPercent)
    }

    /// The stages' times over the whole seconds after the first picture, and the number of those seconds. Runs that are
    /// too short give the whole run and 0.
    private var stages: ([String: MeasureRecord.Times], seconds: Int) {
        // For stages that both report, the viewer's value counts, because it covers the frames that arrived.
        let joined = timing.hostEvents.first { $0.name == "viewer-joined" }?.time
        let viewer = Self.reports(timing.viewerEvents, after: timing.firstFrame.time)
        let host = joined.map { Self.reports(timing.hostEvents, after: $0) } ?? []
        guard viewer.count >= 2, timing.host == nil || host.count >= 2 else {
            return ((timing.host?.latencies ?? [:]).merging(timing.viewer.latencies) { $1 }, 0)
        }
        return (LatencyStages.merged(host).merging(LatencyStages.merged(viewer)) { $1 }, viewer.count)
    }

    /// The reports whose second doesn't include the start.
    private static func reports(_ events: [ProgramEvent], after start: Double) -> [ProgramEvent] {
        events.filter { $0.name == "stats" && $0.time - 1 >= start + settlingSeconds }
    }

    /// In seconds. For this long after the first picture, timing isn't representative.
    private static let settlingSeconds = 0.3

    private var conditions: MeasureRecord.Conditions {
        var conditions = MeasureRecord.Conditions(
            width: timing.viewer.count("width") ?? 0, height: timing.viewer.count("height") ?? 0,
            bitRate: cell.bitRate, seconds: plan.seconds,
            encoder: timing.hostEvents.first { $0.name == "ready" }?.string("encoder"),
            hasWindow: cell.hasWindow)
        switch cell.source {
        case .pattern(let options):
            conditions.framesPerSecond = options.frameRate
            conditions.content = options.content.rawValue
        case .recording(let path, _, let frameRate):
            conditions.framesPerSecond = frameRate
            conditions.content = path.split(separator: "/").last.map(String.init)
        case .host(let address):
            conditions.host = address
            conditions.framesPerSecond = outcome.found?.frameRate
            conditions.content = outcome.found?.content.rawValue
        }
        return conditions
    }

    private var expectedFramesPerSecond: Double? {
        switch cell.source {
        case .pattern(let options): options.frameRate / Double(options.framesPerChange)
        case .recording(_, _, let frameRate): frameRate
        case .host:
            outcome.found.map { $0.frameRate / Double($0.options.framesPerChange) }
        }
    }

    private var delivery: MeasureRecord.Delivery {
        let viewer = timing.viewer
        let rates = rates
        return MeasureRecord.Delivery(
            framesPerSecond: rates.frames, expectedFramesPerSecond: expectedFramesPerSecond,
            frames: viewer.count("frames") ?? 0, sentFrames: timing.host?.count("frames"),
            replaced: timing.host?.count("replaced"), dropped: viewer.count("dropped") ?? 0,
            datagrams: viewer.count("datagrams") ?? 0, lostDatagrams: viewer.count("lost") ?? 0,
            kilobitsPerSecond: rates.kilobits,
            stalls: timing.viewerEvents.filter { $0.name == "stall" }.count)
    }

    /// Measured between the viewer's first and last report after the first picture, without start and end. In runs too
    /// short for that, from the first picture on.
    private var rates: (frames: Double, kilobits: Double) {
        let reports = timing.viewerEvents.filter { $0.name == "stats" && $0.time > timing.firstFrame.time }
        if let first = reports.first, let last = reports.last, last.time - first.time >= 0.9,
            let frames = first.number("frames"), let moreFrames = last.number("frames"),
            let bytes = first.number("bytes"), let moreBytes = last.number("bytes")
        {
            let seconds = last.time - first.time
            return ((moreFrames - frames) / seconds, (moreBytes - bytes) * 8 / 1000 / seconds)
        }
        let seconds = max(0.001, timing.viewer.time - timing.firstFrame.time)
        return (
            (timing.viewer.number("frames") ?? 0) / seconds, (timing.viewer.number("bytes") ?? 0) * 8 / 1000 / seconds
        )
    }
}

/// The names of stages that host and viewer report: a single stage is one word, a stretch of several is
/// `fromThisToThat`.
public enum LatencyStages {
    /// Known stages in the order of the pipeline. Others are sorted after them.
    private static let order = [
        "capture", "convert", "encode", "pacing", "send", "network", "reassembly", "queue", "decode", "present",
    ]

    /// Stretches for the total latency, longest first.
    private static let stretches = ["captureToWindow", "captureToPicture"]

    public static func isStretch(_ name: String) -> Bool { name.contains("To") }

    /// The single stages, in the order of the pipeline.
    public static func sorted(_ names: some Sequence<String>) -> [String] {
        names.filter { !isStretch($0) }.sorted { a, b in
            let (first, second) = (order.firstIndex(of: a) ?? order.count, order.firstIndex(of: b) ?? order.count)
            return (first, a) < (second, b)
        }
    }

    /// Merges a stage's reports: the median of the medians, the median of the 95th percentiles, and the greatest
    /// maximum.
    static func merged(_ reports: [ProgramEvent]) -> [String: MeasureRecord.Times] {
        let seconds = reports.map(\.latencies)
        let names = Set(seconds.flatMap(\.keys))
        var stages: [String: MeasureRecord.Times] = [:]
        for name in names {
            let times = seconds.compactMap { $0[name] }
            guard let median = Spread(times.map(\.median))?.median else { continue }
            stages[name] = MeasureRecord.Times(
                median: median, p95: Spread(times.compactMap(\.p95))?.median,
                max: Spread(times.compactMap(\.max))?.max)
        }
        return stages
    }

    /// From capture to the window, or, without a window, to the decoded picture.
    static func total(_ stages: [String: MeasureRecord.Times]) -> MeasureRecord.Total? {
        for name in stretches {
            if let times = stages[name] {
                return MeasureRecord.Total(median: times.median, p95: times.p95, max: times.max, from: name)
            }
        }
        guard let arrival = stages["captureToArrival"], let decode = stages["decode"] else { return nil }
        // The sum of two 95th percentiles usually is an upper bound of the total's, reached if the same frames are slow
        // in both.
        return MeasureRecord.Total(
            median: arrival.median + decode.median, p95: sum(arrival.p95, decode.p95), max: nil,
            from: "captureToArrival+decode")
    }

    private static func sum(_ a: Double?, _ b: Double?) -> Double? {
        guard let a, let b else { return nil }
        return a + b
    }
}
