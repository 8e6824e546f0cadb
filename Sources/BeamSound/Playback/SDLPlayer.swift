import BeamClock
import BeamMedia
import CSDL2

/// Plays through SDL on an open device, with ALSA and the like, until it is closed.
///
/// The clock is used on SDL's audio thread only.
final class SDLPlayer: @unchecked Sendable {
    // Sendable: `clock` is used on SDL's audio thread only, which runs from the end of `init` until `close`.

    /// SDL keeps two blocks in the device.
    private static let usualLatency = Duration.milliseconds(11)

    private let feed: OutputFeed
    private var clock = OutputClock(latency: usualLatency)
    private var identifier: SDL_AudioDeviceID = 0

    /// Opens the device and lets it play. SDL's audio must have begun.
    ///
    /// - Parameter device: one of `SDLAudio.names`; nil: the default one.
    /// - Throws: `noOutput`.
    init(_ feed: OutputFeed, device: String?) throws(SoundError) {
        self.feed = feed
        var wanted = SDL_AudioSpec()
        wanted.freq = CInt(SoundBlock.sampleRate)
        wanted.format = SDL_AudioFormat(AUDIO_F32SYS)
        wanted.channels = UInt8(SoundBlock.channelCount)
        wanted.samples = UInt16(SoundOutput.step)
        // Kept alive until the device is closed.
        wanted.userdata = Unmanaged.passUnretained(self).toOpaque()
        wanted.callback = { userdata, bytes, count in
            guard let userdata, let bytes else { return }
            let length = Int(count) / MemoryLayout<Float>.size
            bytes.withMemoryRebound(to: Float.self, capacity: length) {
                Unmanaged<SDLPlayer>.fromOpaque(userdata).takeUnretainedValue()
                    .play(UnsafeMutableBufferPointer(start: $0, count: length))
            }
        }
        identifier = SDL_OpenAudioDevice(device, 0, &wanted, nil, 0)
        guard identifier > 0 else { throw .noOutput(reason: SDLAudio.error) }
        SDL_PauseAudioDevice(identifier, 0)
    }

    var isPlaying: Bool { SDL_GetAudioDeviceStatus(identifier) == SDL_AUDIO_PLAYING }

    /// Waits for the audio thread.
    func close() { SDL_CloseAudioDevice(identifier) }

    private func play(_ samples: UnsafeMutableBufferPointer<Float>) {
        let now = MediaTime.now
        let latency = clock.asked(for: samples.count / SoundBlock.channelCount, now: now)
        feed.play(samples, OutputDemand(now: now, latency: latency, isWhole: true))
    }
}
