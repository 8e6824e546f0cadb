import BeamMedia
import Foundation
import Glibc
import Synchronization

/// Lines that a person types on standard input, or on the controlling terminal while something else reads standard input
/// (`Keyboard`), read by a thread of its own. Text typed before a question was shown
/// must not answer it: `discardTyped` discards it, whether the terminal, the pipe or this object holds it.
///
/// On a terminal that shows the questions, too, keys are read one by one and not echoed (`TerminalMode`), so that what is
/// typed can be shown in its own place. In the background nothing is read. While no line is expected, a key alone is a command
/// (`setReadsCommands`, `KeyGate`).
///
/// Another program's lines begin with a brace (`ProgramInput`); they are never discarded. Lines are counted for it.
final class TerminalInput: Sendable {
    /// Called on the reading thread, under no lock.
    struct Handlers: Sendable {
        var onLine: @Sendable (String) -> Void
        /// The text typed so far has changed; only with `readsKeys`.
        var onEdit: @Sendable (String) -> Void
        /// A key was pressed while no line is expected; only with `readsKeys`.
        var onCommand: @Sendable (Character) -> Void = { _ in }
        /// Several keys were pressed one after another while no line is expected; only with `readsKeys`.
        var onBurst: @Sendable () -> Void = {}
        /// Escape was pressed, and what was typed is gone; only with `readsKeys`.
        var onEscape: @Sendable () -> Void = {}
        /// The job was brought to the foreground, or is in the background now.
        var onMove: @Sendable (_ toForeground: Bool) -> Void
        /// Nobody can type any more.
        var onEnd: @Sendable () -> Void
    }

    private struct State {
        /// Counts the calls of `discardTyped`: lines from earlier epochs don't count.
        var epoch = 0
        /// The start of a line whose end hasn't been read, from keys or in whole pieces.
        var typed = TypedLine()
        var unfinished: [UInt8] = []
        /// The rest of a line that is too long is skipped.
        var isSkipping = false
        /// Lines that were read whole.
        var lines = 0
        var readsCommands = false
        var takesKick = false
        /// Which keys are commands, while they are.
        var gate = KeyGate()
        var isReading = false
        var hasEnded = false
    }

    /// A text, the epoch in which it was typed, and the number of its line, from 1; 0: it was typed key by key.
    private typealias Arrival = (text: Text, epoch: Int, line: Int)

    private enum Text: Equatable {
        /// A command that a line follows.
        case command(Character)
        case line(String)
        case edit(String)
        case program([UInt8])
        case programTooLong

        var isProgram: Bool {
            switch self {
            case .program, .programTooLong: true
            case .command, .line, .edit: false
            }
        }
    }

    /// In bytes. A longer line is no answer, and is dropped.
    private static let longestLine = 4096
    /// How often a job looks whether it was brought to the foreground; in the foreground, whether it still is there.
    private static let backgroundCheck = CInt(250)
    private static let foregroundCheck = CInt(1000)
    /// A terminal sends the rest of a key's sequence with its ESC; over a slow connection it may come a little later.
    private static let restOfKey = CInt(50)

    /// Keys are read one by one: they come from the terminal that questions are shown on.
    let readsKeys: Bool
    /// Takes another program's lines; nil: there is none.
    private let programs: ProgramInput?
    private let descriptor: CInt
    private let isTerminal: Bool
    private let state = Mutex(State())

    /// - Parameter descriptor: what is read; it must stay open.
    init(_ descriptor: CInt = STDIN_FILENO, readsKeys: Bool, programs: ProgramInput? = nil) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        self.readsKeys = readsKeys
        self.programs = programs
    }

    /// Whether each key is a command from now on, or a part of a line.
    func setReadsCommands(_ readsCommands: Bool) {
        state.withLock { state in
            guard state.readsCommands != readsCommands else { return }
            state.readsCommands = readsCommands
            state.typed = TypedLine()
            state.gate = KeyGate(takesKick: state.takesKick)
        }
    }

    /// Whether `kick NAME` is a command.
    func setTakesKick(_ takesKick: Bool) {
        state.withLock { state in
            state.takesKick = takesKick
            state.gate.takesKick = takesKick
        }
    }

    /// Begins to read; later calls do nothing. Reading can't be cancelled: the thread runs until the program ends.
    func start(_ handlers: Handlers) {
        let mustStart = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        guard mustStart else { return }
        if readsKeys { TerminalMode.shared.enter(descriptor) }
        Thread.detachNewThread { [self] in run(handlers) }
    }

    /// Discards what has been typed up to now, without waiting.
    func discardTyped() {
        // What is typed on the terminal now is meant for another program.
        guard !isInBackground else { return }
        // An unfinished line that the terminal holds.
        if isTerminal { tcflush(descriptor, TCIFLUSH) }
        state.withLock { state in
            state.epoch += 1
            state.typed = TypedLine()
            state.gate = KeyGate(takesKick: state.takesKick)
            // Its lines are read as soon as they are there, so none of those waiting is an early answer.
            guard programs == nil else { return }
            state.unfinished.removeAll()
            // The reading thread reads only under this lock, so everything typed up to now is read here or was read before.
            var buffer = [UInt8](repeating: 0, count: Self.longestLine)
            for _ in 0..<Self.mostDiscarded where isReadable(within: 0) {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                guard count > 0 else {
                    state.hasEnded = count == 0
                    return
                }
            }
        }
    }

    /// Most reads in one call of `discardTyped`, in case a program writes without end.
    private static let mostDiscarded = 64

    var isInBackground: Bool { isTerminal && TerminalJob.isInBackground(descriptor) }

    // MARK: The thread

    private func run(_ handlers: Handlers) {
        var wasInBackground = false
        while !state.withLock({ $0.hasEnded }) {
            let isInBackground = isInBackground
            if isInBackground != wasInBackground {
                wasInBackground = isInBackground
                if readsKeys, !isInBackground { TerminalMode.shared.enter(descriptor) }
                handlers.onMove(!isInBackground)
            }
            if isInBackground {
                _ = poll(nil, 0, Self.backgroundCheck)
                continue
            }
            let (isEscapeBegun, deadline) = state.withLock { ($0.typed.isEscapeBegun, $0.gate.deadline) }
            let longest = isEscapeBegun ? Self.restOfKey : isTerminal ? Self.foregroundCheck : -1
            guard isReadable(within: Self.time(until: deadline, atMost: longest)) else {
                if isEscapeBegun { escape(handlers) }
                switch state.withLock({ $0.gate.outcome(now: .now) }) {
                case .command(let key)?: handlers.onCommand(key)
                case .burst?: handlers.onBurst()
                case nil: break
                }
                continue
            }
            guard let texts = read() else { break }
            for (text, epoch, line) in texts {
                guard state.withLock({ $0.epoch }) == epoch || text.isProgram else { continue }
                programs?.begin(line: line)
                switch text {
                case .command(let key): handlers.onCommand(key)
                case .line(let line): handlers.onLine(line)
                case .edit(let text): handlers.onEdit(text)
                case .program(let line): programs?.take(line)
                case .programTooLong: programs?.lineTooLong()
                }
            }
        }
        handlers.onEnd()
    }

    /// In milliseconds, rounded up.
    private static func time(until deadline: ContinuousClock.Instant?, atMost longest: CInt) -> CInt {
        guard let deadline else { return longest }
        let left = CInt(clamping: Int64(((deadline - .now).inSeconds * 1000).rounded(.up)))
        return min(max(0, left), longest < 0 ? .max : longest)
    }

    /// Nothing has followed an ESC.
    private func escape(_ handlers: Handlers) {
        let isStill = state.withLock { state in
            guard state.typed.isEscapeBegun else { return false }
            state.typed = TypedLine()
            return true
        }
        if isStill { handlers.onEscape() }
    }

    /// What is there to read; nil at the end.
    private func read() -> [Arrival]? {
        state.withLock { state in
            // `discardTyped` may have read it meanwhile.
            guard isReadable(within: 0) else { return [] }
            var buffer = [UInt8](repeating: 0, count: Self.longestLine)
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { return [] }
            // Moved to the background since it was asked.
            if count < 0, errno == EIO, isInBackground { return [] }
            guard count > 0 else { return nil }
            return readsKeys
                ? Self.keys(buffer.prefix(count), &state).map { ($0, state.epoch, 0) }
                : Self.lines(buffer.prefix(count), &state, hasPrograms: programs != nil)
        }
    }

    private static func keys(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> [Text] {
        var texts: [Text] = []
        let now = ContinuousClock.now
        for byte in bytes {
            // Not ESC and Ctrl-D.
            if state.readsCommands, !state.typed.isInEscape, byte != 0x1B, byte != 0x04 {
                guard state.gate.take(byte, now: now) else { continue }
                state.readsCommands = false
                texts.append(.command("k"))
            }
            switch state.typed.take(byte) {
            case .none: break
            case .edited:
                // Only the newest state is shown.
                if case .edit? = texts.last { texts.removeLast() }
                texts.append(.edit(state.typed.text))
            case .finished(let line): texts.append(.line(line))
            case .ended:
                state.hasEnded = true
                return texts
            }
        }
        return texts
    }

    private static func lines(_ bytes: ArraySlice<UInt8>, _ state: inout State, hasPrograms: Bool) -> [Arrival] {
        let brace = UInt8(ascii: "{")
        var lines: [Arrival] = []
        for byte in bytes {
            let isProgram = hasPrograms && state.unfinished.first == brace
            if byte == UInt8(ascii: "\n") {
                state.lines += 1
                let text: Text? =
                    switch (state.isSkipping, isProgram) {
                    case (true, _): hasPrograms ? .programTooLong : nil
                    case (false, true): .program(state.unfinished)
                    case (false, false): .line(String(decoding: state.unfinished, as: UTF8.self))
                    }
                if let text { lines.append((text, state.epoch, state.lines)) }
                state.unfinished.removeAll(keepingCapacity: true)
                state.isSkipping = false
            } else if state.unfinished.count < (isProgram ? ProgramActions.longestLine : longestLine) {
                state.unfinished.append(byte)
            } else {
                state.isSkipping = true
            }
        }
        return lines
    }

    private func isReadable(within milliseconds: CInt) -> Bool {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, milliseconds) > 0
    }
}
