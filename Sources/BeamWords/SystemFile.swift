import Glibc

/// What the system calls of this package have in common.
enum SystemFile {
    /// The system's description of an `errno`, as part of a sentence.
    static func message(_ code: CInt) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &text, text.count) == 0 else { return "error \(code)" }
        let words = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard words.dropFirst().first?.isLowercase == true else { return words }
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}

/// Wakes a thread that polls descriptors.
final class WakeEvent: Sendable {
    /// The ends of a pipe; nil if there were no descriptors left.
    private let pipe: (reader: CInt, writer: CInt)?

    init() {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else {
            pipe = nil
            return
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        pipe = (ends[0], ends[1])
    }

    deinit {
        guard let pipe else { return }
        close(pipe.reader)
        close(pipe.writer)
    }

    var isUsable: Bool { pipe != nil }

    /// Every wait returns from now on.
    func signal() {
        guard let pipe else { return }
        var byte: UInt8 = 1
        _ = write(pipe.writer, &byte, 1)
    }

    enum Result { case woken, ready, timedOut }

    /// Waits for the event, for input on one of `others` (negative: none), or until `timeout` ms have passed (negative:
    /// without end).
    func wait(for others: [CInt] = [], timeout: CInt) -> Result {
        var polled = ([pipe?.reader ?? -1] + others).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return .timedOut }
        if polled[0].revents != 0 { return .woken }
        return .ready
    }
}
