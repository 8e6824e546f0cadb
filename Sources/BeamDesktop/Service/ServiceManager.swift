import BeamClock
import BeamMedia
import CSystemd
import CLateLibraries
import Glibc
import Synchronization

/// The systemd that has started this process as a service, and wants to hear how it does (sd_notify(3)).
///
/// Each message is a datagram, which waits if systemd doesn't read: not for an event loop.
public final class ServiceManager: Sendable {
    /// How long systemd waits for a sign of life; nil: it doesn't wait for any.
    private let patience: Duration?
    private let lastSign = Mutex<MediaTime?>(nil)
    private let lastStatus = Mutex<String?>(nil)
    private let wasReady = Mutex(false)

    /// Nil: nobody wants to hear anything, or this machine has no libsystemd.
    public static let current = ServiceManager()

    private init?() {
        guard getenv("NOTIFY_SOCKET") != nil, beam_load_libsystemd() == nil else { return nil }
        var microseconds: UInt64 = 0
        let isWatched = sd_watchdog_enabled(0, &microseconds) > 0
        patience = isWatched ? .microseconds(Int64(clamping: microseconds)) : nil
    }

    /// The service does what it is for; `status`: what that is, in a line.
    public func ready(_ status: String) {
        wasReady.withLock { $0 = true }
        tell("READY=1\nSTATUS=\(Self.line(status))")
    }

    /// The service ends because it is meant to, whether it was ready or not. systemd takes an end before that for a
    /// failure, whatever the exit status, and would start it again.
    public func endsInOrder() {
        let wasReady = wasReady.withLock { wasReady in
            defer { wasReady = true }
            return wasReady
        }
        if !wasReady { tell("READY=1") }
    }

    /// What the service does now, in a line. What was said before isn't said again.
    public func show(_ status: String) {
        let isNew = lastStatus.withLock { last in
            defer { last = status }
            return last != status
        }
        if isNew { tell("STATUS=\(Self.line(status))") }
    }

    /// The settings are being read again; `ready` follows.
    public func reloading() {
        tell("RELOADING=1\nMONOTONIC_USEC=\(MediaTime.now.nanoseconds / 1000)")
    }

    /// The service is about to end.
    public func stopping() { tell("STOPPING=1") }

    /// A sign of life, if one is due. Call it about once a second, as long as the program does what it should.
    public func live(now: MediaTime = .now) {
        guard let patience else { return }
        let isDue = lastSign.withLock { last in
            // Two signs may be late or lost.
            if let last, now - last < patience / 3 { return false }
            last = now
            return true
        }
        if isDue { tell("WATCHDOG=1") }
    }

    private func tell(_ state: String) { _ = sd_notify(0, state) }

    /// Each assignment is a line.
    private static func line(_ text: String) -> String { String(text.map { $0.isNewline ? " " : $0 }) }
}
