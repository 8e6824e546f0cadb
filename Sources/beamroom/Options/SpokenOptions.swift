import ArgumentParser
import BeamSession
import BeamTerminal

/// What is said and written down: of `share` and `room`.
struct SpokenOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read captions from a file, a named pipe or - (standard input; not with --json): a line each, or JSON lines with partial, final and speaker.",
            valueName: "file"))
    var captions: String?
    @Option(
        help: ArgumentHelp(
            "Write captions, notes and alerts into a file (.txt, .srt, .vtt or .jsonl).", valueName: "file"))
    var transcript: String?

    /// What else may want standard input, or a person beside it.
    func check(json: Bool, accept: Door.Acceptance?) throws {
        guard captions == "-" else { return }
        if json {
            throw ValidationError(
                "--captions - and --json both read standard input: read the captions from a file or a named pipe (--captions FILE)."
            )
        }
        if accept == .ask, !Keyboard.isBesideInput {
            throw ValidationError(
                "With --captions - and no terminal nobody can be asked: leave --accept ask out, or read the captions from a file or a named pipe (--captions FILE)."
            )
        }
    }

    /// Captions from standard input leave the terminal to the person, if there is one.
    var keyboard: Keyboard { captions == "-" ? .besideInput : .standardInput }

    /// A person can be asked who is let in.
    var canAsk: Bool { captions == "-" ? keyboard != .none : TerminalQuestions.hasKeyboard }
}
