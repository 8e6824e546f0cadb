import ArgumentParser
import BeamProtocol
import Foundation
import Glibc

/// The six-digit code, from the command line or from a file.
struct CodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The six-digit code: at the viewer the one that the host shows, at the host the one to show. It is removed from the process list at once.",
            valueName: "digits"), transform: PairingCode.reading(OptionWords.code))
    var code: PairingCode?
    @Option(help: ArgumentHelp("A file with the six-digit code. Only you may be able to read it.", valueName: "file"))
    var codeFile: String?

    func validate() throws {
        guard code == nil || codeFile == nil else {
            throw ValidationError("Use --code or --code-file, not both.")
        }
    }

    /// The given code; nil if none was given.
    func read() throws(CodeFileError) -> PairingCode? {
        guard let codeFile else { return code }
        return try CodeFile(path: codeFile).read()
    }
}

/// A file whose first line is a code of six digits.
struct CodeFile: Sendable {
    let path: String

    func read() throws(CodeFileError) -> PairingCode {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(path, reason: String(cString: strerror(errno)))
        }
        guard status.st_mode & 0o077 == 0 || status.st_mode & S_IFMT != S_IFREG else { throw .openToOthers(path) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        guard let code = PairingCode(argument: String(text.prefix { !$0.isNewline })) else { throw .noCode(path) }
        return code
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
