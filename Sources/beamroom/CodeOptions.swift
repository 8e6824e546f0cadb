import ArgumentParser
import BeamProtocol
import Foundation
import Glibc

/// The six digits that prove who may watch: typed, from the command line, or from a file.
struct CodeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The six digits that the host shows; at the host, the ones to show. (They vanish from the process list at once.)",
            valueName: "digits"))
    var code: PairingCode?
    @Option(help: ArgumentHelp("A file, readable by nobody else, that holds the six digits.", valueName: "file"))
    var codeFile: String?

    func validate() throws {
        guard code == nil || codeFile == nil else {
            throw ValidationError("--code and --code-file exclude each other.")
        }
    }

    /// What was given, if anything.
    func read() throws(CodeFileError) -> PairingCode? {
        guard let codeFile else { return code }
        return try CodeFile(path: codeFile).read()
    }
}

/// A file that holds a code: its first line, six digits.
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
        let line = text.prefix { !$0.isNewline }.filter { $0 != " " }
        guard let code = PairingCode(String(line)) else { throw .noCode(path) }
        return code
    }
}

enum CodeFileError: Error, CustomStringConvertible {
    case unreadable(String, reason: String)
    case openToOthers(String)
    case noCode(String)

    var description: String {
        switch self {
        case .unreadable(let path, let reason): "The code file \(path) can't be read: \(reason)."
        case .openToOthers(let path):
            "The code file \(path) can be read by others, and so can the code. `chmod 600 \(path)`, and change the code."
        case .noCode(let path): "The code file \(path) doesn't hold a code: six digits on its first line."
        }
    }
}

/// Keeps secrets of the command line out of the process list.
enum CommandLineSecrets {
    /// Overwrites the digits behind `--code` where the system shows them to everybody; what Swift has read before stays.
    static func hide() {
        // Reading them makes Swift's own copy.
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
