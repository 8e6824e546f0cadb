import BeamClock
import BeamMedia
import CLateLibraries
import CPulse

/// A stream that plays on a sink. Used on its connection's thread only.
final class PulsePlayback {
    /// Samples in each channel that the server demands at once.
    private static let request = 96
    /// Samples between a demand and the loudspeaker, if the sink can do with so few. The server keeps two requests of them in
    /// its own queue, and divides the rest equally between that and the sink.
    private static let buffer = 288
    /// What one demand is answered with at most.
    private static let mostBytes = SoundBlock.sampleRate / 2 * frameSize
    private static let frameSize = SoundBlock.channelCount * MemoryLayout<Float>.size
    /// Until the server has told its latency, and if it never does.
    private static let usualLatency = SoundBlock.time(ofSamples: buffer)

    /// So many samples at the beginning are silence. A server demands much, little or nothing in its first moments, and sound
    /// that is played then would seem to be late because of the network.
    private static let settling = 2400

    private let feed: OutputFeed
    private let hiddenLatency: Duration
    private let timing: PulseTiming
    private let stream: OpaquePointer
    private let connection: PulseConnection

    /// Nil if libpulse refuses, for example because the connection has gone.
    ///
    /// - Parameters:
    ///   - sink: the server's name of it; nil: the default one, whichever that is.
    ///   - hiddenLatency: how much longer it takes than the server tells.
    init?(_ connection: PulseConnection, sink: String?, hiddenLatency: Duration, feed: OutputFeed) {
        var format = pa_sample_spec(
            format: beam_pulse_float, rate: UInt32(SoundBlock.sampleRate), channels: UInt8(SoundBlock.channelCount))
        guard let properties = pa_proplist_new() else { return nil }
        defer { pa_proplist_free(properties) }
        _ = pa_proplist_sets(properties, PA_PROP_MEDIA_ROLE, "video")
        guard
            let stream = pa_stream_new_with_proplist(connection.context, "Shared sound", &format, nil, properties)
        else { return nil }
        self.stream = stream
        self.connection = connection
        self.hiddenLatency = hiddenLatency
        self.feed = feed
        timing = PulseTiming(stream, isPlaying: true)
        pa_stream_set_write_callback(
            stream,
            { _, count, userdata in
                guard let userdata else { return }
                // The playback is alive: its deinit removes the callback.
                Unmanaged<PulsePlayback>.fromOpaque(userdata).takeUnretainedValue().write(count)
            }, Unmanaged.passUnretained(self).toOpaque())
        var sizes = pa_buffer_attr()
        sizes.maxlength = .max
        sizes.tlength = UInt32(Self.buffer * Self.frameSize)
        sizes.minreq = UInt32(Self.request * Self.frameSize)
        // After it ran dry, the server waits until the buffer is full again.
        sizes.prebuf = .max
        // NOT_MONOTONIC: a correction backwards is one, too.
        var flags = PA_STREAM_ADJUST_LATENCY.rawValue | PA_STREAM_NOT_MONOTONIC.rawValue
        if sink != nil { flags |= PA_STREAM_DONT_MOVE.rawValue }
        guard pa_stream_connect_playback(stream, sink, &sizes, pa_stream_flags_t(flags), nil, nil) >= 0 else {
            return nil
        }
    }

    deinit {
        pa_stream_set_write_callback(stream, nil, nil)
        _ = pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    var isReady: Bool { pa_stream_get_state(stream) == PA_STREAM_READY }

    /// The sink has gone, or the server refuses.
    var hasEnded: Bool { beam_pulse_is_stream_good(pa_stream_get_state(stream)) == 0 }

    private func write(_ demanded: Int) {
        timing.ask()
        var rest = min(demanded, Self.mostBytes)
        while rest >= Self.frameSize {
            var data: UnsafeMutableRawPointer?
            var count = rest
            guard pa_stream_begin_write(stream, &data, &count) >= 0, let data, count >= Self.frameSize else { return }
            let frames = min(count, rest) / Self.frameSize
            let samples = UnsafeMutableBufferPointer(
                start: data.bindMemory(to: Float.self, capacity: frames * SoundBlock.channelCount),
                count: frames * SoundBlock.channelCount)
            if timing.position < Self.settling {
                samples.update(repeating: 0)
            } else {
                let now = MediaTime.now
                let told = timing.clock.time(of: timing.position) ?? now + Self.usualLatency
                feed.play(samples, now: now, latency: max(.zero, told + hiddenLatency - now))
            }
            guard pa_stream_write(stream, data, frames * Self.frameSize, nil, 0, PA_SEEK_RELATIVE) >= 0 else { return }
            timing.position += Int64(frames)
            rest -= frames * Self.frameSize
        }
    }
}
