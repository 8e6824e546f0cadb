import Foundation

/// Starting, reading, reaping.
extension ChildProcess {
    /// A file descriptor with close-on-exec; its owner closes it unless it was taken.
    final class Descriptor {
        private(set) var number: Int32

        init(_ number: Int32 = -1) {
            self.number = number
            if number >= 0 { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        }

        func take() -> Int32 {
            defer { number = -1 }
            return number
        }

        func close() {
            if number >= 0 { _ = Glibc.close(take()) }
        }

        deinit { close() }
    }

    /// The ends of a child's streams, ours and the child's.
    struct Ends {
        var input = Descriptor()
        var output: Descriptor
        var errors: Descriptor
        /// The child's 0, 1 and 2; without the first it reads nothing.
        var theirs: (Descriptor?, Descriptor, Descriptor)
        /// Our ends of outputs that nobody reads.
        var unread: [Descriptor] = []
        /// The path of the terminal that the child opens as its session's.
        var sessionTerminal: String?

        init(_ kind: Input, _ output: Outlet, _ errors: Outlet) throws {
            try self.init(kind)
            if let (ours, others) = try Self.outlet(output) { (self.output, theirs.1) = (keep(ours), others) }
            if let (ours, others) = try Self.outlet(errors) { (self.errors, theirs.2) = (keep(ours), others) }
        }

        private mutating func keep(_ ours: Descriptor?) -> Descriptor {
            if let ours { unread.append(ours) }
            return Descriptor()
        }

        /// Nil: the output is read as usual.
        private static func outlet(_ outlet: Outlet) throws -> (ours: Descriptor?, theirs: Descriptor)? {
            switch outlet {
            case .read: return nil
            case .closed: return (nil, Descriptor())
            case .brokenPipe: return (nil, try pipe().write)
            case .file(let path):
                let file = Descriptor(open(path, O_WRONLY))
                guard file.number >= 0 else { throw HarnessError.system("opening \(path)") }
                return (nil, file)
            case .stuckTerminal:
                let ends = try terminal()
                // As by Ctrl-S.
                guard tcflow(ends.write.number, TCOOFF) == 0 else { throw HarnessError.system("stopping a terminal") }
                return (ends.read, ends.write)
            case .stuckPipe:
                let ends = try pipe()
                // Opened again, so that it is non-blocking for us only.
                let filling = Descriptor(open("/proc/self/fd/\(ends.write.number)", O_WRONLY | O_NONBLOCK | O_NOCTTY))
                guard filling.number >= 0 else { throw HarnessError.system("opening an end once more") }
                for size in [4096, 1] {
                    let bytes = [UInt8](repeating: UInt8(ascii: "."), count: size)
                    while write(filling.number, bytes, size) > 0 {}
                }
                return (ends.read, ends.write)
            }
        }

        init(_ kind: Input) throws {
            let toRead = kind == .pipe ? try Self.pipe() : nil
            let toWrite = kind == .socket ? try Self.socketPair() : try Self.pipe()
            let hasTerminal = kind == .terminal || kind == .session
            let toComplain = hasTerminal ? try Self.terminal() : try Self.pipe()
            output = toWrite.read
            errors = toComplain.read
            theirs = (toRead?.read, toWrite.write, toComplain.write)
            switch kind {
            case .none: break
            case .pipe: input = toRead?.write ?? Descriptor()
            case .terminal, .session:
                input = Descriptor(dup(toComplain.read.number))
                theirs.0 = toComplain.write
                if kind == .session {
                    sessionTerminal = try FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/self/fd/\(toComplain.write.number)")
                }
            case .socket: theirs.0 = toWrite.write
            }
        }

        func closeTheirs() {
            for end in [theirs.0, theirs.1, theirs.2] { end?.close() }
        }

        private static func pipe() throws -> (read: Descriptor, write: Descriptor) {
            var ends: [Int32] = [-1, -1]
            guard Glibc.pipe(&ends) == 0 else { throw HarnessError.system("making a pipe") }
            return (Descriptor(ends[0]), Descriptor(ends[1]))
        }

        private static func socketPair() throws -> (read: Descriptor, write: Descriptor) {
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
                throw HarnessError.system("making a pair of sockets")
            }
            return (Descriptor(ends[0]), Descriptor(ends[1]))
        }

        /// Without echo: only the program's own output is to be read.
        private static func terminal() throws -> (read: Descriptor, write: Descriptor) {
            // TIOCSPTLCK and TIOCGPTN, which unlockpt and ptsname use. Swift can't import these functions.
            let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
            let ours = Descriptor(open("/dev/ptmx", O_RDWR | O_NOCTTY))
            var (isLocked, number) = (Int32(0), Int32(0))
            guard ours.number >= 0, ioctl(ours.number, unlock, &isLocked) == 0,
                ioctl(ours.number, getNumber, &number) == 0
            else { throw HarnessError.system("making a terminal") }
            let theirs = Descriptor(open("/dev/pts/\(number)", O_RDWR | O_NOCTTY))
            var settings = termios()
            guard theirs.number >= 0, tcgetattr(theirs.number, &settings) == 0 else {
                throw HarnessError.system("opening a terminal")
            }
            settings.c_lflag &= ~tcflag_t(ECHO)
            settings.c_oflag &= ~tcflag_t(OPOST)
            guard tcsetattr(theirs.number, TCSANOW, &settings) == 0 else {
                throw HarnessError.system("setting a terminal up")
            }
            return (ours, theirs)
        }
    }

    static func spawn(_ arguments: [String], _ environment: [String], _ ends: Ends) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let terminal = ends.sessionTerminal {
            // The first terminal that the leader of a session opens becomes the session's.
            posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
        } else if let input = ends.theirs.0 {
            posix_spawn_file_actions_adddup2(&actions, input.number, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        for (number, end) in [(Int32(1), ends.theirs.1), (2, ends.theirs.2)] {
            if end.number >= 0 {
                posix_spawn_file_actions_adddup2(&actions, end.number, number)
            } else {
                posix_spawn_file_actions_addclose(&actions, number)
            }
        }

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
        // POSIX_SPAWN_SETSID is a GNU extension, which Swift can't import. A new session has a new process group.
        let group = ends.sessionTerminal == nil ? Int32(POSIX_SPAWN_SETPGROUP) : 0x80
        posix_spawnattr_setflags(
            &attributes, Int16(group | Int32(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)))

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

    static func read(
        _ descriptor: Int32, while isWanted: (@Sendable () -> Bool)? = nil,
        raw: @escaping @Sendable (ArraySlice<UInt8>) -> Void = { _ in }, line: @escaping @Sendable (String) -> Void,
        atEnd: @escaping @Sendable () -> Void
    ) {
        Thread.detachNewThread {
            var lines = LineSplitter()
            var buffer = [UInt8](repeating: 0, count: 65536)
            while isWanted?() ?? true {
                if isWanted != nil {
                    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    guard poll(&wait, 1, 50) != 0 else { continue }
                }
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count <= 0 { break }
                raw(buffer[..<count])
                for text in lines.append(buffer[..<count]) { line(Self.lasting(text)) }
            }
            if let rest = lines.rest { line(Self.lasting(rest)) }
            close(descriptor)
            atEnd()
        }
    }

    /// What stays of a line on a terminal after ESC [K has erased earlier text.
    static func lasting(_ line: String) -> String {
        line.components(separatedBy: "\u{1B}[K").last ?? line
    }

    static func reap(_ pid: pid_t, _ state: Monitor<State>) {
        var info = siginfo_t()
        // A zombie until the lock is held: nobody can signal another process that got the same number.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        state.withLock { state in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
            let signal = status & 0x7f
            state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal: signal)
        }
    }
}
