import BeamMedia

/// A span of a frame's way from the host's screen to the viewer's window. The first six are consecutive.
public enum FrameSpan: String, CaseIterable, Sendable {
    /// From the screen's change to the start of encoding: grabbing, and waiting for the encoder.
    case capture
    /// Conversion and encoding.
    case encode
    /// From the end of encoding to the arrival of the first datagram. Off by the error of the host's clock.
    case network
    /// From the first datagram's arrival to the last one's.
    case reassembly
    /// From the last datagram's arrival to the decoded picture, including the wait for the decoder.
    case decode
    /// From the decoded picture to the window.
    case present
    /// Everything up to the last datagram's arrival; everything after it; both.
    case captureToArrival, arrivalToWindow, captureToWindow
    /// Everything up to the decoded picture: all that a viewer without a window has.
    case captureToPicture
}

/// How long frames took for each span.
struct FrameTimes: Sendable {
    private var tracks: [FrameSpan: LatencyTrack] = [:]

    mutating func record(_ span: FrameSpan, _ duration: Duration) {
        tracks[span, default: LatencyTrack()].record(duration)
    }

    /// Records the spans up to arrival, as far as the host reports its own.
    mutating func recordArrival(of frame: ReceivedFrame) {
        guard let capture = frame.captureTime else { return }
        record(.captureToArrival, frame.lastArrival - capture)
        guard let stages = frame.stages else { return }
        record(.capture, stages.waited)
        record(.encode, stages.encode)
        record(.network, frame.firstArrival - capture - stages.waited - stages.encode)
        record(.reassembly, frame.lastArrival - frame.firstArrival)
    }

    /// Records that `picture` was shown at `end`.
    mutating func recordPresentation(of picture: Picture, at end: MediaTime) {
        if let decoded = picture.decodedTime { record(.present, end - decoded) }
        record(.arrivalToWindow, end - picture.time)
        if let capture = picture.captureTime { record(.captureToWindow, end - capture) }
    }

    /// Since the last such report, or since the start. Spans without a value are absent.
    mutating func report(sinceStart: Bool) -> [FrameSpan: LatencyHistogram.Summary] {
        var report: [FrameSpan: LatencyHistogram.Summary] = [:]
        for span in tracks.keys {
            report[span] = sinceStart ? tracks[span]?.total.summary : tracks[span]?.takeRecent()
        }
        return report
    }
}
