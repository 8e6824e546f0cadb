import BeamMedia

/// When what an output asks for will be heard.
///
/// An output asks irregularly, whenever its queue has room. Blocks are heard one directly after the other all the same. So
/// the calls are smoothed to an even line first (`SampleClock`); the line and what is heard are a constant apart, which
/// the sound server's reports tell.
///
/// A report tells what the server has. SDL has the block that it asked for last: it gives it to the server in pieces, as
/// that demands them, and asks for the next one with the last of them (`PULSEAUDIO_PlayDevice`). How much of it the server
/// has is known at two times: little or nothing shortly after the block was asked for, and after a time in which a server
/// that demands little at once would have demanded all.
struct OutputClock {
    /// How far a new report moves the constant.
    private static let weight = 0.25
    /// Reports that differ by more are of another device or buffer, if they persist.
    private static let tolerance = Duration.milliseconds(15)
    private static let outliersToJump = 2
    /// From a block being asked for until the block before it is in the server's queue, and until a part of it may be: that
    /// demands a quarter of a block at once.
    private static let heldTime = Duration.microseconds(150) ... .microseconds(1250)
    /// So many blocks' time later it demands much at once, and nothing for now.
    private static let longPause = 1.5

    /// From a call on the line to the call's first sample being heard, until a report tells.
    private var lead: Duration
    private var hasReport = false
    private var outliers = 0
    private var line = SampleClock()
    /// Samples asked for in each channel.
    private var position: Int64 = 0
    private var lastCall = MediaTime.distantPast
    private var lastCount = 0

    /// - Parameter usual: the latency to assume while no report comes.
    init(usual: Duration) { lead = usual }

    /// The output asks for so many samples. Returns how long after `now` the first of them is heard.
    mutating func asked(for count: Int, now: MediaTime) -> Duration {
        line.observe(position, at: now)
        let onLine = line.time(of: position) ?? now
        position += Int64(count)
        lastCall = now
        lastCount = count
        return max(.zero, onLine + lead - now)
    }

    /// When to ask for a report, so that it is of use: shortly after the next call that is expected.
    func timeToAsk(after now: MediaTime) -> MediaTime {
        guard lastCount > 0, let next = line.time(of: position) else { return now }
        let block = SoundBlock.time(ofSamples: lastCount)
        let blocks = max(0, ((now - next).inSeconds / block.inSeconds).rounded(.up))
        return next + block * Int(min(blocks, 1000)) + Self.heldTime.lowerBound * 2
    }

    /// At `time` everything that the server had by then was to be heard within `queued`. False if that says nothing, because
    /// it isn't known what it had.
    @discardableResult mutating func report(queued: Duration, at time: MediaTime) -> Bool {
        let age = time - lastCall
        let block = SoundBlock.time(ofSamples: lastCount)
        guard lastCount > 0, Self.heldTime.contains(age) || age > .seconds(clamping: block.inSeconds * Self.longPause),
            let end = line.time(of: position)
        else { return false }
        learn(time + queued + block - end)
        return true
    }

    private mutating func learn(_ seen: Duration) {
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
