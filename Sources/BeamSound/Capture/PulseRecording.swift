import BeamClock
import BeamMedia
import CLateLibraries
import CPulse

/// A stream that records from a source. Used on its connection's thread only.
final class PulseRecording {
    /// What the server gathers before it sends. A block is read when its last fragment has come, so shorter ones hardly cost
    /// more (`FragmentPace`): with 5 ms, capturing and encoding take as much of the processor.
    private static let fragment = Duration.microseconds(2500)
    /// What one read callback handles at most: nothing that is this late is of use.
    private static let mostBytes = SoundBlock.sampleRate / 2 * PulseFormat.frameSize

    /// The server's name of the source.
    let source: String
    /// Complete blocks, until they are taken.
    private var blocks: [SoundBlock] = []
    private let timing: PulseTiming
    private var gatherer = BlockGatherer()
    private var pace = FragmentPace()
    /// What comes now has been waited for.
    private var hasWaited = true
    private var restarts = 0
    private let stream: OpaquePointer
    private let connection: PulseConnection

    /// Nil if libpulse refuses, for example because the connection has gone.
    init?(_ connection: PulseConnection, source: String) {
        var format = PulseFormat.specification
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
        sizes.fragsize = PulseFormat.bytes(of: Self.fragment)
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

    /// Until when there is nothing to do.
    var nextBlock: MediaTime {
        timing.isAsking ? .distantPast : pace.time(ofNext: gatherer.missing) ?? .distantPast
    }

    /// To be called before the connection's loop is turned.
    func begin(waiting: Bool) { hasWaited = waiting }

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
        var (samples, last) = (0, 0)
        defer { if samples > 0 { pace.came(samples: samples, length: last, hasWaited: hasWaited, now: .now) } }
        while rest > 0 {
            var data: UnsafeRawPointer?
            var count = 0
            // Without data: a hole, or with 0 bytes nothing.
            guard pa_stream_peek(stream, &data, &count) >= 0, count > 0 else { return }
            gatherer.add(
                data?.assumingMemoryBound(to: Float.self),
                count: min(count, rest) / PulseFormat.frameSize * SoundBlock.channelCount, clock: timing.clock
            ) { blocks.append($0) }
            last = count / PulseFormat.frameSize
            samples += last
            timing.position = gatherer.end
            rest -= count
            _ = pa_stream_drop(stream)
        }
    }
}
