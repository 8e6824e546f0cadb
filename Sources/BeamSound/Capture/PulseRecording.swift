import BeamClock
import BeamMedia
import CLateLibraries
import CPulse

/// A stream that records from a source. Used on its connection's thread only.
final class PulseRecording {
    /// What the server gathers before it sends. With 2.5 ms capturing and encoding take 1.9 % of a core instead of 1.4 %
    /// (2 busy cores of an AMD EPYC), for blocks that are whole 2.5 ms sooner.
    private static let fragment = Duration.microseconds(2500)
    /// What one read callback handles at most: nothing that is this late is of use.
    private static let mostBytes = SoundBlock.sampleRate / 2 * frameSize
    private static let frameSize = SoundBlock.channelCount * MemoryLayout<Float>.size
    /// A latency above is nonsense.
    private static let mostLatency: UInt64 = 10_000_000
    /// How often the server is asked for the stream's time: often at first, for `firstTime`.
    private static let askInterval = Duration.milliseconds(100)
    private static let firstAskInterval = Duration.milliseconds(10)
    private static let firstTime: Int64 = 24_000

    /// The server's name of the source.
    let source: String
    /// Complete blocks, until they are taken.
    private var blocks: [SoundBlock] = []
    private(set) var clock = SampleClock()
    private var gatherer = BlockGatherer()
    private var restarts = 0
    private var isAsking = false
    private var nextAsking = MediaTime.distantPast
    private let stream: OpaquePointer
    private let connection: PulseConnection

    /// Nil if libpulse refuses, for example because the connection has gone.
    init?(_ connection: PulseConnection, source: String) {
        var format = pa_sample_spec(
            format: beam_pulse_float, rate: UInt32(SoundBlock.sampleRate), channels: UInt8(SoundBlock.channelCount))
        guard let stream = pa_stream_new(connection.context, "Shared sound", &format, nil) else { return nil }
        self.stream = stream
        self.source = source
        self.connection = connection
        pa_stream_set_read_callback(
            stream,
            { _, _, userdata in
                guard let userdata else { return }
                // The recording is alive: its deinit removes the callback.
                Unmanaged<PulseRecording>.fromOpaque(userdata).takeUnretainedValue().read()
            }, Unmanaged.passUnretained(self).toOpaque())
        var sizes = pa_buffer_attr()
        sizes.maxlength = .max
        let samples = Self.fragment.inNanoseconds * Int64(SoundBlock.sampleRate) / 1_000_000_000
        sizes.fragsize = UInt32(Int(samples) * Self.frameSize)
        // ADJUST_LATENCY: without it a monitor delivers bursts of 2 s. DONT_MOVE: which source it is, is decided here.
        // DONT_INHIBIT_AUTO_SUSPEND: a card that plays nothing may sleep; it wakes when something plays. NOT_MONOTONIC: a
        // correction backwards is one, too. Times aren't interpolated by libpulse, which goes on when the card stands
        // still: after a pause it was wrong by 0.6 s for a second.
        let flags = [
            PA_STREAM_ADJUST_LATENCY, PA_STREAM_DONT_MOVE, PA_STREAM_DONT_INHIBIT_AUTO_SUSPEND, PA_STREAM_NOT_MONOTONIC,
        ].reduce(0) { $0 | $1.rawValue }
        guard pa_stream_connect_record(stream, source, &sizes, pa_stream_flags_t(flags)) >= 0 else { return nil }
    }

    deinit {
        pa_stream_set_read_callback(stream, nil, nil)
        _ = pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    /// The source has gone, or refuses.
    var hasEnded: Bool { beam_pulse_is_stream_good(pa_stream_get_state(stream)) == 0 }

    /// The complete blocks since the last call.
    func take() -> [SoundBlock] {
        defer { blocks.removeAll(keepingCapacity: true) }
        return blocks
    }

    private func read() {
        askTime()
        var rest = Self.mostBytes
        while rest > 0 {
            var data: UnsafeRawPointer?
            var count = 0
            // Without data: a hole, or with 0 bytes nothing.
            guard pa_stream_peek(stream, &data, &count) >= 0, count > 0 else { return }
            gatherer.add(
                data?.assumingMemoryBound(to: Float.self),
                count: min(count, rest) / Self.frameSize * SoundBlock.channelCount, clock: clock
            ) { blocks.append($0) }
            rest -= count
            _ = pa_stream_drop(stream)
        }
    }

    /// Asks for the stream's time, if that is due. While nothing comes there is nothing to be timed.
    private func askTime() {
        let now = MediaTime.now
        guard !isAsking, now >= nextAsking else { return }
        nextAsking = now + (gatherer.end < Self.firstTime ? Self.firstAskInterval : Self.askInterval)
        let operation = pa_stream_update_timing_info(
            stream,
            { _, isRight, userdata in
                guard let userdata else { return }
                // The recording is alive: its deinit ends the stream, which cancels what is under way.
                Unmanaged<PulseRecording>.fromOpaque(userdata).takeUnretainedValue().observe(isRight != 0)
            }, Unmanaged.passUnretained(self).toOpaque())
        guard let operation else { return }
        pa_operation_unref(operation)
        isAsking = true
    }

    /// The answer: when the next sample that is read is heard. For a monitor that may be in the future.
    private func observe(_ isRight: Bool) {
        isAsking = false
        var latency: pa_usec_t = 0
        var isNegative: CInt = 0
        guard isRight, pa_stream_get_latency(stream, &latency, &isNegative) >= 0, latency <= Self.mostLatency else {
            return
        }
        let age = Duration.microseconds(Int64(latency))
        let now = MediaTime.now
        if !clock.observe(gatherer.end, at: isNegative == 0 ? now - age : now + age) { nextAsking = now }
        if clock.restarts != restarts {
            restarts = clock.restarts
            gatherer.drop()
        }
    }
}
