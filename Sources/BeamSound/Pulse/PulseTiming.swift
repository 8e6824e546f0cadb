import BeamMedia
import CLateLibraries
import CPulse

/// When the samples of a stream are heard, as the server tells. Used on the connection's thread only. It must not outlive
/// the stream.
///
/// Times aren't interpolated by libpulse, which goes on when the card stands still: after a pause it was wrong by 0.6 s for
/// a second.
final class PulseTiming {
    /// How often the server is asked: often at first, for `firstTime` of sound, and after a pause.
    private static let askInterval = Duration.milliseconds(100)
    private static let firstAskInterval = Duration.milliseconds(10)
    private static let firstTime: Int64 = 24_000
    /// A latency above is nonsense.
    private static let mostLatency: UInt64 = 10_000_000

    /// Samples in each channel since the stream's beginning: the next one that is read, or written.
    var position: Int64 = 0
    private(set) var clock: SampleClock
    /// When the server takes the samples of a stream that plays out of the stream's queue. Until they are heard it takes
    /// longer.
    private(set) var taking = SampleClock(followsPauses: true)
    /// How many of them the server has taken, as it said last.
    private(set) var taken: Int64 = 0
    private let stream: OpaquePointer
    private let isPlaying: Bool
    private var asking: OpaquePointer?
    /// An answer is about to come. It tells what was true when it came, so its connection's loop has to be turned then.
    var isAsking: Bool { asking != nil }
    private var nextAsking = MediaTime.distantPast

    /// - Parameter isPlaying: the stream plays; otherwise it records.
    init(_ stream: OpaquePointer, isPlaying: Bool) {
        self.stream = stream
        self.isPlaying = isPlaying
        // The times of recorded samples mustn't jump.
        clock = SampleClock(followsPauses: isPlaying)
    }

    deinit {
        // A stream that is being closed still gets answers.
        if let asking {
            pa_operation_cancel(asking)
            pa_operation_unref(asking)
        }
    }

    /// Asks for the stream's time, if that is due. To be called when samples are read or written: otherwise there is nothing
    /// to be timed.
    func ask() {
        let now = MediaTime.now
        guard asking == nil, now >= nextAsking else { return }
        let isOften = position < Self.firstTime || clock.isSettling || taking.isSettling
        nextAsking = now + (isOften ? Self.firstAskInterval : Self.askInterval)
        asking = pa_stream_update_timing_info(
            stream,
            { _, isRight, userdata in
                guard let userdata else { return }
                // It is alive: its deinit cancels the question.
                Unmanaged<PulseTiming>.fromOpaque(userdata).takeUnretainedValue().observe(isRight != 0)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The server has taken all that was written, and had to wait for more.
    func ranDry() {
        clock.pause()
        taking.pause()
        nextAsking = .distantPast
    }

    /// The answer: how long ago the next sample was heard, if it is recorded, or how long until it is, if it is played. For
    /// a monitor it may be heard in the future, too.
    private func observe(_ isRight: Bool) {
        if let asking { pa_operation_unref(asking) }
        asking = nil
        var latency: pa_usec_t = 0
        var isNegative: CInt = 0
        guard isRight, pa_stream_get_latency(stream, &latency, &isNegative) >= 0, latency <= Self.mostLatency else {
            return
        }
        let distance = Duration.microseconds(Int64(latency))
        let now = MediaTime.now
        let isAhead = isPlaying == (isNegative == 0)
        if !clock.observe(position, at: isAhead ? now + distance : now - distance) { nextAsking = now }
        guard isPlaying, let info = pa_stream_get_timing_info(stream), info.pointee.read_index_corrupt == 0 else {
            return
        }
        let taken = info.pointee.read_index / Int64(PulseFormat.frameSize)
        guard (self.taken...max(self.taken, position)).contains(taken) else { return }
        self.taken = taken
        if !taking.observe(taken, at: now) { nextAsking = now }
    }
}
