import BeamMedia
import CBeamShell
import Glibc

/// A command of the person's, run once by the shell.
enum HookProcess {
    enum Outcome: Equatable {
        /// With an exit status, or the negative number of the signal that ended it; and the last line that it wrote.
        case ended(CInt, String)
        case overdue
        case notStarted(String)
    }

    /// Between two looks whether the command has ended while something in its background still has its output.
    private static let step: CInt = 20
    /// After SIGTERM, until SIGKILL.
    private static let grace = Duration.seconds(1)
    /// Of what the command writes, so much of its end is kept.
    private static let mostKept = 2048

    /// Runs `command`, and waits for its end.
    ///
    /// - Parameters:
    ///   - input: on its standard input; no more than a pipe takes at once (64 KiB).
    ///   - isOverdue: asked again and again; once it says so, the command and what it has started are ended.
    static func run(_ command: String, input: [UInt8], isOverdue: () -> Bool) -> Outcome {
        var ends: [CInt] = [-1, -1, -1, -1]
        defer { for end in ends where end >= 0 { close(end) } }
        let isMade = ends.withUnsafeMutableBufferPointer { ends in
            guard let base = ends.baseAddress else { return false }
            return pipe(base) == 0 && pipe(base + 2) == 0
        }
        guard isMade else { return .notStarted(String(cString: strerror(errno))) }
        // Nothing else in the program starts processes meanwhile, which could inherit them before.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var pid: pid_t = 0
        // Its own process group: Ctrl-C ends this program, which then runs the commands of its end in order. Its output doesn't
        // go onto the program's own, which may be JSON, nor between the lines of its status.
        let result = beam_start_shell(command, ends[0], ends[3], &pid)
        guard result == 0 else { return .notStarted(String(cString: strerror(result))) }
        for index in [0, 3] {
            close(ends[index])
            ends[index] = -1
        }
        // A command that doesn't read its input must not hold up this thread.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        _ = fcntl(ends[2], F_SETFL, O_NONBLOCK)
        _ = input.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
        close(ends[1])
        ends[1] = -1
        return wait(for: pid, output: ends[2], isOverdue)
    }

    private static func wait(for pid: pid_t, output: CInt, _ isOverdue: () -> Bool) -> Outcome {
        var (kept, isOpen) = ([UInt8](), true)
        var killAt: ContinuousClock.Instant?
        var status: CInt = 0
        while true {
            let ended = waitpid(pid, &status, WNOHANG)
            if isOpen { isOpen = read(output, into: &kept) }
            if ended == pid || ended < 0 && errno != EINTR { break }
            if isOpen {
                var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                _ = poll(&entry, 1, step)
            } else {
                _ = poll(nil, 0, step)
            }
            // Nobody but this thread reaps the process, so that its number is still its own.
            if let kill = killAt {
                if ContinuousClock.now >= kill { _ = Glibc.kill(-pid, SIGKILL) }
            } else if isOverdue() {
                _ = Glibc.kill(-pid, SIGTERM)
                killAt = .now + grace
            }
        }
        if killAt != nil {
            // What it has started may have ignored SIGTERM.
            _ = Glibc.kill(-pid, SIGKILL)
            return .overdue
        }
        return .ended(status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f), lastLine(kept))
    }

    /// Reads what there is, and keeps its end; false: there will be no more.
    private static func read(_ output: CInt, into kept: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        // Some at a time, so that a command that writes without end is still found overdue.
        for _ in 0..<16 {
            let count = Glibc.read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 && errno == EAGAIN }
            kept = Array((kept + buffer[..<count]).suffix(mostKept))
        }
        return true
    }

    private static func lastLine(_ bytes: [UInt8]) -> String {
        let line = bytes.split(separator: UInt8(ascii: "\n")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return ShownText.line(String(line.prefix(200)))
    }
}
