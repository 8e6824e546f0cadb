import BeamMedia

/// When what an output asks for will be heard, if the output doesn't tell.
///
/// An output asks irregularly, whenever its queue has room. Blocks are heard one directly after the other all the same. So
/// the calls are smoothed to an even line (`SampleClock`); what is heard is a constant later.
struct OutputClock {
    /// From a call on the line to the call's first sample being heard.
    private let latency: Duration
    private var line = SampleClock()
    /// Samples asked for in each channel.
    private var position: Int64 = 0

    init(latency: Duration) { self.latency = latency }

    /// The output asks for so many samples. Returns how long after `now` the first of them is heard.
    mutating func asked(for count: Int, now: MediaTime) -> Duration {
        line.observe(position, at: now)
        let onLine = line.time(of: position) ?? now
        position += Int64(count)
        return max(.zero, onLine + latency - now)
    }
}
