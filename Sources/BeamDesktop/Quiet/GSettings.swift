import BeamClock
import BeamMedia
import CBeamShell
import Glibc

/// GNOME's setting of whether notices pop up, by the program that every GNOME has.
struct GSettings {
    /// Its name or path.
    var program = "gsettings"

    private static let key = "org.gnome.desktop.notifications show-banners"
    /// How long the program may take.
    private static let timeout = Duration.seconds(5)
    /// Of its output.
    private static let mostBytes = 4096

    /// Nil: there is no such setting, or it can't be read.
    var showsBanners: Bool? {
        // Warnings come before it.
        switch run("get \(Self.key)")?.split(separator: "\n").last {
        case "true": true
        case "false": false
        default: nil
        }
    }

    /// False if it can't be set.
    func setShowsBanners(_ shows: Bool) -> Bool { run("set \(Self.key) \(shows)") != nil }

    /// What it writes; nil: it can't be started, fails, or takes too long.
    private func run(_ arguments: String) -> String? {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        defer { for end in ends where end >= 0 { close(end) } }
        var pid: pid_t = 0
        let command = "exec \(program) \(arguments) </dev/null"
        guard beam_start_shell(command, ends[1], ends[1], &pid) == 0 else { return nil }
        close(ends[1])
        ends[1] = -1
        let deadline = MediaTime.now + Self.timeout
        let output = Self.read(from: ends[0], until: deadline)
        return Self.waitForEnd(of: pid, until: deadline) == 0 ? String(decoding: output, as: UTF8.self) : nil
    }

    private static func read(from descriptor: CInt, until deadline: MediaTime) -> [UInt8] {
        var output: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 1024)
        while MediaTime.now < deadline, output.count < mostBytes {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 100) > 0 else { continue }
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            guard count > 0 else { break }
            output += bytes[..<count]
        }
        return output
    }

    /// The exit status as waitpid(2) has it; nil: it has been ended because it took too long.
    private static func waitForEnd(of pid: pid_t, until deadline: MediaTime) -> CInt? {
        var status: CInt = 0
        while waitpid(pid, &status, WNOHANG) == 0 {
            guard MediaTime.now < deadline else {
                // Its number is its own until it is waited for.
                _ = kill(-pid, SIGKILL)
                _ = waitpid(pid, &status, 0)
                return nil
            }
            usleep(2000)
        }
        return status
    }
}
