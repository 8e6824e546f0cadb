import BeamMedia
import Foundation
import Glibc
import Synchronization

/// A child process running this program. Its output is read line by line, and it is killed with its owner.
final class ChildProgram: Sendable {
    enum Ending: Equatable, Sendable, CustomStringConvertible {
        case exited(CInt)
        case killed(CInt)

        var description: String {
            switch self {
            case .exited(let status): "exit status \(status)"
            case .killed(let signal): "killed by signal \(signal)"
            }
        }
    }

    /// In bytes. Longer lines are truncated, because lines are kept in memory.
    private static let maxLineBytes = 1 << 20

    let pid: pid_t
    /// The number of its messages in the mailbox.
    let number: Int
    /// Whether it has been reaped. Signals are sent under this lock, so that they can't reach another process that
    /// reuses the pid.
    private let reaped: Reaped
    private let thread: StageThread

    private final class Reaped: Sendable {
        let isDone = Mutex(false)
    }

    /// Starts `program` with `arguments`; `environment` is added to this process's own.
    ///
    init(
        _ program: String, _ arguments: [String], environment: [String: String], number: Int, mailbox: Mailbox
    ) throws(MeasureError) {
        let pipes = try Pipes(program)
        let pid = try Self.spawn(program, arguments, environment, pipes)
        pipes.closeTheirs()
        let reaped = Reaped()
        self.pid = pid
        self.number = number
        self.reaped = reaped
        thread = StageThread("beam-measured") {
            Self.read(pipes, number, mailbox)
            let ending = Self.reap(pid, reaped)
            mailbox.put(.ended(number, ending))
        }
    }

    deinit {
        signal(SIGKILL)
        thread.join()
    }

    /// Does nothing if the process has ended.
    func signal(_ signal: CInt) {
        reaped.isDone.withLock { isDone in
            if !isDone { _ = kill(pid, signal) }
        }
    }

    // MARK: Starting

    /// The pipes for its standard output and error; the writing ends are closed once the child has them.
    private final class Pipes: Sendable {
        let output: CInt
        let errors: CInt
        private let theirs: Mutex<[CInt]>

        var outputWriter: CInt { theirs.withLock { $0[0] } }
        var errorsWriter: CInt { theirs.withLock { $0[1] } }

        init(_ program: String) throws(MeasureError) {
            var ends: [CInt] = [-1, -1, -1, -1]
            let isMade = ends.withUnsafeMutableBufferPointer { ends in
                guard let base = ends.baseAddress else { return false }
                return pipe(base) == 0 && pipe(base + 2) == 0
            }
            let code = errno
            // Only one thread starts processes, so no other child inherits these before FD_CLOEXEC is set.
            for end in ends where end >= 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            output = ends[0]
            errors = ends[2]
            theirs = Mutex([ends[1], ends[3]])
            // `deinit` closes what was opened.
            guard isMade else { throw .cannotStart(program: program, reason: SystemError.message(code)) }
        }

        func closeTheirs() {
            theirs.withLock { ends in
                for end in ends where end >= 0 { close(end) }
                ends = []
            }
        }

        deinit {
            closeTheirs()
            for end in [output, errors] where end >= 0 { close(end) }
        }
    }

    private static func spawn(
        _ program: String, _ arguments: [String], _ environment: [String: String], _ pipes: Pipes
    ) throws(MeasureError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, pipes.outputWriter, 1)
        posix_spawn_file_actions_adddup2(&actions, pipes.errorsWriter, 2)

        // Its own process group, so that Ctrl-C goes to this process only, which then ends the child in order.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let settings = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, program, &actions, &attributes, words, settings)
        guard result == 0 else { throw .cannotStart(program: program, reason: SystemError.message(result)) }
        return pid
    }

    // MARK: Reading, reaping

    private static func read(_ pipes: Pipes, _ number: Int, _ mailbox: Mailbox) {
        var entries = [
            pollfd(fd: pipes.output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: pipes.errors, events: Int16(POLLIN), revents: 0),
        ]
        var lines = [LineCutter(limit: maxLineBytes), LineCutter(limit: maxLineBytes)]
        var buffer = [UInt8](repeating: 0, count: 65536)
        // poll ignores negative descriptors.
        while entries.contains(where: { $0.fd >= 0 }) {
            guard poll(&entries, 2, -1) > 0 else {
                if errno == EINTR { continue }
                return
            }
            for index in 0..<2 where entries[index].fd >= 0 && entries[index].revents != 0 {
                let count = Glibc.read(entries[index].fd, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                let texts = count > 0 ? lines[index].append(buffer[..<count]) : lines[index].rest
                for text in texts {
                    mailbox.put(index == 0 ? .line(number, text) : .words(number, text))
                }
                if count <= 0 { entries[index].fd = -1 }
            }
        }
    }

    private static func reap(_ pid: pid_t, _ reaped: Reaped) -> Ending {
        var info = siginfo_t()
        // WNOWAIT leaves it to be reaped under the lock; until then its pid can't be reused.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return reaped.isDone.withLock { isDone in
            var status: CInt = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            isDone = true
            return status & 0x7f == 0 ? .exited(status >> 8 & 0xff) : .killed(status & 0x7f)
        }
    }
}

struct LineCutter {
    let limit: Int
    private var pending: [UInt8] = []

    init(limit: Int) { self.limit = limit }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [String] {
        var lines: [String] = []
        var bytes = bytes
        while let end = bytes.firstIndex(of: 0x0a) {
            pending += bytes[..<end].prefix(max(0, limit - pending.count))
            lines.append(String(decoding: pending, as: UTF8.self))
            pending.removeAll(keepingCapacity: true)
            bytes = bytes[bytes.index(after: end)...]
        }
        pending += bytes.prefix(max(0, limit - pending.count))
        return lines
    }

    /// The text after the last newline.
    var rest: [String] { pending.isEmpty ? [] : [String(decoding: pending, as: UTF8.self)] }
}

/// The running program's executable.
public enum OwnProgram {
    /// Its path, or, if the file has been replaced since the start, a path to the original through /proc.
    public static var path: String {
        let link = "/proc/self/exe"
        var (there, running) = (stat(), stat())
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link),
            stat(path, &there) == 0, stat(link, &running) == 0, there.st_ino == running.st_ino,
            there.st_dev == running.st_dev
        else { return "/proc/\(getpid())/exe" }
        return path
    }
}
