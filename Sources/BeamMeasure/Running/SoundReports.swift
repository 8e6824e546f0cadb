import BeamCapture
import BeamMedia

/// What a viewer reports of the sound, and what a recording shows of it.
extension MeasureRecord.Sound {
    /// Nil if no sound came, as from a host that shares none.
    ///
    /// - Parameters:
    ///   - summary: the viewer's, over the whole run.
    ///   - seconds: the viewer's reports of each second, without the start. Those in which no sound came tell nothing new.
    ///   - recorded: of the sound pass.
    init?(_ summary: ProgramEvent, seconds: [ProgramEvent], recorded: Recorded?) {
        func count(_ key: String) -> Int { summary.sound(key).flatMap { Int(exactly: $0.rounded()) } ?? 0 }
        guard count("packets") > 0 else { return nil }
        let news = zip(seconds, seconds.dropFirst()).filter { $0.sound("packets") != $1.sound("packets") }.map(\.1)
        let reports = news.isEmpty ? [summary] : news
        func median(_ key: String) -> Double? { Spread(reports.compactMap { $0.sound(key) })?.median }
        let latencies = reports.compactMap { $0.sound("latencyMs") }
        latencyMs = Spread(latencies).map {
            MeasureRecord.Times(median: $0.median, p95: Spread.percentile95(latencies), max: $0.max)
        }
        skewMs = median("skewMs")
        bufferMs = median("bufferMs")
        concealed = summary.sound("concealed") ?? 0
        packets = count("packets")
        lostPackets = count("lost")
        self.recorded = recorded
    }
}

extension MeasureRecord.Sound.Recorded {
    init(_ steps: [RecordedPattern.Step]) {
        let skews = steps.compactMap { $0.skew?.inMilliseconds }
        let magnitudes = skews.map { abs($0) }
        expectedBursts = steps.count
        foundBursts = steps.count { $0.hasBurst }
        comparedBursts = skews.count
        medianSkewMs = Spread(skews)?.median
        p95SkewMs = Spread.percentile95(magnitudes)
        maxSkewMs = magnitudes.max()
    }
}
