import BeamMedia
import BeamSession

/// Figures of all viewers, about the frames captured during the measurement.
struct Analysis {
    struct Viewer {
        var viewer: LightViewer
        var state: LightViewer.State
        var statistics: ViewerStatistics
    }

    struct FrameID: Hashable {
        var layer: UInt8
        var number: UInt32
    }

    let viewers: [Viewer]
    let measured: Range<MediaTime>
    let start: MediaTime
    /// Capture times of the frames. Host and viewers are on one machine, so the estimate of the viewer with the shortest ping
    /// serves for all.
    private let captured: [FrameID: MediaTime]
    /// The frames captured during the measurement, of each layer.
    private let sent: [UInt8: Set<UInt32>]

    init(viewers: [Viewer], measured: Range<MediaTime>, start: MediaTime) {
        self.viewers = viewers
        self.measured = measured
        self.start = start
        var captured: [FrameID: MediaTime] = [:]
        let known = viewers.filter { $0.statistics.clockError != nil }
        let byError = known.sorted { ($0.statistics.clockError ?? .zero) > ($1.statistics.clockError ?? .zero) }
        // The best estimate is last, and overwrites the others.
        for viewer in byError {
            for frame in viewer.state.frames {
                if let time = frame.captured { captured[FrameID(frame)] = time }
            }
        }
        self.captured = captured
        var sent: [UInt8: Set<UInt32>] = [:]
        for (frame, time) in captured where measured.contains(time) {
            sent[frame.layer, default: []].insert(frame.number)
        }
        self.sent = sent
    }

    func result() -> CrowdResult {
        let places = places()
        return CrowdResult(
            seconds: (measured.upperBound - measured.lowerBound).inSeconds,
            frames: sent.mapValues(\.count).values.max() ?? 0,
            layers: sent.count,
            keyframes: keyframes(),
            spreadMs: Summary(places.spreads),
            viewers: viewers.enumerated().map { index, viewer in report(viewer, order: places.order[index]) })
    }

    private func report(_ viewer: Viewer, order: Double?) -> CrowdResult.Viewer {
        let state = viewer.state
        let own = state.frames.filter { captured[FrameID($0)].map(measured.contains) ?? false }
        let seconds = (measured.upperBound - measured.lowerBound).inSeconds
        let latencies = own.compactMap { frame in
            captured[FrameID(frame)].map { (frame.completed - $0).inSeconds * 1000 }
        }
        return CrowdResult.Viewer(
            number: viewer.viewer.number, group: viewer.viewer.group,
            joined: (viewer.viewer.start - start).inSeconds,
            pairedMs: state.paired.map { ($0 - viewer.viewer.start).inSeconds * 1000 },
            firstPictureMs: state.firstKeyframe.map { ($0 - viewer.viewer.start).inSeconds * 1000 },
            frames: own.count, fps: Double(own.count) / seconds, longestGapMs: longestGap(own),
            lost: lost(own), keyframes: own.count(where: \.isKeyframe),
            keyframeBytes: own.filter(\.isKeyframe).reduce(0) { $0 + $1.length },
            bytes: own.reduce(0) { $0 + $1.length }, layers: Set(own.map(\.layer)).sorted(),
            latencyMs: Summary(latencies), order: order, datagrams: viewer.statistics.datagrams,
            resent: viewer.statistics.recovered, repaired: viewer.statistics.reconstructed,
            keyframesRequested: viewer.statistics.keyframesRequested, ended: state.ended, troubles: state.troubles)
    }

    /// Longest time without a frame, in ms; the beginning and the end of measuring count as frames.
    private func longestGap(_ frames: [LightViewer.Frame]) -> Double {
        let times = frames.map(\.completed).sorted()
        let all = [measured.lowerBound] + times.filter(measured.contains) + [measured.upperBound]
        return zip(all, all.dropFirst()).map { ($1 - $0).inSeconds * 1000 }.max() ?? 0
    }

    /// Frames of its layer that the viewer didn't get. If it changed layers: frames missing between two of the same layer.
    private func lost(_ frames: [LightViewer.Frame]) -> Int {
        let layers = Set(frames.map(\.layer))
        if layers.count <= 1 {
            let expected = sent[layers.first ?? 0] ?? []
            return expected.count - Set(frames.map(\.number)).intersection(expected).count
        }
        return zip(frames, frames.dropFirst()).reduce(0) { sum, pair in
            guard pair.0.layer == pair.1.layer, pair.1.number > pair.0.number else { return sum }
            return sum + Int(pair.1.number - pair.0.number) - 1
        }
    }

    /// For each frame, the time in ms from when the first viewer had all of it until the last one had. And each viewer's mean
    /// rank: 0 always the first, 1 always the last.
    private func places() -> (spreads: [Double], order: [Double?]) {
        // Viewers that watched during all of the measurement.
        let steady = viewers.indices.filter {
            viewers[$0].state.firstKeyframe.map { $0 < measured.lowerBound } ?? false
        }
        var completions: [FrameID: [(MediaTime, Int)]] = [:]
        for index in steady {
            for frame in viewers[index].state.frames where sent[frame.layer]?.contains(frame.number) ?? false {
                completions[FrameID(frame), default: []].append((frame.completed, index))
            }
        }
        var spreads: [Double] = []
        var ranks = [(sum: Double, count: Int)](repeating: (0, 0), count: viewers.count)
        for (_, entries) in completions where entries.count > 1 {
            let sorted = entries.sorted { $0.0 < $1.0 }
            // A frame that only some viewers got doesn't show when the last one had it.
            guard 10 * entries.count >= 9 * steady.count, let first = sorted.first, let last = sorted.last else {
                continue
            }
            spreads.append((last.0 - first.0).inSeconds * 1000)
            for (rank, entry) in sorted.enumerated() {
                ranks[entry.1].sum += Double(rank) / Double(sorted.count - 1)
                ranks[entry.1].count += 1
            }
        }
        return (spreads, ranks.map { $0.count > 0 ? $0.sum / Double($0.count) : nil })
    }

    /// All keyframes that any viewer got, each once: those that the host's encoders made.
    private func keyframes() -> [CrowdResult.Keyframe] {
        var found: [FrameID: CrowdResult.Keyframe] = [:]
        for viewer in viewers {
            for frame in viewer.state.frames where frame.isKeyframe {
                let id = FrameID(frame)
                let time = captured[id] ?? frame.completed
                found[id] = CrowdResult.Keyframe(
                    at: (time - start).inSeconds, layer: frame.layer, number: frame.number, bytes: frame.length)
            }
        }
        return found.values.sorted { $0.at < $1.at }
    }
}

extension Analysis.FrameID {
    init(_ frame: LightViewer.Frame) { self.init(layer: frame.layer, number: frame.number) }
}
