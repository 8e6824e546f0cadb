import BeamClock
import BeamMedia
import CLateLibraries
import CPulse

/// A stream that plays on a sink. Used on its connection's thread only.
///
/// Writes when the server's fill falls to `OutputReserve`, as much as the source gives then: mostly a packet that is due just
/// now. The server's own requests aren't followed: they come often and for equal parts, or make it keep much.
final class PulsePlayback {
    /// The sink is to take steps of this (2 ms).
    private static let sinkStep = 96
    /// The server is to ask seldom, because nobody listens.
    private static let request = 4800
    /// After it ran dry, the server waits for so many samples.
    private static let restart = 96
    /// What the source may give at once, in samples.
    private static let room = 2 * SoundBlock.length
    /// What is written at most before other work of the connection is done.
    private static let mostWrites = 10
    /// The server is asked for its times at least so often.
    private static let longestWait = Duration.milliseconds(100)
    private static let firstWait = Duration.milliseconds(10)
    /// Until the server has taken so many samples they are silence, and `firstReserve` waits there. It takes much, little or
    /// nothing in its first moments, and sound that is played then would seem to be late because of the network.
    private static let settling = 2400
    private static let firstReserve = Duration.milliseconds(20)
    /// Until the server has told its latency, and if it never does.
    private static let usualLatency = Duration.milliseconds(6)

    private let feed: OutputFeed
    private let hiddenLatency: Duration
    private let timing: PulseTiming
    private let stream: OpaquePointer
    private let connection: PulseConnection
    private var reserve = OutputReserve()
    /// When `write` wants to be called next.
    private var nextCall: MediaTime?

    /// Nil if libpulse refuses, for example because the connection has gone.
    ///
    /// - Parameters:
    ///   - sink: the server's name of it; nil: the default one, whichever that is.
    ///   - hiddenLatency: how much longer it takes than the server tells.
    init?(_ connection: PulseConnection, sink: String?, hiddenLatency: Duration, feed: OutputFeed) {
        var format = PulseFormat.specification
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
        pa_stream_set_underflow_callback(
            stream,
            { _, userdata in
                guard let userdata else { return }
                // The playback is alive: its deinit removes the callback.
                Unmanaged<PulsePlayback>.fromOpaque(userdata).takeUnretainedValue().ranDry()
            }, Unmanaged.passUnretained(self).toOpaque())
        var sizes = pa_buffer_attr()
        sizes.maxlength = .max
        // With ADJUST_LATENCY the server makes the sink's steps half of what is beyond two requests.
        sizes.tlength = UInt32((2 * Self.request + 2 * Self.sinkStep) * PulseFormat.frameSize)
        sizes.minreq = UInt32(Self.request * PulseFormat.frameSize)
        sizes.prebuf = UInt32(Self.restart * PulseFormat.frameSize)
        // NOT_MONOTONIC: a correction backwards is one, too.
        var flags = PA_STREAM_ADJUST_LATENCY.rawValue | PA_STREAM_NOT_MONOTONIC.rawValue
        if sink != nil { flags |= PA_STREAM_DONT_MOVE.rawValue }
        guard pa_stream_connect_playback(stream, sink, &sizes, pa_stream_flags_t(flags), nil, nil) >= 0 else {
            return nil
        }
    }

    deinit {
        pa_stream_set_underflow_callback(stream, nil, nil)
        _ = pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    var isReady: Bool { pa_stream_get_state(stream) == PA_STREAM_READY }

    /// The sink has gone, or the server refuses.
    var hasEnded: Bool { beam_pulse_is_stream_good(pa_stream_get_state(stream)) == 0 }

    /// See `PulseTiming.isAsking`.
    var isAsking: Bool { timing.isAsking }

    /// Writes what is due. Returns when to be called again. The stream must be ready.
    func write() -> MediaTime {
        let now = MediaTime.now
        if let nextCall { reserve.woke(now: now, late: now - nextCall) }
        timing.ask()
        reserve.follow(now: now)
        let next = writeWhatIsDue(latest: now + (isSettled ? Self.longestWait : Self.firstWait)) ?? now
        nextCall = next
        return next
    }

    /// Returns when to be called again, at `latest`; nil: at once.
    private func writeWhatIsDue(latest: MediaTime) -> MediaTime? {
        for _ in 0..<Self.mostWrites {
            guard nextWrite <= .now else { return min(nextWrite, latest) }
            guard writeOnce() else { return latest }
        }
        return nil
    }

    private var isSettled: Bool { timing.taken >= Self.settling }

    /// When the server has only the reserve left.
    private var nextWrite: MediaTime {
        guard timing.position > 0 else { return .distantPast }
        // Until it answers for the first time it has enough.
        guard let end = timing.taking.time(of: timing.position) else { return .distantFuture }
        return end - (isSettled ? reserve.duration : Self.firstReserve)
    }

    private func writeOnce() -> Bool {
        var data: UnsafeMutableRawPointer?
        var count = Self.room * PulseFormat.frameSize
        guard pa_stream_begin_write(stream, &data, &count) >= 0, let data, count >= PulseFormat.frameSize else {
            return false
        }
        let room = min(count / PulseFormat.frameSize, Self.room)
        let samples = UnsafeMutableBufferPointer(
            start: data.bindMemory(to: Float.self, capacity: room * SoundBlock.channelCount),
            count: room * SoundBlock.channelCount)
        let given: Int
        if isSettled {
            let now = MediaTime.now
            let told = timing.clock.time(of: timing.position) ?? now + Self.usualLatency
            let latency = max(.zero, told + hiddenLatency - now)
            given = feed.play(samples, OutputDemand(now: now, latency: latency, isWhole: false))
        } else {
            samples.update(repeating: 0)
            given = room
        }
        timing.position += Int64(given)
        return pa_stream_write(stream, data, given * PulseFormat.frameSize, nil, 0, PA_SEEK_RELATIVE) >= 0
    }

    private func ranDry() {
        guard isSettled else { return }
        reserve.ranDry(now: .now)
        timing.ranDry()
    }
}
