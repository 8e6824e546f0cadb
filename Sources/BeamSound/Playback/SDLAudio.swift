import BeamMedia
import CSDL2
import Synchronization

/// SDL's audio, which is started for the first user and ended after the last one.
///
/// Through SDL_AudioInit rather than SDL_InitSubSystem: that counts its subsystems without a lock, and the main thread
/// starts and ends the video. Nothing of it needs the video.
enum SDLAudio {
    /// How many users there are. The lock is held while SDL starts and ends.
    private static let users = Mutex(0)
    /// More devices than these aren't looked at.
    private static let mostDevices: CInt = 256

    /// Sets what SDL reads when it starts. SDL's hints have no lock: call it where the window's hints are set, too.
    static func setHints() {
        SDL_SetHint(SDL_HINT_APP_NAME, "BeamRoom")
        SDL_SetHint(SDL_HINT_AUDIO_DEVICE_APP_NAME, "BeamRoom")
        SDL_SetHint(SDL_HINT_AUDIO_DEVICE_STREAM_NAME, "Shared sound")
        SDL_SetHint(SDL_HINT_AUDIO_DEVICE_STREAM_ROLE, "video")
    }

    /// Starts SDL's audio for one more user. May wait for a sound server.
    ///
    /// - Throws: `noOutput`.
    static func begin() throws(SoundError) {
        let failure: SoundError? = users.withLock { users in
            if users == 0, SDL_AudioInit(nil) != 0 { return .noOutput(reason: error) }
            users += 1
            return nil
        }
        if let failure { throw failure }
    }

    static func end() {
        users.withLock { users in
            users -= 1
            if users == 0 { SDL_AudioQuit() }
        }
    }

    /// Whether a sound server is to be looked for: the person hasn't chosen another driver in the environment.
    static var isPulseWanted: Bool {
        let wanted = SDL_GetHint(SDL_HINT_AUDIODRIVER).map { String(cString: $0) } ?? ""
        return wanted.isEmpty || wanted.hasPrefix("pulse")
    }

    /// `alsa`, `dummy`, …
    static var driver: String { SDL_GetCurrentAudioDriver().map { String(cString: $0) } ?? "" }

    /// What people call the devices that can play. Needs `begin`.
    static var names: [String] {
        (0..<min(max(0, SDL_GetNumAudioDevices(0)), mostDevices)).compactMap { index in
            SDL_GetAudioDeviceName(index, 0).map { String(cString: $0) }
        }
    }

    static var error: String {
        SDL_GetError().map { ShownText.line(String(cString: $0)) }.flatMap { $0.isEmpty ? nil : $0 }
            ?? "no reason is known"
    }
}
