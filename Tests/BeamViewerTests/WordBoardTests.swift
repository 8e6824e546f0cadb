import BeamDisplay
import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamViewer
@testable import BeamWire

/// What the window shows of the room, in virtual time.
struct WordBoardTests {
    private let start = MediaTime(nanoseconds: 1_000_000_000_000)
    private let host = DeviceKey([UInt8](repeating: 1, count: 32))!
    private let guest = DeviceKey([UInt8](repeating: 2, count: 32))!

    private func time(_ seconds: Double) -> MediaTime { start + .seconds(seconds) }

    private func line(_ content: LogContent, age: Duration = .zero, isKeepers: Bool = true) -> LogEvent {
        .lines([
            LogLine(
                author: isKeepers ? host : guest, name: isKeepers ? "desk" : "sofa", isOwn: false, isKeepers: isKeepers,
                content: content, time: .seconds(60), age: age)
        ])
    }

    private func lines(_ content: LogContent, count: Int) -> LogEvent {
        guard case .lines(let lines) = line(content) else { return .lines([]) }
        return .lines([LogLine](repeating: lines[0], count: count))
    }

    private func partial(_ text: String?) -> LogEvent {
        .partial(author: host, name: "desk", text.map { LogPartial(text: $0, speaker: "Anna", isClaim: false) })
    }

    private func board() -> WordBoard {
        var board = WordBoard()
        board.handle(.began(completeSince: .zero, takesNotes: true), now: start)
        return board
    }

    @Test func aFinalTextTakesThePlaceOfAPartialOneWithoutAGap() {
        var board = board()
        board.handle(partial("Good mor"), now: time(1))
        #expect(board.captions(now: time(1)) == [WindowCaption(text: "Good mor", name: "Anna", isPartial: true)])
        // The room tells the end first, and the text in the next event.
        board.handle(partial(nil), now: time(2))
        #expect(board.captions(now: time(2)).count == 1)
        board.handle(line(.caption(text: "Good morning.", speaker: "Anna")), now: time(2))
        #expect(board.captions(now: time(2)) == [WindowCaption(text: "Good morning.", name: "Anna")])
        #expect(board.captions(now: time(30)).isEmpty)
    }

    /// A note that was under way for long is new here, unless it was in the room before this viewer came.
    @Test func aLateNoteIsShownAndHistoryIsNot() {
        var board = board()
        board.handle(line(.caption(text: "old", speaker: nil), age: .seconds(12)), now: time(1))
        guard case .lines(var history) = line(.note("history"), age: .seconds(12)) else { return }
        history[0].isHistory = true
        board.handle(.lines(history), now: time(1))
        #expect(board.captions(now: time(1)).isEmpty)
        board.handle(line(.note("late"), age: .seconds(12)), now: time(1))
        #expect(board.captions(now: time(1)).map(\.text) == ["late"])
    }

    @Test func aPartialTextThatIsTakenBackGoesSoon() throws {
        var board = board()
        board.handle(partial("Good mor"), now: time(1))
        board.handle(partial(nil), now: time(2))
        let end = try #require(board.deadline(now: time(2)))
        #expect(end < time(2.5))
        #expect(board.captions(now: end).isEmpty)
        #expect(board.deadline(now: end) == nil, "nothing wakes the window any more")
    }

    @Test func aPartialTextThatNobodyRevisesGoes() throws {
        var board = board()
        for second in 1...5 { board.handle(partial("Good morning \(second)"), now: time(Double(second))) }
        let end = try #require(board.deadline(now: time(5)))
        #expect(end > time(12) && end < time(30))
        #expect(board.captions(now: end).isEmpty && board.deadline(now: end) == nil)
    }

    @Test func aNoteOfTheHostLeavesWhatIsBeingSaid() {
        var board = board()
        board.handle(partial("And now"), now: time(1))
        board.handle(line(.note("Page 7.")), now: time(1))
        #expect(board.captions(now: time(1)).map(\.text) == ["And now", "Page 7."])
    }

    /// Whoever looks elsewhere for a moment reads it all the same, also while somebody speaks.
    @Test func aNoteStaysLongEnoughToBeRead() throws {
        var board = board()
        board.handle(line(.note("Please open page 12.")), now: time(1))
        for second in 1...10 {
            board.handle(line(.caption(text: "Sentence \(second).", speaker: nil)), now: time(Double(second)))
            board.handle(partial("And"), now: time(Double(second)))
            let shown = board.captions(now: time(Double(second) + 0.9))
            #expect(shown.count <= 3 && shown.last?.text == "Please open page 12.", "\(second): \(shown)")
        }
        #expect(board.captions(now: time(11.1)).allSatisfy { !$0.isNote })
        // A long one stays as long as it takes to read.
        let long = String(repeating: "words of a note ", count: 30)
        board.handle(line(.note(long)), now: time(20))
        #expect(board.captions(now: time(32)).last?.isNote == true)
        #expect(board.captions(now: time(80)).isEmpty)
    }

    @Test func theFirstNoteOfAnotherSaysWhereNotesStay() {
        var board = board()
        guard case .lines(var own) = line(.note("mine")) else { return }
        own[0].isOwn = true
        board.handle(.lines(own), now: time(1))
        #expect(board.notice.content == nil)
        board.handle(line(.note("Page 7.")), now: time(2))
        #expect(board.notice.content?.text == "Notes stay in the transcript: t shows it")
        let number = board.notice.number
        board.handle(line(.note("Page 8.")), now: time(3))
        #expect(board.notice.number == number, "once")
    }

    @Test func historyIsInTheTranscriptOnly() {
        var board = board()
        board.handle(line(.caption(text: "Long ago.", speaker: nil), age: .seconds(600)), now: time(1))
        #expect(board.captions(now: time(1)).isEmpty && board.deadline(now: time(1)) == nil)
        let transcript = board.takeTranscript()
        #expect(transcript.isNew && transcript.lines.map(\.text) == ["Long ago."])
        let again = board.takeTranscript()
        #expect(!again.isNew && again.lines.isEmpty)
    }

    @Test func whoComesLateIsToldOfALockedScreenThatIsStillLocked() {
        var board = board()
        let before = board.notice.number
        board.handle(.catchingUp, now: time(1))
        board.handle(line(.alert(.locked), age: .seconds(600)), now: time(1))
        board.handle(line(.alert(.unlocked), age: .seconds(300)), now: time(1))
        #expect(board.notice.number == before, "nothing flashes")
        board.handle(line(.alert(.locked), age: .seconds(200)), now: time(1))
        board.handle(.caughtUp(host: "desk"), now: time(1))
        #expect(board.notice.number == before + 1)
        #expect(board.notice.content?.text == "The screen of “desk” is locked.")
        board.handle(line(.alert(.unlocked)), now: time(3))
        #expect(board.notice.content?.text == "The screen of “desk” is unlocked.")
        #expect(board.notice.content?.isWarning == false)
    }

    // MARK: Bounds

    /// A host that sends as much as it can, while the window stands still.
    @Test func aHostCannotMakeItGrow() {
        var board = board()
        let (long, short) = (String(repeating: "x", count: 64 << 10), "y")
        for number in 0..<40 {
            let other = DeviceKey([UInt8(number)] + [UInt8](repeating: 3, count: 31))!
            board.handle(.partial(author: other, name: "sofa", LogPartial(text: long, speaker: nil)), now: time(1))
            board.handle(line(.caption(text: long, speaker: nil)), now: time(1))
            board.handle(line(.alert(number.isMultiple(of: 2) ? .locked : .unlocked)), now: time(1))
            #expect(board.captions(now: time(1)).count <= 3)
        }
        #expect(board.notice.content?.text.utf8.count ?? 0 < 1000, "only the newest")
        let count = WordBoard.mostPendingBytes / long.utf8.count + 20
        for number in 0..<count {
            board.handle(line(.caption(text: long, speaker: "\(number)"), age: .seconds(60)), now: time(1))
        }
        var taken = board.takeTranscript()
        #expect(taken.isNew && taken.lines.reduce(0) { $0 + $1.text.utf8.count } <= WordBoard.mostPendingBytes)
        #expect(taken.lines.last { $0.kind == .caption }?.speaker == "\(count - 1)", "the newest are kept")
        #expect(board.heading == .since(.seconds(60)), "and it is said that older ones are gone")
        for _ in 0..<4 { board.handle(lines(.note(short), count: WordBoard.mostPending / 3), now: time(2)) }
        taken = board.takeTranscript()
        #expect(
            taken.isNew && taken.lines.count <= WordBoard.mostPending && taken.lines.count >= WordBoard.mostPending / 2)
        // What is taken in time is all there.
        board.handle(lines(.note(short), count: WordBoard.mostPending / 2), now: time(3))
        let last = board.takeTranscript()
        #expect(!last.isNew && last.lines.count == WordBoard.mostPending / 2)
    }

    @Test func onlyWhatIsWrongIsInTheColourOfWarnings() {
        var board = board()
        board.handle(line(.alert(.locked)), now: time(1))
        #expect(board.notice.content?.isWarning == true)
        board.handle(line(.alert(.batteryLow(percent: 14))), now: time(10))
        #expect(board.notice.content?.text == "The battery of “desk” is at 14 % and isn't charging.")
        #expect(board.notice.content?.isWarning == true)
        board.handle(line(.alert(.unlocked)), now: time(20))
        #expect(board.notice.content?.isWarning == false, "although the battery is still low")
    }

    /// The window has one notice: what comes shortly after an alert doesn't take its place.
    @Test func alertsThatComeTogetherAreReadTogether() {
        let (locked, low) = (
            "The screen of “desk” is locked.", "The battery of “desk” is at 14 % and isn't charging."
        )
        var board = board()
        board.handle(line(.alert(.locked)), now: time(1))
        board.handle(line(.alert(.batteryLow(percent: 14))), now: time(2))
        #expect(board.notice.content?.text == "\(locked) \(low)")
        // What doesn't hold any more isn't said again.
        board.handle(line(.alert(.unlocked)), now: time(3))
        #expect(board.notice.content?.text == "\(low) The screen of “desk” is unlocked.")
        #expect(board.notice.content?.isWarning == true)
        board.handle(line(.alert(.batteryLow(percent: 13))), now: time(4))
        #expect(board.notice.content?.text == "The battery of “desk” is at 13 % and isn't charging.")
        // Nor what was read by now.
        board.handle(line(.alert(.locked)), now: time(11))
        #expect(board.notice.content?.text == locked)
        // The status says that the host has paused, and the notice stays as it is.
        let number = board.notice.number
        board.handle(line(.alert(.paused)), now: time(12))
        #expect(board.notice.number == number)
    }

    @Test func onlyTheHostsAlertsAreNotices() {
        var board = board()
        let before = board.notice.number
        board.handle(line(.alert(.locked), isKeepers: false), now: time(1))
        #expect(board.notice.number == before)
    }

    @Test func anotherRoomClearsEverything() {
        var board = board()
        board.handle(partial("And now"), now: time(1))
        board.handle(line(.caption(text: "Good morning.", speaker: nil)), now: time(1))
        board.handle(line(.alert(.locked)), now: time(1))
        _ = board.takeTranscript()
        let number = board.notice.number
        board.handle(.began(completeSince: .seconds(30), takesNotes: false), now: time(2))
        #expect(board.captions(now: time(2)).isEmpty && board.deadline(now: time(2)) == nil)
        #expect(board.notice.content == nil && board.notice.number > number)
        #expect(board.heading == .since(.seconds(30)) && !board.takesNotes)
        let transcript = board.takeTranscript()
        #expect(transcript.isNew && transcript.lines.isEmpty)
    }
}
