import ArgumentParser
import BeamProtocol
import Foundation
import Glibc

/// The six-digit code, from the command line or from a file.
struct CodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The six-digit code: at the viewer the one that the host shows, at the host the one to show. It is removed from the process list at once.",
            valueName: "digits"), transform: PairingCode.reading(OptionText.code))
    var code: PairingCode?
    @Option(
        help: ArgumentHelp(
            "A file with the six-digit code. Only you may be able to read it. At the host it serves any number of viewers; another code that is written into the file takes its place.",
            valueName: "file"))
    var codeFile: String?

    func validate() throws {
        guard code == nil || codeFile == nil else {
            throw ValidationError("Use --code or --code-file, not both.")
        }
    }

    /// The given code; nil if none was given. `isWanted`: as for `CodeFile.read`.
    func read(while isWanted: () -> Bool = { true }) throws(CodeFileError) -> PairingCode? {
        guard let codeFile else { return code }
        return try CodeFile(path: codeFile).read(while: isWanted)
    }
}

/// The code that a host or a member of a room shows.
struct DoorCodeOptions: ParsableArguments {
    @Flag(
        help:
            "Each code lets in one, and another follows. Without this, a code that is shown serves everybody for ten minutes, and one that you give always."
    )
    var codeOnce = false

    /// - Parameters:
    ///   - given: by the person; nil: none.
    ///   - isShown: random codes can be shown.
    ///   - isFile: the code is from a file, where the next one comes from, too.
    func hostCode(_ given: PairingCode?, isShown: Bool, isFile: Bool) -> HostCode {
        if let given {
            return codeOnce ? HostCode(given: given, isRenewed: isShown && !isFile) : HostCode(given: given)
        }
        return isShown ? .random(servesOne: codeOnce) : .none
    }
}

/// A file whose first line is a code of six digits.
struct CodeFile: Sendable {
    let path: String

    /// - Parameter isWanted: whether to go on waiting for a pipe's writer, asked ten times a second.
    func read(while isWanted: () -> Bool = { false }) throws(CodeFileError) -> PairingCode {
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
        guard let code = PairingCode(argument: String(text.prefix { !$0.isNewline })) else { throw .noCode(path) }
        return code
    }
}

extension CodeFile {
    /// What changes when the file is written; nil: it isn't a regular file, or isn't there.
    struct Stamp: Equatable, Sendable {
        var inode: UInt64
        var seconds: Int
        var nanoseconds: Int
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
            // Nothing yet, or a signal (Ctrl-C): whoever takes it may be about to end this.
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

enum CodeFileError: Error, CustomStringConvertible {
    case unreadable(String, reason: String)
    case openToOthers(String)
    case noCode(String)

    var description: String {
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

/// Removes secrets on the command line from the process list.
enum CommandLineSecrets {
    /// Overwrites the digits after `--code` in the process's arguments, which every user can read. Swift keeps its own copy.
    static func hide() {
        // The first access makes Swift copy the arguments.
        let count = CommandLine.arguments.count
        var isCode = false
        for index in 0..<count {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let text = String(cString: argument)
            if isCode {
                memset(argument, Int32(UInt8(ascii: "*")), strlen(argument))
            } else if text.hasPrefix("--code=") {
                memset(argument + 7, Int32(UInt8(ascii: "*")), strlen(argument) - 7)
            }
            isCode = text == "--code"
        }
    }
}
