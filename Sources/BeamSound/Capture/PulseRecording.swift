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

    /// The server's name of the source.
    let source: String
    /// Complete blocks, until they are taken.
    private var blocks: [SoundBlock] = []
    private let timing: PulseTiming
    private var gatherer = BlockGatherer()
    private var restarts = 0
    private let stream: OpaquePointer
    private let connection: PulseConnection

    /// Nil if libpulse refuses, for example because the connection has gone.
    init?(_ connection: PulseConnection, source: String) {
        var format = pa_sample_spec(
            format: beam_pulse_float, rate: UInt32(SoundBlock.sampleRate), channels: UInt8(SoundBlock.channelCount))
        guard let stream = pa_stream_new(connection.context, "Shared sound", &format, nil) else { return nil }
        self.stream = stream
        timing = PulseTiming(stream, isPlaying: false)
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
        // correction backwards is one, too.
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
        timing.ask()
        if timing.clock.restarts != restarts {
            restarts = timing.clock.restarts
            gatherer.drop()
        }
        var rest = Self.mostBytes
        while rest > 0 {
            var data: UnsafeRawPointer?
            var count = 0
            // Without data: a hole, or with 0 bytes nothing.
            guard pa_stream_peek(stream, &data, &count) >= 0, count > 0 else { return }
            gatherer.add(
                data?.assumingMemoryBound(to: Float.self),
                count: min(count, rest) / Self.frameSize * SoundBlock.channelCount, clock: timing.clock
            ) { blocks.append($0) }
            timing.position = gatherer.end
            rest -= count
            _ = pa_stream_drop(stream)
        }
    }
}
