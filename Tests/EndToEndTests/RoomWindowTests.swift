import BeamMedia
import Foundation
import Testing

/// What a room's window asks and shows.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer, .needsXdotool) struct RoomWindowTests {
        /// Nobody has a terminal at the member that lets in.
        @Test func newcomersAreAnsweredInTheWindow() throws {
            let screen = try XServer(width: 1000, height: 640)
            let anna = try Member("Anna", display: screen.display)
            defer { anna.end() }
            try anna.start("study", ["--time-limit", "240"])
            let window = try ViewedWindow(screen)
            let ben = try Member("Ben")
            defer { ben.end() }
            let quiet = try quiet(window)
            /// How much the window differs from that.
            func news() throws -> Int { try window.part(from: 0, to: 1).differingPixels(quiet) }

            // The question appears, goes with the one who asks, and keys mean nothing then.
            try ask(ben, at: anna)
            #expect(try window.waits { try news() > 500 }, "no question appears")
            ben.program.interrupt()
            _ = try ben.program.waitForEnd()
            #expect(try window.waits { try news() < 100 }, "the question stays")
            try window.press("y")

            // No.
            try ask(ben, at: anna)
            #expect(try window.waits { try news() > 500 })
            noticeTheQuestion()
            try window.press("n")
            #expect(try ben.program.waitForEnd() == .exited(2))
            expectPlainWords(ben.program.errorText)

            // Yes, and the digits are the same.
            try ask(ben, at: anna)
            #expect(try window.waits { try news() > 500 })
            noticeTheQuestion()
            try window.press("y")
            try ben.program.waitForWords("compares these digits")
            let middle = try window.part(from: 0.3, to: 0.8)
            #expect(try window.waits { try window.part(from: 0.3, to: 0.8).differingPixels(middle) == 0 })
            noticeTheQuestion()
            try window.press("Return")
            try ben.program.waitFor("ready")
            try anna.waitForPeople(here: 2)
            #expect(
                try window.waits { try news() < 100 || anna.names == ["Anna", "Ben"] })
            for member in [anna, ben] { expectPlainWords(member.program.errorText) }
        }

        @Test func whoHasPausedIsGreyAndWhoIsPutOutSeesNothing() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "all", "--share", "--content", "still"])
            let screen = try XServer(width: 1000, height: 640)
            let ben = try Member("Ben", display: screen.display)
            defer { ben.end() }
            try ben.launch(["--at", anna.target], input: .terminal)
            try ben.program.waitFor("first-frame")
            let window = try ViewedWindow(screen)
            func colours() throws -> Int { try window.part(from: 0.1, to: 0.9).colouredPixels }
            #expect(try window.waits { try colours() > 10_000 }, "no picture appears")
            anna.program.write(#"{"pause":true}"#)
            #expect(try window.waits { try colours() < 2000 }, "a paused picture has its colours")
            #expect(try window.part(from: 0.1, to: 0.9).litShare > 0.2)
            anna.program.write(#"{"pause":false}"#)
            #expect(try window.waits { try colours() > 10_000 }, "the colours don't come back")
            anna.program.write(#"{"putOut":"Ben"}"#)
            try ben.program.waitForWords("“Anna” has put this device out of the room")
            #expect(try window.waits { try colours() < 2000 }, "the picture stays")
            // The terminal shows no code that isn't its own any more, and how to end.
            let status = { ben.program.process.screen(columns: 100).text.last ?? "" }
            #expect(eventually(timeout: 10) { status() == "“study” · you were put out · Ctrl-C ends" }, "\(status())")
            // However it ends.
            ben.program.interrupt()
            #expect(try ben.program.waitForEnd() == .exited(2))
            expectPlainWords(ben.program.errorText)
        }

        /// What a share has shown isn't seen any more when it has ended, alone and among others.
        @Test(arguments: [1, 2]) func whatHasEndedIsCovered(hosts count: Int) throws {
            let ports = try (0..<count).map { _ in try Ports() }
            let hosts = try ports.enumerated().map { index, ports in
                try Program.share(
                    ["--source", "pattern", "--content", "still", "--name", "desk \(index)"], ports: ports)
            }
            defer { for host in hosts { host.end() } }
            for host in hosts { try host.waitFor("ready") }
            let screen = try XServer(width: 1000, height: 640)
            let viewer = try Program.watch(ports.map(\.target), display: screen.display)
            defer { viewer.end() }
            for port in ports {
                try viewer.waitFor("first-frame") { count == 1 || $0.string("host") == port.target }
            }
            let window = try ViewedWindow(screen)
            func colours() throws -> Int { try window.part(from: 0, to: 1).colouredPixels }
            var before = 0
            #expect(
                try window.waits {
                    let last = before
                    before = try colours()
                    return before > 20_000 && last == before
                }, "no picture appears")
            hosts[0].interrupt()
            #expect(try hosts[0].waitForEnd() == .exited(0))
            #expect(try window.waits { try colours() < before * 3 / 5 }, "the picture stays")
            if count > 1 { #expect(try colours() > before / 4, "the other one has gone, too") }
        }

        /// The other room of the name is entered by a key, and found by itself.
        @Test(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func theOtherRoomIsJoinedByEnter() throws {
            let desk = try PrivateMachine()
            let screen = try XServer(width: 1000, height: 640)
            let machines = [try Machine(), try Machine()]
            func start(_ index: Int, _ arguments: [String]) throws -> ProgramProcess {
                try desk.start(
                    [
                        "room", "math", "--json", "--time-limit", "120", "--accept", "all", "--source", "pattern",
                        "--media-port", "0", "--port", "\(53001 + index)", "--name", ["Anna", "Ben"][index],
                    ] + arguments, as: machines[index], input: .pipe)
            }
            // Both remember a room of their own.
            for index in 0..<2 {
                let first = try start(index, ["--no-discovery", "--no-window"])
                try first.waitFor("ready")
                pause(seconds: 0.5)
                first.interrupt()
                #expect(try first.waitForEnd() == .exited(0))
            }
            var programs: [ProgramProcess] = []
            defer { for program in programs { program.end() } }
            for index in 0..<2 { programs.append(try start(index, ["--no-window"])) }
            #expect(eventually(timeout: 60) { programs.contains { !$0.events("other-room").isEmpty } })
            // The one that is asked does it again, with a window.
            let asked = try #require(programs.firstIndex { !$0.events("other-room").isEmpty })
            programs[asked].interrupt()
            #expect(try programs[asked].waitForEnd() == .exited(0))
            programs[asked] = try start(asked, ["--window-display", screen.display])
            let window = try ViewedWindow(screen)
            try programs[asked].waitFor("other-room")
            noticeTheQuestion()
            try window.press("Return")
            for program in programs {
                try program.waitFor("people", timeout: 60) { event in
                    event.fields["people"]?.array?.count { $0["here"]?.bool == true } == 2
                }
                expectPlainWords(program.errorText)
            }
        }

        /// The window says that nobody is let in; the time limit ends the program, and its status says why.
        @Test func aRefusedNewcomerExitsWith2AtItsTimeLimit() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "none"])
            let screen = try XServer(width: 1000, height: 640)
            let ben = try Member("Ben", display: screen.display)
            defer { ben.end() }
            try ben.launch(["--at", anna.target, "--time-limit", "6"])
            try ben.program.waitFor("refused")
            #expect(ben.program.isRunning)
            #expect(try ben.program.waitForEnd() == .exited(2))
            try ben.launch(["--at", anna.target])
            try ben.program.waitFor("refused")
            let window = try ViewedWindow(screen)
            pause(seconds: 0.5)
            try window.press("q")
            #expect(try ben.program.waitForEnd() == .exited(2))
        }

        /// As it is when the notices and the hints of the beginning are gone, which stay for 6 s at most.
        private func quiet(_ window: ViewedWindow) throws -> Screenshot {
            var (shot, since) = (try window.part(from: 0, to: 1), ContinuousClock.now)
            _ = try window.waits {
                let next = try window.part(from: 0, to: 1)
                if next.differingPixels(shot) > 0 { (shot, since) = (next, .now) }
                return since.duration(to: .now) > .seconds(7)
            }
            return shot
        }

        /// Asks at the member's door without the code.
        private func ask(_ newcomer: Member, at member: Member) throws {
            try newcomer.launch(["--at", member.target], input: .terminal)
            try newcomer.program.waitFor("code-needed")
            noticeTheQuestion()
            newcomer.program.process.type("ask")
        }
    }
}

extension Screenshot {
    /// Pixels that aren't grey.
    fileprivate var colouredPixels: Int {
        stride(from: 0, to: bytes.count, by: 4).count { start in
            let colour = bytes[start..<start + 3]
            return Int(colour.max() ?? 0) - Int(colour.min() ?? 0) > 60
        }
    }
}
