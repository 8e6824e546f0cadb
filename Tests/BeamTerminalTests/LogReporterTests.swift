import BeamMedia
import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamTerminal
@testable import BeamWire

/// What a peer can make the program print for the person.
struct LogReporterTests {
    private static let host = DeviceKey([UInt8](repeating: 1, count: 32))!
    private static let guest = DeviceKey([UInt8](repeating: 2, count: 32))!

    /// What a reporter prints for `events`.
    private func printed(_ events: [LogEvent]) throws -> [String] {
        let pipe = Pipe()
        let console = Console(pipe.fileHandleForWriting.fileDescriptor)
        let reporter = LogReporter(CommandContext(json: false, console: console))
        for event in events { reporter.handle(event) }
        console.close()
        try pipe.fileHandleForWriting.close()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.split(separator: "\n").map { String($0) }
    }

    private func lines(_ contents: [LogContent], name: String = "desk", age: Duration = .zero) -> LogEvent {
        .lines(
            contents.map {
                LogLine(
                    author: Self.host, name: name, isOwn: false, isKeepers: true, content: $0, time: .seconds(60),
                    age: age, isHistory: age > .zero)
            })
    }

    @Test func aPeerCannotFillTheTerminal() throws {
        var events: [LogEvent] = [
            .began(completeSince: .zero, takesNotes: true), .catchingUp, .caughtUp(host: "desk"),
        ]
        let start = ContinuousClock.now
        for number in 0..<2000 {
            events.append(lines([.note("note \(number)")]))
            events.append(lines([.alert(number.isMultiple(of: 2) ? .locked : .unlocked)]))
            events.append(lines([.alert(.batteryLow(percent: number % 15))]))
            events.append(.slowed(number.isMultiple(of: 2)))
            // Of these nothing is printed, whatever is in them.
            events.append(lines([.caption(text: "caption", speaker: "Anna"), .alert(.paused), .alert(.resumed)]))
            events.append(.partial(author: Self.guest, name: "sofa", LogPartial(text: "words", speaker: nil)))
            events.append(
                .message(
                    LogIncomingMessage(
                        from: Self.guest, name: "sofa", id: "\(number)", json: Array("garbage".utf8), isForAll: true)))
        }
        let printed = try printed(events)
        let periods = 1 + Int((ContinuousClock.now - start) / FloodCounts.period)
        for words in ["writes", "locked", "Too much is written"] {
            let count = printed.count { $0.contains(words) }
            #expect((1...Flood.note.most * periods).contains(count), "\(words): \(count)")
        }
        #expect(printed.count <= 3 * Flood.note.most * periods, "\(printed)")
    }

    @Test func oneLineOfAPeerIsOneShortLine() throws {
        let evil = "\u{1B}[2J\u{202E}\r\n" + String(repeating: "x y\n", count: 20_000)
        let printed = try printed([lines([.note(evil)], name: evil), lines([.alert(.locked)], name: evil)])
        #expect(printed.count == 2)
        for line in printed {
            #expect(line.utf8.count < 8192)
            #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{202E}" })
        }
    }

    private func note(_ text: String, age: Duration, isHistory: Bool) -> LogEvent {
        .lines([
            LogLine(
                author: Self.guest, name: "sofa", isOwn: false, isKeepers: false, content: .note(text),
                time: .seconds(60), age: age, isHistory: isHistory)
        ])
    }

    @Test func aNoteIsPrintedWhateverItsAgeUnlessItIsHistory() throws {
        let printed = try printed([
            note("history", age: .seconds(12), isHistory: true), note("late", age: .seconds(12), isHistory: false),
            note("just before", age: .seconds(1), isHistory: true), note(" \u{200B}", age: .zero, isHistory: false),
        ])
        #expect(printed == ["“sofa” writes: late", "“sofa” writes: just before"])
    }

    @Test func theLongestNoteIsPrintedWhole() throws {
        let text = String(String(repeating: "word ", count: 500).prefix(LogLimits.note - 1)) + "!"
        #expect(try printed([note(text, age: .zero, isHistory: false)]) == ["“sofa” writes: \(text)"])
    }

    /// History comes in several batches. What has changed since isn't said.
    @Test func whoComesLateIsToldOnlyWhatStillHolds() throws {
        let old = Duration.seconds(600)
        let printed = try printed([
            .began(completeSince: .zero, takesNotes: true), .catchingUp,
            lines([.alert(.locked), .note("long ago")], age: old), lines([.alert(.batteryLow(percent: 12))], age: old),
            lines([.alert(.unlocked)], age: old), .caughtUp(host: "desk"),
        ])
        #expect(printed == ["The battery of “desk” is at 12 % and isn't charging."])
    }
}
