import Synchronization
import Testing

@testable import BeamTerminal

/// What counts as an answer.
struct QuestionTests {
    /// What `line` makes of a question: the answer; nil: none.
    private func answer<Answer: Sendable>(
        _ line: String, _ question: (@escaping @Sendable (Answer) -> Void) -> TerminalQuestions.Question
    ) -> Answer? {
        let given = Mutex<Answer?>(nil)
        let asked = question { answer in given.withLock { $0 = answer } }
        if case .answer(let action) = asked.read(line) { action() }
        return given.withLock { $0 }
    }

    @Test(
        arguments: [
            ("y", true), (" YES ", true), ("n", false), ("No", false), ("yn", nil), ("", nil), ("1", nil),
        ] as [(String, Bool?)])
    func yesAndNo(line: String, expected: Bool?) {
        #expect(answer(line) { TerminalQuestions.Question.yesNo("Well? [y/n]", $0) } == expected)
    }

    @Test(
        arguments: [
            ("1", 0), (" 3 ", 2), ("0", nil), ("4", nil), ("-1", nil), ("x", nil), ("", nil),
            ("99999999999999999999", nil),
        ] as [(String, Int?)])
    func numbers(line: String, expected: Int?) {
        #expect(answer(line) { TerminalQuestions.Question.number("Which?", of: 3, takesNone: true, $0) } == expected)
    }

    @Test func enterAloneIsAnAnswerOnlyWhereNothingMayBePicked() {
        #expect(TerminalQuestions.Question.number("Which?", of: 3, takesNone: true) { _ in }.takesEnter)
        #expect(!TerminalQuestions.Question.number("Which?", of: 3) { _ in }.takesEnter)
    }
}
