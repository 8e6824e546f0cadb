import BeamMedia
import BeamTrust
import Foundation
import Glibc

/// A running `share`, `relay` or `room` of this user, as another program of the user's reaches it (`ControlSocket`).
public final class ControlClient {
    /// How long an answer is waited for. It takes milliseconds, unless the program was stopped (Ctrl-Z).
    private static let patience = Duration.seconds(5)
    private static let longestAnswer = 8 << 20

    /// The program's process.
    public let process: pid_t
    private let descriptor: CInt
    private var received: [UInt8] = []

    private init(process: pid_t, descriptor: CInt) { (self.process, self.descriptor) = (process, descriptor) }

    deinit { close(descriptor) }

    /// All of them, by process number.
    public struct Found: ~Copyable {
        public internal(set) var clients: [ControlClient] = []
        /// Processes that run, and take no connection: many wait already.
        public internal(set) var busy: [pid_t] = []
    }

    public static func running() throws(ControlError) -> Found {
        var found = Found()
        do throws(RuntimeDirectoryError) {
            for path in RuntimeDirectory.candidates {
                guard let directory = try RuntimeDirectory.existing(at: path) else { continue }
                running(in: directory, into: &found)
            }
        } catch {
            throw ControlError(reason: "\(error)")
        }
        found.clients.sort { $0.process < $1.process }
        return found
    }

    static func running(in directory: borrowing RuntimeDirectory, into found: inout Found) {
        for text in directory.names(where: { ControlName($0)?.isOfThisSystem == true }) {
            guard let name = ControlName(text) else { continue }
            switch ControlAddress.connect(directory.socketPath(text)) {
            case .open(let descriptor):
                found.clients.append(ControlClient(process: name.process, descriptor: descriptor))
            case .failed(EAGAIN): found.busy.append(name.process)
            case .refused, .failed: continue
            }
        }
    }

    /// What is said of a program that doesn't answer.
    public static func noAnswer(of process: pid_t) -> ControlError {
        ControlError(
            reason: "process \(process) doesn't answer. Was it stopped (Ctrl-Z)? `fg` in its terminal wakes it")
    }

    /// Sends a line, and waits for the answer: an object with `event`.
    public func ask(_ line: [String: JSONValue]) throws(ControlError) -> JSONValue {
        let deadline = ContinuousClock.now + Self.patience
        // Names and numbers: encoding cannot fail.
        var rest = ((try? JSONEncoder().encode(line)).map(Array.init) ?? []) + [UInt8(ascii: "\n")]
        while !rest.isEmpty {
            try wait(for: POLLOUT, until: deadline)
            let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            switch ControlAddress.progress(sent) {
            case .bytes(let count): rest.removeFirst(count)
            case .none: break
            case .ended: throw ControlError(reason: "process \(process) has just ended")
            }
        }
        return try answer(until: deadline)
    }

    private func answer(until deadline: ContinuousClock.Instant) throws(ControlError) -> JSONValue {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Data(received[..<end])
                received.removeSubrange(...end)
                guard let value = try? JSONDecoder().decode(JSONValue.self, from: line), value.object != nil else {
                    throw ControlError(reason: "process \(process) has answered something that isn't JSON")
                }
                return value
            }
            guard received.count < Self.longestAnswer else {
                throw ControlError(reason: "the answer of process \(process) is too long")
            }
            try wait(for: POLLIN, until: deadline)
            guard try receive() else { throw ControlError(reason: "process \(process) has just ended") }
        }
    }

    /// Waits until the program has ended. False: it hasn't within the time.
    public func waitForEnd(atMost time: Duration) -> Bool {
        let deadline = ContinuousClock.now + time
        do {
            repeat { try wait(for: POLLIN, until: deadline) } while try receive()
            return true
        } catch {
            return false
        }
    }

    /// False at the end.
    private func receive() throws(ControlError) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        switch ControlAddress.progress(read(descriptor, &buffer, buffer.count)) {
        case .bytes(let count): received += buffer.prefix(count)
        case .none: break
        case .ended: return false
        }
        return true
    }

    private func wait(for events: CInt, until deadline: ContinuousClock.Instant) throws(ControlError) {
        while true {
            let left = (deadline - .now).inSeconds
            guard left > 0 else {
                throw Self.noAnswer(of: process)
            }
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            if poll(&entry, 1, CInt(clamping: Int((left * 1000).rounded(.up)))) > 0 { return }
        }
    }
}
