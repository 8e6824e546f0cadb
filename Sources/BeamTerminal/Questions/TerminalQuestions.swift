import BeamMedia
import Foundation
import Glibc
import Synchronization

/// Asks the person at the terminal: one question at a time on standard error. The answer is a line on standard input, or on
/// the terminal itself (`Keyboard`).
///
/// No call waits for the person: questions are asked from any thread, and answered on the reading thread. Text that was
/// typed before a question was shown doesn't answer it. Nor does text that was typed within a second after another
/// question was shown, because it may be meant for that one: otherwise a viewer that comes or goes at the right moment
/// would get somebody else's answer.
///
/// A job in the background asks nothing. Its question waits until the job is brought to the foreground.
public final class TerminalQuestions: Sendable {
    private struct State {
        var question: Question?
        var commands = Commands()
        /// A note or a command is being written: questions wait.
        var writing: Writing?
        var isWriting: Bool { writing != nil }
        /// Number of questions shown so far, those that wait in the background included.
        var shown = 0
        /// The question is being written to the terminal: lines typed from now on answer it.
        var isOpen = false
        /// The question that the background was last reported for.
        var held: Int?
        var hasExplainedBackground = false
        /// When a question was last answered or withdrawn, or got an ambiguous answer.
        var lastChange: ContinuousClock.Instant?
        /// When the last question was withdrawn; nil if it was answered.
        var withdrawn: ContinuousClock.Instant?
        /// Until then an answer may be meant for the previous question.
        var ambiguousUntil: ContinuousClock.Instant?
        var hasEnded = false
        var onEnd: @Sendable () -> Void = {}

        mutating func close() {
            question = nil
            isOpen = false
            lastChange = .now
        }
    }

    /// How long a person who is about to answer needs to notice that the question has changed.
    private static let reactionTime = Duration.seconds(1)
    /// How long after a question was withdrawn a line is probably an answer to it.
    private static let lateAnswer = Duration.seconds(3)
    /// Before what is typed.
    private static let mark = "> "

    private let state = Mutex(State())
    private let console: Console
    private let input: TerminalInput
    /// Writes lines on standard input; nil: there is none.
    private let programs: ProgramInput?

    /// `programs` takes another program's lines on standard input. Without a keyboard questions are refused.
    public init(_ console: Console, programs: ProgramInput? = nil, keyboard: Keyboard = .standardInput) {
        self.console = console
        let programs = Self.hasKeyboard || keyboard != .standardInput ? nil : programs
        self.programs = programs
        switch keyboard {
        case .standardInput: input = TerminalInput(readsKeys: Self.hasPerson, programs: programs)
        case .terminal(let descriptor): input = TerminalInput(descriptor, readsKeys: true)
        case .none: input = TerminalInput(readsKeys: false)
        }
        state.withLock { $0.hasEnded = keyboard == .none }
    }

    /// Whether keys are read one by one, so that there are commands.
    public var takesCommands: Bool { input.readsKeys }

    /// What they do; empty: there are none.
    public var keys: [StatusLine.Key] { takesCommands ? state.withLock { $0.commands.keys } : [] }

    func setCommands(_ commands: Commands) {
        state.withLock { $0.commands = commands }
        input.setTakesKick(commands.kick != nil)
    }

    /// Standard input is a terminal: somebody may type.
    public static var hasKeyboard: Bool { isatty(STDIN_FILENO) == 1 }
    /// Standard input and standard error are a terminal: a person can read questions and answer them.
    public static var hasPerson: Bool { hasKeyboard && isatty(StandardStreams.messages) == 1 }

    /// This job is in the background: questions wait.
    var isInBackground: Bool { input.isInBackground }

    /// `action` is called on the reading thread when standard input ends, after which nobody can answer.
    func onEnd(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onEnd = action } }

    /// Takes the keyboard before there is a question, so that nothing that is typed runs into the live lines.
    func takeKeyboard() {
        guard input.readsKeys else {
            readPrograms()
            return
        }
        input.setReadsCommands(true)
        TerminalMode.shared.followStops(
            willStop: { [console] in
                console.setHidden(true)
                // On a busy machine a line may take longer than one wait; a terminal that takes nothing ends it.
                for _ in 0..<10 where console.flush() { break }
            }, didContinue: { [console] in console.setHidden(false) })
        startReading()
    }

    /// Reads another program's lines from now on, if there is one.
    public func readPrograms() {
        if programs != nil { startReading() }
    }

    /// Asks, and replaces the open question. False: standard input has ended, and nobody can answer.
    ///
    /// - Parameter isRepeated: this is the last question again, so that an early answer isn't ambiguous.
    @discardableResult
    public func ask(_ question: Question, isRepeated: Bool = false) -> Bool {
        let mayAsk = state.withLock { state in
            guard !state.hasEnded else { return false }
            if state.question != nil { state.close() }
            if isRepeated { state.lastChange = nil }
            state.question = question
            state.withdrawn = nil
            return true
        }
        if mayAsk { show() }
        return mayAsk
    }

    /// Closes the open question. The next one is a different question.
    public func withdraw() {
        state.withLock { state in
            if state.question != nil { state.withdrawn = .now }
            state.close()
        }
        endLine()
    }

    /// Nothing is asked any more: keys are commands again, unless a note is being written.
    private func endLine() {
        guard !state.withLock({ $0.isWriting }) else { return }
        console.setPrompt(nil)
        input.setReadsCommands(true)
    }

    // MARK: Commands

    private func command(_ key: Character) {
        let (commands, isIdle) = state.withLock { ($0.commands, $0.question == nil && !$0.isWriting) }
        guard isIdle else { return }
        // What was typed of `kick` is dropped with it.
        guard !isLateAnswer() else { return input.setReadsCommands(true) }
        switch key {
        case "n" where commands.note != nil: write(.note)
        case "k" where commands.kick != nil: write(.kick)
        case "p": commands.pause?()
        case "s": commands.share?()
        case "w":
            commands.people?()
            commands.web?()
        case "x": commands.putOut?()
        case "?", "h": listKeys(commands)
        case "c": commands.newCode?()
        case "j": commands.join?()
        case "r": commands.relay?()
        case "q": console.say("Ctrl-C ends.")
        default: break
        }
    }

    private func listKeys(_ commands: Commands) {
        for key in commands.keys { console.say("  \(key.key)   \(key.words)") }
        console.say("  Ctrl-C   ends")
    }

    /// Keys that came one after another were meant for another program.
    private func burst() {
        guard state.withLock({ $0.question == nil && !$0.isWriting }), !isLateAnswer() else { return }
        console.say("Several keys at once do nothing here: each acts when it is pressed alone. ? lists them.")
    }

    private func write(_ writing: Writing) {
        state.withLock { $0.writing = writing }
        input.setReadsCommands(false)
        setWritingPrompt("")
    }

    private func wrote(_ line: String) {
        let (writing, commands, isAsked) = state.withLock { state in
            defer { state.writing = nil }
            return (state.writing, state.commands, state.question != nil)
        }
        if let writing, !ShownText.line(line).isEmpty {
            console.say(writing.mark + line)
            switch writing {
            case .note: commands.note?(line)
            case .kick: kick(writing.mark + line, commands)
            }
        }
        // What was written may have led to a question, which is shown already.
        if isAsked { show() } else if state.withLock({ $0.question == nil }) { endLine() }
    }

    private func kick(_ line: String, _ commands: Commands) {
        let words = line.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == "kick" else {
            return console.say("That isn't a command. `kick NAME` sends a viewer away.")
        }
        commands.kick?(words[1].trimmingCharacters(in: .whitespaces))
    }

    /// Escape drops what was typed, and ends a note. Where Enter alone is an answer, it is the same one.
    private func escaped() {
        let (isWriting, takesEnter) = state.withLock { ($0.isWriting, $0.isOpen && $0.question?.takesEnter == true) }
        if isWriting { return wrote("") }
        if takesEnter { take("") } else { edited("") }
    }

    /// A question came while a note is being written: what is typed belongs to the note.
    private func holdForNote() {
        let held = state.withLock { state -> (summary: String, writing: Writing)? in
            guard let writing = state.writing, let question = state.question, state.held != state.shown + 1 else {
                return nil
            }
            state.held = state.shown + 1
            return (question.summary ?? "There is a question to answer.", writing)
        }
        guard let held else { return }
        console.say("\(held.summary) Finish the \(held.writing.name) first: Enter sends it, and Escape drops it.")
    }

    // MARK: Showing

    private func startReading() {
        input.start(
            TerminalInput.Handlers(
                onLine: { [self] in take($0) }, onEdit: { [self] in edited($0) },
                onCommand: { [self] in command($0) }, onBurst: { [self] in burst() }, onEscape: { [self] in escaped() },
                onMove: { [self] in moved(toForeground: $0) }, onEnd: { [self] in end() }))
    }

    private func show() {
        let next = state.withLock { state -> (words: String, number: Int)? in
            guard let question = state.question, !state.isWriting else { return nil }
            state.shown += 1
            state.isOpen = false
            return (question.words, state.shown)
        }
        guard let (words, number) = next else { return holdForNote() }
        input.setReadsCommands(false)
        startReading()
        guard !input.isInBackground else { return hold() }
        setPrompt("")
        console.say(words) { [self] in open(number) }
    }

    /// The question is about to be written to the terminal, perhaps some time after it was asked.
    private func open(_ number: Int) {
        input.discardTyped()
        state.withLock { state in
            guard state.shown == number, state.question != nil else { return }
            state.isOpen = true
            let now = ContinuousClock.now
            let hasJustChanged = state.lastChange.map { now - $0 < Self.reactionTime } ?? false
            state.ambiguousUntil = hasJustChanged ? now + Self.reactionTime : nil
        }
    }

    /// Shows what is typed, or only makes room if the terminal shows it by itself.
    private func setPrompt(_ typed: String) {
        console.setPrompt(Console.Prompt(mark: input.readsKeys ? Self.mark : "", typed: input.readsKeys ? typed : ""))
    }

    private func setWritingPrompt(_ typed: String) {
        guard let writing = state.withLock({ $0.writing }) else { return }
        console.setPrompt(Console.Prompt(mark: writing.mark, typed: typed, hint: writing.hint))
    }

    private func edited(_ typed: String) {
        let (isOpen, isWriting) = state.withLock { ($0.isOpen, $0.isWriting) }
        if isWriting { return setWritingPrompt(typed) }
        guard isOpen else { return }
        setPrompt(typed)
    }

    // MARK: The background

    private func moved(toForeground: Bool) {
        let isAsking = state.withLock { state in
            state.isOpen = false
            return state.question != nil
        }
        guard isAsking else { return }
        if toForeground { show() } else { hold() }
    }

    /// The question waits for the foreground. Reports it once, and what to do the first time.
    private func hold() {
        let summary = state.withLock { state -> String? in
            guard let question = state.question, state.held != state.shown else { return nil }
            state.held = state.shown
            let summary = question.summary ?? "There is a question to answer."
            defer { state.hasExplainedBackground = true }
            return state.hasExplainedBackground
                ? summary
                : summary + " A job in the background can't ask: bring it to the foreground (`fg`) to answer."
        }
        console.setPrompt(nil)
        if let summary { console.say(summary) }
    }

    // MARK: Answers

    private func take(_ line: String) {
        if state.withLock({ $0.isWriting }) { return wrote(line) }
        let asked = state.withLock { state in state.isOpen ? (question: state.question, number: state.shown) : nil }
        guard let asked, let question = asked.question else { return noteLateAnswer(line) }
        // Enter alone repeats the question.
        guard question.takesEnter || !line.allSatisfy(\.isWhitespace) else { return show() }
        switch question.read(line) {
        case .unclear(let complaint):
            echo(line)
            guard let complaint else { return show() }
            console.say(complaint)
            setPrompt("")
        case .answer(let action):
            let isAmbiguous = state.withLock { state -> Bool? in
                // The question may have been withdrawn meanwhile.
                guard state.isOpen, state.shown == asked.number else { return nil }
                if let until = state.ambiguousUntil, .now < until {
                    // The person hasn't noticed the change yet: wait for another reaction time.
                    state.lastChange = .now
                    return true
                }
                state.close()
                return false
            }
            switch isAmbiguous {
            case nil: noteLateAnswer(line)
            case true?:
                console.say("The question has just changed, so that answer wasn't used. Please answer this one:")
                show()
            case false?:
                echo(line)
                endLine()
                action()
            }
        }
    }

    /// Keeps what was typed among the permanent lines.
    private func echo(_ line: String) {
        if input.readsKeys { console.say(Self.mark + line) }
    }

    /// No question is open. If one has just been withdrawn, the person typed an answer to it: no answer is dropped in
    /// silence.
    private func noteLateAnswer(_ line: String) {
        guard !line.allSatisfy(\.isWhitespace), !isLateAnswer() else { return }
        if state.withLock({ $0.question == nil }) { programs?.refuse() }
    }

    /// Whether what is typed now was meant for a question that has just been withdrawn. Says so, once for each question: a
    /// key is no command then, or an answer “n” would begin a note.
    private func isLateAnswer() -> Bool {
        let isLate = state.withLock { state in
            guard state.question == nil, let withdrawn = state.withdrawn else { return false }
            state.withdrawn = nil
            return .now - withdrawn < Self.lateAnswer
        }
        if isLate { console.say("That question had ended, so the answer wasn't used.") }
        return isLate
    }

    private func end() {
        let action = state.withLock { state in
            state.hasEnded = true
            state.close()
            return state.onEnd
        }
        console.setPrompt(nil)
        action()
    }
}
