import BeamMedia

/// A span of a frame's way from the host's screen to the viewer's window. The first six follow one another.
public enum FrameSpan: String, CaseIterable, Sendable {
    /// From the screen's change to the encoder's taking the picture: grabbing it, and waiting for the encoder.
    case capture
    /// Conversion and encoding.
    case encode
    /// From the frame's leaving the encoder to its first datagram here; its error is the host's clock's.
    case network
    /// From the first datagram to the last.
    case reassembly
    /// From the last datagram to the picture, waiting for the decoder included.
    case decode
    /// From the picture to its standing in the window.
    case present
    /// Everything up to the last datagram, everything after it, and all of it.
    case captureToArrival, arrivalToWindow, captureToWindow
    /// All of it but the window: as far as a viewer without one goes.
    case captureToPicture
}

/// How long frames took over each span.
struct FrameTimes: Sendable {
    private var tracks: [FrameSpan: LatencyTrack] = [:]

    mutating func record(_ span: FrameSpan, _ duration: Duration) {
        tracks[span, default: LatencyTrack()].record(duration)
    }

    /// The network's part of the way of `frame`, as far as the host has told its own.
    mutating func recordArrival(of frame: ReceivedFrame) {
        guard let capture = frame.captureTime else { return }
        record(.captureToArrival, frame.lastArrival - capture)
        guard let stages = frame.stages else { return }
        record(.capture, stages.waited)
        record(.encode, stages.encode)
        record(.network, frame.firstArrival - capture - stages.waited - stages.encode)
        record(.reassembly, frame.lastArrival - frame.firstArrival)
    }

    /// `picture` stands in the window.
    mutating func recordPresentation(of picture: Picture, at end: MediaTime) {
        if let decoded = picture.decodedTime { record(.present, end - decoded) }
        record(.arrivalToWindow, end - picture.time)
        if let capture = picture.captureTime { record(.captureToWindow, end - capture) }
    }

    /// Since the last such report, or since the start; what never happened isn't there.
    mutating func report(sinceStart: Bool) -> [FrameSpan: LatencyHistogram.Summary] {
        var report: [FrameSpan: LatencyHistogram.Summary] = [:]
        for span in tracks.keys {
            report[span] = sinceStart ? tracks[span]?.total.summary : tracks[span]?.takeRecent()
        }
        return report
    }
}
