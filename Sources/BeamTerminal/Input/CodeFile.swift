import BeamWire
import Glibc

/// A file whose first line is a code of six digits.
public struct CodeFile: Sendable {
    let path: String

    public init(path: String) { self.path = path }

    /// - Parameter isWanted: whether to go on waiting for a pipe's writer, asked ten times a second.
    public func read(while isWanted: () -> Bool = { false }) throws(CodeFileError) -> PairingCode {
        // Without O_NONBLOCK, opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(path, reason: String(cString: strerror(errno)))
        }
        guard status.st_mode & 0o077 == 0 || status.st_mode & S_IFMT != S_IFREG else { throw .openToOthers(path) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Self.readLine(descriptor, into: &bytes, while: isWanted)
        guard count >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        guard let code = PairingCode.typed(String(text.prefix { !$0.isNewline })) else { throw .noCode(path) }
        return code
    }
}

extension CodeFile {
    /// What changes when the file is written; nil: it isn't a regular file, or isn't there.
    public struct Stamp: Equatable, Sendable {
        public var inode: UInt64
        public var seconds: Int
        public var nanoseconds: Int
    }

    var stamp: Stamp? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Stamp(
            inode: UInt64(status.st_ino), seconds: Int(status.st_mtim.tv_sec), nanoseconds: Int(status.st_mtim.tv_nsec))
    }

    /// Reads up to a line's end, the file's end, or until `bytes` are full. Returns the number of bytes, or -1.
    private static func readLine(_ descriptor: CInt, into bytes: inout [UInt8], while isWanted: () -> Bool) -> Int {
        var count = 0
        while count < bytes.count, !bytes[..<count].contains(UInt8(ascii: "\n")) {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let events = poll(&ready, 1, 100)
            // Nothing yet, or a signal (Ctrl-C), which may be about to end the program.
            if events == 0 || events < 0 && errno == EINTR {
                if isWanted() { continue }
                break
            }
            let room = bytes.count - count
            let read = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress.map { $0 + count }, room) }
            if read < 0, errno == EINTR || errno == EAGAIN { continue }
            guard read >= 0 else { return -1 }
            if read == 0 { break }
            count += read
        }
        return count
    }
}

public enum CodeFileError: Error, CustomStringConvertible {
    case unreadable(String, reason: String)
    case openToOthers(String)
    case noCode(String)

    public var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "The code file \(path) can't be read: \(reason). Write six digits into it, and run `chmod 600` on it."
        case .openToOthers(let path):
            "Other users can read the code file \(path). Run `chmod 600 \(path)`, and change the code."
        case .noCode(let path):
            "The first line of the code file \(path) isn't a code. Write six digits into it, as in 482913."
        }
    }
}
