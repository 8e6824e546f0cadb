import Foundation

/// A child in its own process group. Its output is read line by line; it is ended with its owner.
final class ChildProcess: Sendable {
    /// Its standard input, and with some cases its output as well.
    enum Input: Sendable {
        case none
        /// A pipe; `type` writes into it.
        case pipe
        /// A terminal; `type` writes into it. Its standard error is the terminal, too.
        case terminal
        /// The same, and it is the terminal of a new session that the child leads, as for a shell in a window. `hangUp`
        /// closes the window.
        case session
        /// `socket`, which is its standard output, too.
        case socket
    }

    /// Where an output stream goes.
    enum Outlet: Sendable {
        /// To a pipe that this process reads.
        case read
        /// To a full pipe that nobody reads.
        case stuckPipe
        /// To a terminal that was stopped, as by Ctrl-S.
        case stuckTerminal
        case file(String)
        /// To a pipe whose reader has gone.
        case brokenPipe
        case closed
    }

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
        /// Standard error as it came, with what moves the cursor.
        var rawErrors: [UInt8] = []
        var openStreams = 2
        var ending: Ending?
    }

    /// Held from the making of a pipe until the child has started. Otherwise another child could inherit the pipe
    /// before it is set to close on exec.
    static let oneAtATime = {
        // Writing to a child that has ended must return an error instead of ending all tests. Children begin with the
        // default.
        Glibc.signal(SIGPIPE, SIG_IGN)
        return Monitor(())
    }()

    /// Runs `body`, which makes descriptors without close-on-exec, while no child is started that could inherit them.
    static func whileNoneStarts<Result>(_ body: () throws -> Result) rethrows -> Result {
        try oneAtATime.withLock { _ in try body() }
    }

    let name: String
    let pid: pid_t
    /// The threads that read and wait hold this value only, so that releasing the process ends it.
    let state = Monitor(State())

    private let input: Monitor<Int32>
    /// Our ends of outputs that nobody reads.
    private let unread: [Int32]
    /// With `.socket`: the other end of its standard input and output.
    let socket: Socket?

    /// Starts `command`, a path or a name in PATH. `environment` is added to this process's own; nil removes a
    /// variable.
    init(
        _ command: String, _ arguments: [String], environment: [String: String?] = [:], input kind: Input = .none,
        output: Outlet = .read, errors: Outlet = .read
    ) throws {
        name = (command as NSString).lastPathComponent
        var variables = ProcessInfo.processInfo.environment
        for (key, value) in environment { variables[key] = value }
        let (ends, pid) = try Self.oneAtATime.withLock { _ in
            let ends = try Ends(kind, output, errors)
            return (ends, try Self.spawn([command] + arguments, variables.map { "\($0)=\($1)" }, ends))
        }
        ends.closeTheirs()
        self.pid = pid
        input = Monitor(ends.input.take())
        unread = ends.unread.map { $0.take() }
        socket = kind == .socket ? Socket(taking: ends.output.take()) : nil
        let (state, input) = (state, input)
        if kind == .socket || ends.output.number < 0 {
            state.withLock { $0.openStreams -= 1 }
        } else {
            Self.read(ends.output.take()) { line in
                state.withLock { $0.output.append(line) }
            } atEnd: {
                state.withLock { $0.openStreams -= 1 }
            }
        }
        if ends.errors.number < 0 {
            state.withLock { $0.openStreams -= 1 }
        } else {
            // After `hangUp` nothing may keep the terminal open.
            let isOpen: (@Sendable () -> Bool)? = if kind == .session { { input.current >= 0 } } else { nil }
            Self.read(ends.errors.take(), while: isOpen) { bytes in
                state.withLock { $0.rawErrors += bytes }
            } line: { line in
                state.withLock { $0.errors.append(line) }
            } atEnd: {
                state.withLock { $0.openStreams -= 1 }
            }
        }
        Thread.detachNewThread { Self.reap(pid, state) }
    }

    deinit {
        end()
        hangUp()
        for end in unread where end >= 0 { close(end) }
    }

    /// Closes our end of its standard input; with `.session` all of the terminal, as if its window was closed.
    func hangUp() {
        input.withLock { input in
            if input >= 0 { close(input) }
            input = -1
        }
    }

    /// Types a line on its standard input, which must be a pipe or a terminal.
    func type(_ line: String) { send(line + "\n") }

    /// Types keys, without Enter.
    func send(_ keys: String) {
        let bytes = Array(keys.utf8)
        input.withLock { _ = write($0, bytes, bytes.count) }
    }

    /// Presses a key alone, which is a command, and gives it the time to act.
    func press(_ key: String) {
        pause(seconds: 0.5)
        send(key)
        pause(seconds: 0.5)
    }

    /// Begins a note at its terminal.
    func beginNote() throws {
        let mark = Array("Enter sends the note".utf8)
        let before = state.current.rawErrors.split(separator: mark).count
        press("n")
        guard state.wait(timeout: 30, { $0.rawErrors.split(separator: mark).count > before ? true : nil }) != nil else {
            throw HarnessError("no note is begun; \(name) said:\n\(errorText)")
        }
    }

    /// Makes its terminal this large. The job in the foreground is told.
    func resize(columns: Int, rows: Int) {
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        input.withLock { _ = ioctl($0, UInt(TIOCSWINSZ), &size) }
    }

    /// What stands on its terminal, if that had this width from the start.
    func screen(columns: Int) -> TerminalScreen {
        var screen = TerminalScreen(columns: columns)
        screen.write(state.current.rawErrors)
        return screen
    }

    /// The settings of its terminal, which must be its standard input.
    var terminalSettings: termios? {
        var settings = termios()
        return input.withLock { tcgetattr($0, &settings) } == 0 ? settings : nil
    }

    /// All of its standard error.
    var errorText: String { state.current.errors.joined(separator: "\n") }
    var outputText: String { state.current.output.joined(separator: "\n") }
    var isRunning: Bool { state.current.ending == nil }

    /// SIGINT, as by Ctrl-C.
    func interrupt() { signal(SIGINT, toGroup: false) }

    /// SIGKILL, for its children too.
    func kill() { signal(SIGKILL, toGroup: true) }

    func signal(_ number: Int32, toGroup: Bool) {
        state.withLock { state in
            // While `ending` is nil and the lock is held, it isn't reaped, so that the process number is still its own.
            if state.ending == nil { _ = Glibc.kill(toGroup ? -pid : pid, number) }
        }
    }

    /// Waits until it has ended and all its output was read.
    func waitForEnd(timeout: Double = 30) throws -> Ending {
        let ending = state.wait(timeout: timeout) { $0.openStreams == 0 ? $0.ending : nil }
        guard let ending else {
            throw HarnessError("\(name) (process \(pid)) still runs after \(timeout.short) s; it said:\n\(errorText)")
        }
        return ending
    }

    /// Kills and reaps it if it still runs.
    func end() {
        kill()
        _ = state.wait(timeout: 30) { $0.ending }
    }

    /// Waits until the program takes SIGINT itself (the signal's bit in SigIgn or SigCgt of proc_pid_status(5)).
    /// Before, an interrupt would kill it, as with any program that is just starting.
    func waitUntilItTakesInterrupts(timeout: Double = 30) throws {
        let end = secondsNow() + timeout
        while secondsNow() < end {
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            for line in status.split(separator: "\n") where line.hasPrefix("SigIgn:") || line.hasPrefix("SigCgt:") {
                let set = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) ?? 0
                if set & 1 << UInt64(SIGINT - 1) != 0 { return }
            }
            pause(seconds: 0.02)
        }
        throw HarnessError("\(name) (process \(pid)) doesn't take interrupts after \(timeout.short) s")
    }

    /// Processor time of all its threads so far, in seconds.
    func processorSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // The second field is the name in brackets, which may contain spaces.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw HarnessError("/proc/\(pid)/stat isn't as expected: \(text)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// How long its threads have waited for a processor so far, all together, in seconds.
    func waitingSeconds() throws -> Double { try schedulingSeconds { _ in true }.waiting }

    /// Processor time of threads whose names begin with `prefix`, to the nanosecond.
    func processorSeconds(ofThreads prefix: String) throws -> Double {
        try schedulingSeconds { $0.hasPrefix(prefix) }.running
    }

    /// Of the threads whose names `isMeant` accepts (Documentation/scheduler/sched-stats of Linux: nanoseconds on a
    /// processor, nanoseconds in a run queue).
    private func schedulingSeconds(of isMeant: (String) -> Bool) throws -> (running: Double, waiting: Double) {
        let tasks = "/proc/\(pid)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce((0, 0)) { sum, task in
            guard let name = try? String(contentsOfFile: "\(tasks)/\(task)/comm", encoding: .utf8), isMeant(name)
            else { return sum }
            let text = try String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8)
            let fields = text.split(separator: " ").compactMap { Double($0) }
            guard fields.count > 1 else {
                throw HarnessError("\(tasks)/\(task)/schedstat isn't as expected: \(text)")
            }
            return (sum.running + fields[0] / 1e9, sum.waiting + fields[1] / 1e9)
        }
    }
}
