import BeamMedia

/// When what an output asks for will be heard.
///
/// An output asks irregularly, whenever its queue has room. Blocks are heard one directly after the other all the same. So
/// the calls are smoothed to an even line first (`SampleClock`); the line and what is heard are a constant apart, which
/// the sound server's reports tell.
struct OutputClock {
    /// How far a new report moves the constant.
    private static let weight = 0.25
    /// Reports that differ by more are of another device or buffer, if they persist.
    private static let tolerance = Duration.milliseconds(15)
    private static let outliersToJump = 2
    /// A block that was asked for so shortly before may not have been in the server's queue yet.
    private static let timeToQueue = Duration.microseconds(1500)

    /// From a call on the line to the call's first sample being heard, until a report tells.
    private var lead: Duration
    private var hasReport = false
    private var outliers = 0
    private var line = SampleClock()
    /// Samples asked for in each channel.
    private var position: Int64 = 0
    private var lastCall = MediaTime.distantPast

    /// - Parameter usual: the latency to assume while no report comes.
    init(usual: Duration) { lead = usual }

    /// The output asks for so many samples. Returns how long after `now` the first of them is heard.
    mutating func asked(for count: Int, now: MediaTime) -> Duration {
        line.observe(position, at: now)
        let onLine = line.time(of: position) ?? now
        position += Int64(count)
        lastCall = now
        return max(.zero, onLine + lead - now)
    }

    /// At `time` everything that had been asked for by then was to be heard within `queued`.
    mutating func report(queued: Duration, at time: MediaTime) {
        guard time - lastCall >= Self.timeToQueue, let end = line.time(of: position) else { return }
        let seen = time + queued - end
        guard (.zero ... .seconds(3)).contains(seen) else { return }
        let difference = seen - lead
        if !hasReport {
            lead = seen
            hasReport = true
        } else if max(difference, .zero - difference) <= Self.tolerance {
            lead += .seconds(clamping: difference.inSeconds * Self.weight)
            outliers = 0
        } else {
            outliers += 1
            guard outliers >= Self.outliersToJump else { return }
            lead = seen
            outliers = 0
        }
    }

    /// No report will come: the server doesn't know.
    mutating func assume(_ usual: Duration) { if !hasReport { lead = usual } }
}
