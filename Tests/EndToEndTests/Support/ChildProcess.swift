import Foundation

/// A process of its own group, whose output is read by line as it comes, and which never outlives its owner.
final class ChildProcess: Sendable {
    enum Ending: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case killed(signal: Int32)

        var description: String {
            switch self {
            case .exited(let status): "exit status \(status)"
            case .killed(let signal): "killed by signal \(signal)"
            }
        }
    }

    struct State: Sendable {
        var output: [String] = []
        var errors: [String] = []
        var openStreams = 2
        var ending: Ending?
    }

    /// Held from making a pipe to the child's start: another child would inherit the pipe before it is closed on exec.
    private static let oneAtATime = Monitor(())

    let name: String
    let pid: pid_t
    /// Threads that read and wait hold this, not the process, so that letting go of the process ends it.
    let state = Monitor(State())

    private let input: Int32

    /// Starts `command`, a path or a name to look up in PATH. `environment` is added to this process's own, nil removes.
    init(_ command: String, _ arguments: [String], environment: [String: String?] = [:], hasInput: Bool = false) throws
    {
        name = (command as NSString).lastPathComponent
        var variables = ProcessInfo.processInfo.environment
        for (key, value) in environment { variables[key] = value }
        let (input, output, errors, pid) = try Self.oneAtATime.withLock { _ in
            let input = hasInput ? try Pipe() : nil
            let output = try Pipe()
            let errors = try Pipe()
            let pid = try Self.spawn(
                [command] + arguments, variables.map { "\($0)=\($1)" }, input: input?.readEnd,
                output: output.writeEnd, errors: errors.writeEnd)
            return (input?.takeWriteEnd() ?? -1, output, errors, pid)
        }
        self.pid = pid
        self.input = input
        let state = state
        Self.read(output.takeReadEnd()) { line in
            state.withLock { $0.output.append(line) }
        } atEnd: {
            state.withLock { $0.openStreams -= 1 }
        }
        Self.read(errors.takeReadEnd()) { line in
            state.withLock { $0.errors.append(line) }
        } atEnd: {
            state.withLock { $0.openStreams -= 1 }
        }
        Thread.detachNewThread { Self.reap(pid, state) }
    }

    deinit {
        end()
        if input >= 0 { close(input) }
    }

    /// Types a line on its standard input, which it must have been given.
    func type(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(input, bytes, bytes.count)
    }

    /// Everything it has said on standard error.
    var errorText: String { state.current.errors.joined(separator: "\n") }
    var outputText: String { state.current.output.joined(separator: "\n") }
    var isRunning: Bool { state.current.ending == nil }

    /// As Ctrl-C does.
    func interrupt() { signal(SIGINT, toGroup: false) }

    /// SIGKILL, to its children too.
    func kill() { signal(SIGKILL, toGroup: true) }

    func signal(_ number: Int32, toGroup: Bool) {
        state.withLock { state in
            // Not reaped while `ending` is nil and the lock is held, so the number is still its own.
            if state.ending == nil { _ = Glibc.kill(toGroup ? -pid : pid, number) }
        }
    }

    /// Waits until it has ended and everything it wrote has been read.
    func waitForEnd(timeout: Double = 20) throws -> Ending {
        let ending = state.wait(timeout: timeout) { $0.openStreams == 0 ? $0.ending : nil }
        guard let ending else {
            throw HarnessError("\(name) (process \(pid)) still runs after \(timeout.short) s; it said:\n\(errorText)")
        }
        return ending
    }

    /// Ends it whatever it does, and reaps it.
    func end() {
        kill()
        _ = state.wait(timeout: 10) { $0.ending }
    }

    /// Seconds of processor time so far, of all its threads.
    func processorSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // The second field is the name in brackets, which may hold blanks.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw HarnessError("/proc/\(pid)/stat isn't as expected: \(text)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

// MARK: - Starting, reading, reaping

extension ChildProcess {
    /// Both ends are closed on exec, and owned here until taken.
    private final class Pipe {
        private(set) var readEnd: Int32
        private(set) var writeEnd: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw HarnessError.system("making a pipe") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (readEnd, writeEnd) = (ends[0], ends[1])
        }

        func takeReadEnd() -> Int32 {
            defer { readEnd = -1 }
            return readEnd
        }

        func takeWriteEnd() -> Int32 {
            defer { writeEnd = -1 }
            return writeEnd
        }

        deinit {
            for end in [readEnd, writeEnd] where end >= 0 { close(end) }
        }
    }

    private static func spawn(
        _ arguments: [String], _ environment: [String], input: Int32?, output: Int32, errors: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var pid: pid_t = 0
        let command = arguments[0]
        let result = withCStrings(arguments) { arguments in
            withCStrings(environment) { environment in
                posix_spawnp(&pid, command, &actions, &attributes, arguments, environment)
            }
        }
        guard result == 0 else { throw HarnessError.system("starting \(command)", result) }
        return pid
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }

    private static func read(
        _ descriptor: Int32, line: @escaping @Sendable (String) -> Void, atEnd: @escaping @Sendable () -> Void
    ) {
        Thread.detachNewThread {
            var lines = LineSplitter()
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { break }
                for text in lines.append(buffer[..<count]) { line(text) }
            }
            if let rest = lines.rest { line(rest) }
            close(descriptor)
            atEnd()
        }
    }

    private static func reap(_ pid: pid_t, _ state: Monitor<State>) {
        var info = siginfo_t()
        // Left as a zombie until the lock is held: nobody can signal a process that has taken over the number.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        state.withLock { state in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
            let signal = status & 0x7f
            state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal)
        }
    }
}

/// Cuts a stream of bytes into lines.
struct LineSplitter {
    private var pending: [UInt8] = []

    /// The lines that these bytes end, without their line feeds.
    mutating func append(_ bytes: some Sequence<UInt8>) -> [String] {
        pending += bytes
        var lines: [String] = []
        while let end = pending.firstIndex(of: 0x0a) {
            lines.append(String(decoding: pending[..<end], as: UTF8.self))
            pending.removeSubrange(...end)
        }
        return lines
    }

    /// What stands after the last line feed.
    var rest: String? { pending.isEmpty ? nil : String(decoding: pending, as: UTF8.self) }
}
