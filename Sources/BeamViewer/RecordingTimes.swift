import BeamMedia

/// The times of recorded frames: when the screen looked like that, so that the sound beside them is in step and the
/// network's jitter isn't recorded. A repeated picture has no such time; it gets that of its arrival, less what frames
/// took to arrive before.
struct RecordingTimes: Sendable {
    /// Transit times beyond this are no transit times: the host's clock or its times are wrong.
    private static let longestTransit = Duration.seconds(10)

    private var transit = Duration.zero

    mutating func time(of frame: ReceivedFrame) -> MediaTime {
        if let capture = frame.captureTime {
            let transit = frame.lastArrival - capture
            if transit >= .zero, transit <= Self.longestTransit {
                self.transit = transit
                return capture
            }
        }
        return frame.lastArrival - transit
    }
}
