import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamTerminal

/// Commands that are run when something happens, by the real shell.
struct HookTests {
    /// A folder, and what was said to the person.
    private final class Place: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-hooks-\(UUID())")
        let said = Mutex<[String]>([])

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: folder) }

        func hooks(_ commands: [Hooks.Moment: String], _ limits: Hooks.Limits = Hooks.Limits()) -> Hooks {
            Hooks(commands, limits: limits) { words in self.said.withLock { $0.append(words) } }
        }

        func lines(_ name: String = "out") -> [String] {
            let text = (try? String(contentsOf: folder.appending(path: name), encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map(String.init)
        }

        var out: String { "'\(folder.path)/out'" }
    }

    private static func event(_ text: String) -> [UInt8] { Array("{\"event\":\"\(text)\"}\n".utf8) }

    @Test func commandsRunInTheOrderOfTheEventsAndGetThemOnStandardInput() throws {
        let place = try Place()
        let hooks = place.hooks([
            // The slower one must not be overtaken.
            .join: "sleep 0.1; echo join >> \(place.out); cat >> \(place.out)",
            .leave: "echo leave >> \(place.out); cat /dev/stdin >> \(place.out)",
        ])
        hooks.add(.join, event: Self.event("one"))
        hooks.add(.leave, event: Self.event("two"))
        hooks.add(.join, event: Self.event("three"))
        // There is no command for this.
        hooks.add(.start, event: Self.event("four"))
        hooks.close()
        #expect(
            place.lines() == [
                "join", #"{"event":"one"}"#, "leave", #"{"event":"two"}"#, "join", #"{"event":"three"}"#,
            ])
        #expect(place.said.withLock { $0 } == [])
        hooks.add(.leave, event: Self.event("late"))
        #expect(place.lines().count == 6, "nothing is run after the end")
    }

    @Test func whatGoesWrongIsSaid() throws {
        let place = try Place()
        let hooks = place.hooks([
            .start: "echo fine; echo 'no such \u{1B}[31mlamp' >&2; exit 3", .join: "kill -9 $$", .leave: "exit 0",
            .stop: "no-such-program-at-all",
        ])
        for moment in Hooks.Moment.allCases { hooks.add(moment, event: Self.event("x")) }
        hooks.close()
        let said = place.said.withLock { $0 }
        #expect(said.count == 3)
        #expect(said.first?.hasPrefix("Warning: The command of --on-start has failed with status 3: no such ") == true)
        #expect(said.first?.contains("\u{1B}") == false, "a command can't send sequences to the terminal")
        #expect(said.dropFirst().first == "Warning: The command of --on-join was ended by signal 9.")
        #expect(said.last?.hasPrefix("Warning: The command of --on-stop has failed with status 127: ") == true)
    }

    /// Whether the command itself, or only what it has started, ignores SIGTERM.
    @Test(arguments: ["trap '' TERM;", ""])
    func aCommandThatHangsIsEndedWithWhatItStarted(trap: String) throws {
        let place = try Place()
        var limits = Hooks.Limits()
        limits.time = .milliseconds(300)
        let hooks = place.hooks(
            [
                .join: "\(trap) (trap '' TERM; exec sleep 600) & echo $! > \(place.out); wait; sleep 600",
                .leave: "echo after >> \(place.out)",
            ], limits)
        hooks.add(.join, event: Self.event("one"))
        hooks.add(.leave, event: Self.event("two"))
        hooks.close()
        #expect(place.said.withLock { $0 }.count == 1)
        #expect(place.said.withLock { $0 }.first?.contains("--on-join was ended after") == true)
        let lines = place.lines()
        #expect(lines.last == "after")
        let child = try #require(lines.first.flatMap { Int32($0) })
        for _ in 0..<500 where kill(child, 0) == 0 && !Self.isZombie(child) { usleep(10000) }
        #expect(kill(child, 0) != 0 || Self.isZombie(child))
    }

    private static func isZombie(_ pid: Int32) -> Bool {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        return text.contains(") Z ")
    }

    @Test func anEndlessWriterAndAClosedInputHoldNothingUp() throws {
        let place = try Place()
        var limits = Hooks.Limits()
        limits.time = .milliseconds(300)
        let hooks = place.hooks(
            [.start: "yes", .join: "exec <&- >&- 2>&-; exit 0", .leave: "echo done > \(place.out)"], limits)
        for moment in [Hooks.Moment.start, .join, .leave] {
            hooks.add(moment, event: Array(repeating: UInt8(ascii: "x"), count: 60000) + [UInt8(ascii: "\n")])
        }
        hooks.close()
        #expect(place.lines() == ["done"])
        #expect(place.said.withLock { $0 }.count == 1)
    }

    @Test func theProgramsEndIsBounded() throws {
        let place = try Place()
        var limits = Hooks.Limits()
        limits.timeAtEnd = .milliseconds(300)
        let hooks = place.hooks([.join: "sleep 600", .stop: "echo stop > \(place.out)"], limits)
        hooks.add(.join, event: Self.event("one"))
        hooks.add(.join, event: Self.event("two"))
        let start = ContinuousClock.now
        hooks.close()
        // Far less than the commands take.
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(place.said.withLock { $0 }.count == 2, "the one that ran, and the one that was left out")
    }

    @Test func whatComesTooFastIsLeftOutButNotTheEnd() throws {
        let place = try Place()
        var limits = Hooks.Limits()
        limits.waiting = 2
        let hooks = place.hooks(
            [.join: "sleep 0.3; echo join >> \(place.out)", .stop: "echo stop >> \(place.out)"], limits)
        for _ in 0..<20 { hooks.add(.join, event: Self.event("x")) }
        hooks.add(.stop, event: Self.event("x"))
        hooks.close()
        let lines = place.lines()
        #expect((2...3).contains(lines.count { $0 == "join" }))
        #expect(lines.last == "stop")
        #expect(place.said.withLock { $0 }.first?.contains("commands weren't run") == true)
    }

    @Test func theMomentsOfEvents() {
        let samples: [ProgramEvent] =
            PairingSample.allCases.flatMap(\.samples).map { .pairing($0) }
            + ShareSample.allCases.flatMap(\.samples).map { .share($0) }
            + RoomSample.allCases.flatMap(\.samples).map { .room($0) }
            + WatchSample.allCases.flatMap(\.samples).map { .watch($0) }
        var moments: [Hooks.Moment: Set<String>] = [:]
        for event in samples {
            if let moment = event.moment { moments[moment, default: []].insert(event.record.name) }
        }
        #expect(
            moments == [
                .start: ["ready"], .join: ["paired", "member-joined"], .leave: ["viewer-left", "member-left"],
                .stop: ["summary"],
            ])
        let visitor = Sample.visitor
        #expect(ProgramEvent.pairing(.letIn(visitor, session: "s", isResumed: true)).moment == nil, "it was here")
    }
}
