import BeamMedia
import BeamTrust
import Glibc
import Synchronization

/// Where other programs of the same user ask this one for its state, and have it do things: a Unix socket in a folder of
/// the user's (`RuntimeDirectory`), whose lines are JSON objects in both directions.
///
/// It answers each line in turn, by a thread of its own. A client that sends without reading, or a line without end, is
/// cut off; the others go on.
public final class ControlSocket: Sendable {
    /// At a time; further ones wait until one of them has gone.
    private static let mostClients = 16

    private let directory: RuntimeDirectory
    /// The socket's name in it.
    private let name: String
    private let listener: CInt
    /// A pipe. Its first end becomes readable when the thread is to end.
    private let wake: (CInt, CInt)
    private let thread: StageThread
    private let isClosed = Atomic<Bool>(false)

    /// Listens, and answers lines until `close`.
    ///
    /// - Parameter answer: the lines, each with its newline, that answer a line. Called on the socket's thread.
    public convenience init(answer: @escaping @Sendable ([UInt8]) -> [UInt8]) throws(ControlError) {
        let directory: RuntimeDirectory
        do {
            directory = try RuntimeDirectory.make()
        } catch {
            throw ControlError(reason: "\(error)")
        }
        try self.init(in: directory, answer: answer)
    }

    init(
        in directory: consuming RuntimeDirectory, answer: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) throws(ControlError) {
        Self.removeLeftBehind(directory)
        (name, listener) = try Self.listen(in: directory)
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            let code = errno
            directory.remove(name)
            Glibc.close(listener)
            throw ControlError(reason: String(cString: strerror(code)))
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        self.directory = directory
        wake = (ends[0], ends[1])
        thread = StageThread("beam-control") { [listener, end = ends[0]] in Self.serve(listener, until: end, answer) }
    }

    deinit { close() }

    /// Clients notice that the program has ended. Waits for the answer that is being made.
    public func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        directory.remove(name)
        Glibc.close(wake.1)
        thread.join()
        Glibc.close(listener)
        Glibc.close(wake.0)
    }

    // MARK: The socket's name

    /// The socket gets its name only once it listens: one at which nobody listens was left behind.
    private static func listen(in directory: borrowing RuntimeDirectory) throws(ControlError) -> (String, CInt) {
        let socket = ControlAddress.socket()
        guard socket >= 0 else { throw ControlError(reason: String(cString: strerror(errno))) }
        let name = ControlName(process: getpid()).text
        let temporary = ".\(name).new"
        directory.remove(temporary)
        guard ControlAddress.use(directory.socketPath(temporary), { bind(socket, $0, $1) }) == 0,
            Glibc.listen(socket, 64) == 0, directory.rename(temporary, to: name)
        else {
            let code = errno
            Glibc.close(socket)
            directory.remove(temporary)
            throw ControlError(reason: "\(directory.path): \(String(cString: strerror(code)))")
        }
        return (name, socket)
    }

    /// What programs have left that were killed.
    private static func removeLeftBehind(_ directory: borrowing RuntimeDirectory) {
        for name in directory.names(where: { ControlName($0)?.isOfThisSystem == true }) {
            switch ControlAddress.connect(directory.socketPath(name)) {
            case .refused: directory.remove(name)
            case .open(let descriptor): Glibc.close(descriptor)
            case .failed: break
            }
        }
    }

    // MARK: The thread

    private static func serve(_ listener: CInt, until end: CInt, _ answer: ([UInt8]) -> [UInt8]) {
        var clients: [Client] = []
        defer { for client in clients { Glibc.close(client.descriptor) } }
        while true {
            var entries = [
                pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                pollfd(fd: clients.count < mostClients ? listener : -1, events: Int16(POLLIN), revents: 0),
            ]
            entries += clients.map { pollfd(fd: $0.descriptor, events: Int16($0.awaited), revents: 0) }
            guard poll(&entries, nfds_t(entries.count), -1) >= 0 || errno == EINTR else { return }
            if entries[0].revents != 0 { return }
            for (index, entry) in entries.dropFirst(2).enumerated() where entry.revents != 0 {
                clients[index].turn(answer)
            }
            for client in clients where client.hasEnded { Glibc.close(client.descriptor) }
            clients.removeAll(where: \.hasEnded)
            guard entries[1].revents != 0 else { continue }
            let descriptor = ControlAddress.accept(listener)
            if descriptor >= 0 {
                clients.append(Client(descriptor: descriptor))
            } else if errno == EMFILE || errno == ENFILE {
                // Not again and again at once, until a descriptor is free.
                _ = poll(&entries, 1, 200)
            }
        }
    }

    /// A connection.
    private struct Client {
        let descriptor: CInt
        /// The beginning of a line.
        private var line: [UInt8] = []
        /// Answers on their way. Further lines wait until they are read.
        private var answers: [UInt8] = []
        private(set) var hasEnded = false

        init(descriptor: CInt) { self.descriptor = descriptor }

        /// For poll(2).
        var awaited: CInt { answers.isEmpty ? POLLIN : POLLOUT }

        mutating func turn(_ answer: ([UInt8]) -> [UInt8]) {
            if answers.isEmpty { receive(answer) }
            send()
        }

        private mutating func receive(_ answer: ([UInt8]) -> [UInt8]) {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            switch ControlAddress.progress(read(descriptor, &buffer, buffer.count)) {
            case .none: break
            case .ended: hasEnded = true
            case .bytes(let count):
                for byte in buffer.prefix(count) {
                    if byte == UInt8(ascii: "\n") {
                        if !line.isEmpty { answers += answer(line) }
                        line.removeAll(keepingCapacity: true)
                    } else {
                        line.append(byte)
                    }
                    if line.count > ProgramActions.longestLine || answers.count > ControlSocket.mostAnswered {
                        hasEnded = true
                        return
                    }
                }
            }
        }

        private mutating func send() {
            guard !answers.isEmpty, !hasEnded else { return }
            // MSG_NOSIGNAL: a client that has gone must not end the program.
            let sent = answers.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            switch ControlAddress.progress(sent) {
            case .bytes(let count): answers.removeFirst(count)
            case .none: break
            case .ended: hasEnded = true
            }
        }
    }

    /// Answers to what a client sends at once, in bytes: the state with ten thousand viewers has some 4 million.
    private static let mostAnswered = 8 << 20
}
