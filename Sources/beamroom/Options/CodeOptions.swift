import ArgumentParser
import BeamLog
import BeamTerminal
import BeamWire
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
