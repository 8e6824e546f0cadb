import BeamClock
import BeamMedia
import CLateLibraries
import CPulse

/// The loop that runs libpulse's work, on the thread that turns it. libpulse has to be loaded.
final class PulseLoop: @unchecked Sendable {
    // Sendable: other threads call only `wake`, whose function of libpulse is made for that. The pointer never changes.
    private let pointer: OpaquePointer
    private static let mostPasses = 16

    /// Nil without memory or descriptors.
    init?() {
        guard let pointer = pa_mainloop_new() else { return nil }
        self.pointer = pointer
    }

    deinit { pa_mainloop_free(pointer) }

    var api: UnsafeMutablePointer<pa_mainloop_api>? { pa_mainloop_get_api(pointer) }

    /// Waits until something happens, at most until `deadline`, and handles it. Not longer than a minute.
    func turn(until deadline: MediaTime) {
        let microseconds = max(0, min((deadline - .now).inNanoseconds, 60_000_000_000) + 999) / 1000
        guard pa_mainloop_prepare(pointer, CInt(microseconds)) >= 0, pa_mainloop_poll(pointer) >= 0 else { return }
        _ = pa_mainloop_dispatch(pointer)
    }

    /// Handles what has happened already, without waiting.
    func turn() {
        // Each pass takes a message or two of a connection.
        for _ in 0..<Self.mostPasses {
            guard pa_mainloop_prepare(pointer, 0) >= 0, pa_mainloop_poll(pointer) >= 0,
                pa_mainloop_dispatch(pointer) > 0
            else { return }
        }
    }

    /// Makes `turn` return soon, also the next one. Any thread may call this.
    func wake() { pa_mainloop_wakeup(pointer) }
}

/// Loads libpulse.
enum Pulse {
    static func load() throws(SoundError) {
        if let reason = beam_load_libpulse() { throw .noLibrary(package: "libpulse0", reason: String(cString: reason)) }
    }

    static func message(_ error: CInt) -> String {
        PulseText.shown(pa_strerror(error)).map { $0.prefix(1).lowercased() + $0.dropFirst() } ?? "error \(error)"
    }
}
