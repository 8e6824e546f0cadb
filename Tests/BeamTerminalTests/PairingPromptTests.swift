import BeamLog
import BeamSession
import BeamWire
import Glibc
import Synchronization
import Testing

@testable import BeamTerminal

/// Who is asked about when.
struct PairingPromptTests {
    /// Keeps what is asked.
    private final class Mirror: QuestionMirror {
        private let shown = Mutex<MirroredQuestion?>(nil)

        var question: MirroredQuestion? { shown.withLock { $0 } }

        func show(_ question: MirroredQuestion) { shown.withLock { $0 = question } }
        func hide() { shown.withLock { $0 = nil } }
    }

    /// A browser's door isn't the room's: it still waits for an answer when the room is left for another one.
    @Test func aBrowserIsAskedAboutAgainInTheNextRoom() throws {
        let descriptor = open("/dev/null", O_WRONLY)
        defer { close(descriptor) }
        let console = Console(descriptor)
        let mirror = Mirror()
        let prompt = PairingPrompt(
            console, TerminalQuestions(console, keyboard: .none), wish: "enter", mirror: mirror, isAskedElsewhere: true)
        let answers = Mutex<[(ConnectionID, Bool)]>([])
        let decide = { @Sendable (connection: ConnectionID, accept: Bool) in
            answers.withLock { $0.append((connection, accept)) }
        }
        let (browser, newcomer) = (ConnectionID(ConnectionID.firstOfBrowsers), ConnectionID(1))
        prompt.start(decide)
        prompt.askToCompare(newcomer, from: Visitor(address: .v4(1), name: "sofa"))
        prompt.askAboutBrowser(browser, from: Visitor(address: .v4(2), name: "Firefox"))
        let old = try #require(mirror.question)
        #expect(prompt.asking.count == 2)
        prompt.leaveRoom()
        // Nothing is asked between two rooms, and who asked to enter the old one is gone.
        #expect(mirror.question == nil && prompt.asking.count == 1)
        #expect(prompt.asking[0].contains("Firefox"))
        old.answer(true)
        prompt.start(decide)
        let question = try #require(mirror.question)
        question.answer(true)
        #expect(answers.withLock { $0.map(\.0) } == [browser] && answers.withLock { $0.allSatisfy(\.1) })
        #expect(mirror.question == nil && prompt.asking.isEmpty)
    }

    /// It has gone between two rooms: what the terminal asks meanwhile stays.
    @Test func aBrowserThatGoesBetweenTwoRoomsTakesNoOtherQuestionAway() throws {
        let descriptor = open("/dev/null", O_WRONLY)
        defer { close(descriptor) }
        let console = Console(descriptor)
        let mirror = Mirror()
        let prompt = PairingPrompt(
            console, TerminalQuestions(console, keyboard: .none), wish: "enter", mirror: mirror, isAskedElsewhere: true)
        let browser = ConnectionID(ConnectionID.firstOfBrowsers)
        prompt.start { _, _ in }
        prompt.askAboutBrowser(browser, from: Visitor(address: .v4(2), name: "Firefox"))
        prompt.leaveRoom()
        prompt.withdraw(browser)
        prompt.start { _, _ in }
        #expect(mirror.question == nil && prompt.asking.isEmpty)
    }
}
