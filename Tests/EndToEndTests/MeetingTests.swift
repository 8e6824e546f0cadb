import BeamMedia
import Foundation
import Testing

/// `beamroom room`: members of a room of equals, as processes.
extension EndToEnd {
    @Suite(.needsProgram) struct MeetingTests {
        @Test func anyMemberLetsInAndEverybodyKnowsEverybody() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "all"])
            let ben = try Member("Ben")
            defer { ben.end() }
            try ben.enter(through: anna, ["--accept", "all"])
            // Through the one that was let in last.
            let cleo = try Member("Cleo")
            defer { cleo.end() }
            try cleo.enter(through: ben)
            let all = [anna, ben, cleo]
            for member in all {
                try member.waitForPeople(here: 3)
                #expect(member.names == ["Anna", "Ben", "Cleo"])
                #expect(member.program.unreadableLines.isEmpty)
            }

            // Words.
            for member in all { member.program.write("{\"note\":\"from \(member.name)\"}") }
            cleo.program.write(#"{"caption":"said","speaker":"Zoe"}"#)
            cleo.program.write(#"{"message":{"n":1},"to":"Anna","id":"m"}"#)
            for member in all {
                for other in all {
                    try member.program.waitFor("note") { $0.string("text") == "from \(other.name)" }
                }
                let caption = try member.program.waitFor("caption") { $0.fields["partial"] == .bool(false) }
                #expect(caption.string("speaker") == "Zoe" && caption.string("name") == "Cleo")
            }
            try cleo.program.waitFor("delivered") { $0.string("id") == "m" }
            #expect(try anna.program.waitFor("message").fields["message"]?["n"]?.number == 1)
            #expect(ben.program.events("message").isEmpty, "a message for one is nobody else's")

            // Two share at once; one ends.
            ben.program.write(#"{"share":true}"#)
            cleo.program.write(#"{"share":true}"#)
            for (member, others) in [(anna, [ben, cleo]), (ben, [cleo]), (cleo, [ben])] {
                for other in others {
                    try member.program.waitFor("first-frame") { $0.string("host") == other.name }
                }
            }
            ben.program.write(#"{"pause":true}"#)
            try anna.program.waitFor("share-paused") { $0.string("name") == "Ben" && $0.fields["on"] == .bool(true) }
            ben.program.write(#"{"share":false}"#)
            try anna.program.waitFor("share-ended") { $0.string("name") == "Ben" }
            let frames = try anna.program.waitFor("stats") { $0.string("host") == "Cleo" }
            try anna.program.waitFor("stats", from: anna.program.lineCount) {
                $0.string("host") == "Cleo" && ($0.number("frames") ?? 0) > (frames.number("frames") ?? 0)
            }
            // It begins again.
            let lines = anna.program.lineCount
            ben.program.write(#"{"share":true}"#)
            do {
                try anna.program.waitFor("first-frame", from: lines) { $0.string("host") == "Ben" }
            } catch {
                throw HarnessError("\(error)\nBen's words:\n\(ben.program.errorText)")
            }

            // Another share has begun before the next second's figures are told, and counts from 0.
            try ben.program.waitFor("stats", from: ben.program.lineCount) {
                ($0.fields["own"]?["fps"]?.number ?? 0) > 0
            }
            ben.program.write(#"{"share":false}"#)
            ben.program.write(#"{"share":true}"#)
            for _ in 0..<2 {
                try ben.program.waitFor("stats", from: ben.program.lineCount) { $0.fields["own"] != nil }
            }

            for bad in [
                #"{"share":1}"#, #"{"putOut":"nobody"}"#, #"{"caption":""}"#, #"{"speaker":"x"}"#, "{",
                #"{"putOut":7}"#,
            ] {
                let lines = anna.program.lineCount
                anna.program.write(bad)
                try anna.program.waitFor("error", from: lines)
            }
            cleo.program.interrupt()
            #expect(try cleo.program.waitForEnd() == .exited(0))
            for member in [anna, ben] { try member.program.waitFor("member-left") { $0.string("name") == "Cleo" } }
            for member in all { expectPlainWords(member.program.errorText) }
        }

        /// Two members of one name, one of whom lets the other one speak.
        @Test func namesakesAreToldApart() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "all"])
            let other = try Member("anna")
            defer { other.end() }
            try other.enter(through: anna, ["--accept", "all"])
            let ben = try Member("Ben")
            defer { ben.end() }
            let scratch = try ScratchDirectory()
            defer { withExtendedLifetime(scratch) {} }
            let transcript = scratch.file("talk.txt")
            try ben.enter(through: anna, ["--transcript", transcript])
            try ben.waitForPeople(here: 3)
            func key(_ member: Member) throws -> Substring {
                try #require(try member.program.waitFor("ready").string("key")).prefix(4)
            }
            let (first, second) = ("Anna (\(try key(anna)))", "anna (\(try key(other)))")
            #expect(ben.names == [first, "Ben", second])
            anna.program.write(#"{"note":"mine"}"#)
            other.program.write(#"{"caption":"I agree","speaker":"Ben"}"#)
            #expect(try ben.program.waitFor("note").string("name") == first)
            let caption = try ben.program.waitFor("caption") { $0.fields["partial"] == .bool(false) }
            #expect(caption.string("name") == second && caption.fields["claimed"] == .bool(true))
            // The name alone means both.
            let lines = ben.program.lineCount
            ben.program.write(#"{"message":1,"to":"Anna","id":"m"}"#)
            try ben.program.waitFor("undelivered", from: lines)
            ben.program.write(#"{"message":1,"to":"\#(second)","id":"n"}"#)
            try ben.program.waitFor("delivered", from: lines)
            ben.program.interrupt()
            #expect(try ben.program.waitForEnd() == .exited(0))
            let text = try String(contentsOfFile: transcript, encoding: .utf8)
            #expect(text.contains("] \(first): mine\n"))
            #expect(text.contains("] \(second): “Ben” says: I agree\n"))
        }

        /// A member that was ended or killed, and one that comes back when another is away.
        @Test func whoBelongsToTheRoomComesBackWithoutACode() throws {
            let (anna, ben) = try twoMembers()
            defer {
                anna.end()
                ben.end()
            }
            // Stored a moment after it is known.
            #expect(eventually(timeout: 30) { ben.knowsTheRoom(with: anna) }, "the room isn't stored")
            ben.program.kill()
            try anna.program.waitFor("member-left") { $0.string("name") == "Ben" }
            let lines = anna.program.lineCount
            try ben.start("study", ["--accept", "none"])
            try anna.program.waitFor("member-joined", from: lines) { $0.string("name") == "Ben" }
            try ben.waitForPeople(here: 2)
            // The one that has founded it, while nobody who knows its address is told.
            anna.program.interrupt()
            #expect(try anna.program.waitForEnd() == .exited(0))
            try ben.waitForPeople(here: 1)
            try anna.start("STUDY", ["--accept", "none"])
            try ben.waitForPeople(here: 2, from: ben.program.lineCount - 1)
            #expect(anna.program.events("ready").first?.string("room") == "study", "it has its own name")
            // Once on a machine.
            let (second, _, reason) = try Program.run(
                ["room", "study", "--no-discovery", "--no-window", "--bind", "127.0.0.1", "--port", "0"],
                machine: anna.machine)
            #expect(second == .exited(1) && reason.contains("is in the room “study” already"), "\(reason)")
            // Forgotten, it is another room.
            anna.program.interrupt()
            _ = try anna.program.waitForEnd()
            let (ending, _, words) = try Program.run(["room", "--forget", "Study"], machine: anna.machine)
            #expect(ending == .exited(0) && words.contains("forgotten"), "\(words)")
            #expect(try Program.run(["room", "--forget", "study"], machine: anna.machine).ending == .exited(1))
            try anna.start("study", ["--accept", "none"])
            pause(seconds: 1.5)
            #expect(anna.names == ["Anna"])
        }

        @Test func whoIsPutOutStaysOut() throws {
            let (anna, ben) = try twoMembers()
            defer {
                anna.end()
                ben.end()
            }
            let cleo = try Member("Cleo")
            defer { cleo.end() }
            try cleo.enter(through: anna)
            for member in [anna, ben, cleo] { try member.waitForPeople(here: 3) }
            anna.program.write(#"{"share":true}"#)
            try cleo.program.waitFor("first-frame") { $0.string("host") == "Anna" }
            // Only members that came later can be put out.
            let lines = ben.program.lineCount
            ben.program.write(#"{"putOut":"Anna"}"#)
            try ben.program.waitFor("error", from: lines) { $0.string("what") == "putOut" }
            ben.program.write(#"{"putOut":"CLEO"}"#)
            try ben.program.waitFor("put-out") { $0.string("name") == "Cleo" }
            #expect(try cleo.program.waitForEnd() == .exited(2))
            #expect(cleo.program.errorText.contains("“Ben” has put this device out"), "\(cleo.program.errorText)")
            for member in [anna, ben] { try member.waitForPeople(here: 2, from: 0, among: 2) }
            // The others read who has done it.
            let told = try anna.program.waitFor("put-out")
            #expect(told.string("name") == "Cleo" && told.string("by") == "Ben")
            #expect(anna.program.errorText.contains("“Ben” has put “Cleo” out of the room."))
            #expect(!anna.program.errorText.contains("“Cleo” has left") && ben.program.events("put-out").count == 1)
            // It has forgotten the room, and neither address lets it in without the code.
            for door in [anna, ben] {
                try cleo.launch(["--at", door.target, "--code", "000000"])
                #expect(try cleo.program.waitForEnd() == .exited(2))
                #expect(cleo.program.events("ready").isEmpty)
                expectPlainWords(cleo.program.errorText)
            }
        }

        @Test func theNinthHearsThatTheRoomIsFull() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "all"])
            let others = try (2...8).map { try Member("M\($0)") }
            defer { for member in others { member.end() } }
            for member in others { try member.enter(through: anna) }
            for member in [anna] + others { try member.waitForPeople(here: 8) }
            let ninth = try Member("Nina")
            defer { ninth.end() }
            try ninth.launch(["--at", anna.target])
            #expect(try ninth.program.waitForEnd() == .exited(2))
            #expect(ninth.program.errorText.contains("full: 8 members are here"), "\(ninth.program.errorText)")
            expectPlainWords(ninth.program.errorText)
            // Somebody leaves, and there is room.
            others[6].program.interrupt()
            _ = try others[6].program.waitForEnd()
            try anna.waitForPeople(here: 7)
            try ninth.enter(through: anna)
            try ninth.waitForPeople(here: 8)
        }

        @Test func theCodeOrThePersonLetsIn() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "ask"], input: .terminal)
            try anna.program.waitForWords("Code to type at a new member")
            // A code, typed.
            let code = try anna.program.shownCode()
            let ben = try Member("Ben")
            defer { ben.end() }
            try ben.launch(["--at", anna.target], input: .terminal)
            // The room's name; nobody's before it is entered.
            #expect(try ben.program.waitFor("code-needed").string("name") == "study")
            #expect(!ben.program.errorText.contains("Anna") && !ben.program.process.outputText.contains("Anna"))
            noticeTheQuestion()
            ben.program.process.type(code == "000000" ? "000001" : "000000")
            try ben.program.waitFor("code-needed") { $0.fields["wasWrong"] == .bool(true) }
            noticeTheQuestion()
            ben.program.process.type(code)
            try ben.program.waitFor("ready")
            try anna.waitForPeople(here: 2)
            // Digits, compared.
            let cleo = try Member("Cleo")
            defer { cleo.end() }
            try cleo.launch(["--at", anna.target], input: .terminal)
            try cleo.program.waitFor("code-needed")
            noticeTheQuestion()
            cleo.program.process.type("ask")
            try anna.program.waitForWords("Somebody asks to enter, without the code")
            noticeTheQuestion()
            anna.program.process.type("y")
            try cleo.program.waitForWords("compares these digits")
            try anna.program.waitForWords("Does it show the same digits")
            noticeTheQuestion()
            anna.program.process.type("y")
            try cleo.program.waitFor("ready")
            try ben.waitForPeople(here: 3)

            // Keys in the terminal.
            pause(seconds: 1.5)
            ben.program.process.press("w")
            try ben.program.waitForWords("“Cleo”   is here")
            ben.program.process.press("s")
            try anna.program.waitFor("first-frame") { $0.string("host") == "Ben" }
            ben.program.process.press("p")
            try anna.program.waitFor("share-paused")
            anna.program.process.press("x")
            try anna.program.waitForWords("Put whom out")
            noticeTheQuestion()
            anna.program.process.type("1")
            #expect(try ben.program.waitForEnd() == .exited(2))
            for member in [anna, ben, cleo] { expectPlainWords(member.program.errorText) }
        }

        @Test func badInputIsExplained() throws {
            for (arguments, words) in [
                (["--at", "my desk"], "--at takes an address"), (["study", "--name", "\u{202E}"], "--name"),
                (["--captions", "-", "--json"], "--captions"), (["--no-window", "--stats"], "--no-window"),
                (["study", "--forget", "study"], "--forget"), (["--no-watch", "--stats"], "--no-watch"),
                (["--monitor", "1", "--region", "8x8+0+0"], "--monitor"),
            ] {
                let (ending, _, text) = try Program.run(["room"] + arguments)
                #expect(ending == .exited(64) && text.contains(words), "\(arguments): \(ending) \(text)")
            }
            let (ending, _, words) = try Program.run(["room", "study", "--no-discovery"])
            #expect(ending == .exited(1) && words.contains("display"), "\(words)")
            let nowhere = try FreePort.stream()
            let member = try Member("Anna")
            defer { member.end() }
            try member.launch(["--at", "127.0.0.1:\(nowhere)", "--time-limit", "3"])
            #expect(try member.program.waitForEnd() == .exited(0))
            #expect(member.program.errorText.contains("127.0.0.1:\(nowhere)"), "\(member.program.errorText)")
            // A damaged store is said, and loses nothing.
            try FileManager.default.createDirectory(
                atPath: member.machine.store, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let file = member.machine.store + "/rooms.json"
            try Data("{".utf8).write(to: URL(filePath: file))
            #expect(chmod(file, 0o600) == 0)
            try member.launch(["study"])
            #expect(try member.program.waitForEnd() == .exited(1))
            #expect(member.program.errorText.contains("rooms.json is damaged"), "\(member.program.errorText)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "{")
        }

        private func twoMembers() throws -> (Member, Member) {
            let anna = try Member("Anna")
            try anna.start("study", ["--accept", "all"])
            let ben = try Member("Ben")
            try ben.enter(through: anna)
            for member in [anna, ben] { try member.waitForPeople(here: 2) }
            return (anna, ben)
        }
    }

    @Suite(.needsProgram, .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct MeetingDiscoveryTests {
        @Test func aRoomIsFoundByItsName() throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let common = ["--json", "--no-window", "--time-limit", "60", "--source", "pattern"]
            let anna = try desk.start(["room", "Study 1", "--name", "Secret Anna", "--accept", "all"] + common)
            defer { anna.end() }
            try anna.waitForWords("Announced on the network")
            let ben = try sofa.start(["room", "study 1", "--name", "Ben"] + common)
            defer { ben.end() }
            try ben.waitFor("ready") { $0.string("room") == "Study 1" }
            for member in [anna, ben] {
                try member.waitFor("people") { event in
                    event.fields["people"]?.array?.count { $0["here"]?.bool == true } == 2
                }
            }
            try ben.waitForWords("Announced on the network")
            // A stranger learns the room's name, and nothing of who is in it.
            let list = try sofa.run(["avahi-browse", "-rpt", "_beamroom._tcp"])
            defer { list.end() }
            _ = try list.waitForEnd()
            #expect(list.outputText.contains("room=Study 1"), "\(list.outputText)\n\(list.errorText)")
            #expect(!list.outputText.contains("Anna") && !list.outputText.contains("Ben"))
            let key = try #require(try anna.waitFor("ready").string("key"))
            #expect(!list.outputText.lowercased().contains(key.prefix(8)))
        }
    }

    @Suite(.needsProgram, .needsXServer, .needsXdotool) struct MeetingWindowTests {
        @Test func theWindowShowsWhoSharesAndTakesKeys() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "all", "--share", "--content", "still"])
            let screen = try XServer(width: 1280, height: 800)
            let ben = try Member("Ben", display: screen.display)
            defer { ben.end() }
            try ben.enter(through: anna)
            try ben.program.waitFor("first-frame") { $0.string("host") == "Anna" }
            let window = try ViewedWindow(screen)
            pause(seconds: 1)
            try Tool.run("xdotool", ["mousemove", "640", "400"], on: screen.display)
            let before = try window.part(from: 0, to: 0.3)
            func press(_ keys: String...) throws {
                try Tool.run("xdotool", ["key", "--delay", "30"] + keys, on: screen.display)
            }
            try press("w")
            #expect(
                try window.waits { try window.part(from: 0, to: 0.3).differingPixels(before) > 1000 },
                "no list of people appears")
            try press("w")
            try press("s")
            try anna.program.waitFor("first-frame") { $0.string("host") == "Ben" }
            try press("p")
            try anna.program.waitFor("share-paused") { $0.fields["on"] == .bool(true) }
            try press("p", "s")
            try anna.program.waitFor("share-ended") { $0.string("name") == "Ben" }
            try press("n", "h", "i", "Return")
            try anna.program.waitFor("note") { $0.string("text") == "hi" }
            // A second one shares: a grid, and a size for each tile.
            let cleo = try Member("Cleo")
            defer { cleo.end() }
            try cleo.enter(through: anna, ["--share"])
            try ben.program.waitFor("stats") { $0.string("host") == "Cleo" && ($0.number("width") ?? 9999) < 1280 }
            try press("2")
            try ben.program.waitFor("stats", from: ben.program.lineCount) {
                $0.string("host") == "Cleo" && $0.number("width") == 1280
            }
            // Put out, the person reads why before the window is closed.
            anna.program.write(#"{"putOut":"Ben"}"#)
            try ben.program.waitForWords("“Anna” has put this device out of the room")
            pause(seconds: 0.5)
            #expect(ben.program.isRunning)
            try press("q")
            #expect(try ben.program.waitForEnd() == .exited(2))
            expectPlainWords(ben.program.errorText)
        }
    }
}

/// Somebody in a room, on a machine of its own.
final class Member: Sendable {
    let name: String
    let machine: Machine
    private let port: UInt16
    private let display: String?
    private let running = Monitor<ProgramProcess?>(nil)

    /// - Parameter display: where the window is; nil: none.
    init(_ name: String, display: String? = nil) throws {
        self.name = name
        self.display = display
        machine = try Machine()
        port = try FreePort.stream()
    }

    var program: ProgramProcess {
        guard let program = running.current else { preconditionFailure("\(name) hasn't been started") }
        return program
    }

    var target: String { "127.0.0.1:\(port)" }

    /// Starts it, by itself or again, and waits until it is in the room.
    func start(_ room: String, _ arguments: [String] = [], input: ChildProcess.Input = .pipe) throws {
        try launch([room] + arguments, input: input)
        try program.waitFor("ready")
    }

    /// Starts it at the address of another member, and waits until it is in the room.
    func enter(through other: Member, _ arguments: [String] = []) throws {
        try launch(["--at", other.target] + arguments)
        try program.waitFor("ready")
    }

    func launch(_ arguments: [String], input: ChildProcess.Input = .pipe) throws {
        running.set(
            try ProgramProcess(
                [
                    "room", "--json", "--no-discovery", "--bind", "127.0.0.1", "--port", "\(port)", "--name", name,
                    "--media-port", "0",
                ] + (arguments.contains("--display") ? [] : ["--source", "pattern"])
                    + (display.map { ["--window-display", $0] } ?? ["--no-window"])
                    + (arguments.contains("--time-limit") ? [] : ["--time-limit", "60"]) + arguments,
                machine: machine, input: input))
    }

    /// Waits until so many are here; `among` so many who belong to the room, if it matters.
    func waitForPeople(here count: Int, from start: Int = 0, among all: Int? = nil) throws {
        try program.waitFor("people", from: start) { event in
            let people = event.fields["people"]?.array ?? []
            return people.count { $0["here"]?.bool == true } == count && (all == nil || people.count == all)
        }
    }

    /// The names of those who are here, as it was told last.
    var names: [String] {
        let people = program.events("people").last?.fields["people"]?.array ?? []
        return people.filter { $0["here"]?.bool == true }.compactMap { $0["name"]?.string }.sorted()
    }

    /// The code that its terminal has shown last.
    var lastCode: String? { program.process.state.current.errors.compactMap { Program.code(in: $0) }.last }

    /// It has stored the room, and where the other member is.
    func knowsTheRoom(with other: Member) -> Bool {
        let text = try? String(contentsOfFile: machine.store + "/rooms.json", encoding: .utf8)
        return text?.contains(other.target) == true
    }

    func end() { running.current?.end() }
}

/// The short form of `Scripts/bench room`. Nothing is judged by time.
extension EndToEnd {
    @Suite(
        .needsProgram, .enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
    struct MeetingBenchTests {
        private static let script = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/bench"

        /// Words under loss and across a split, and pictures through a member in between.
        @Test(arguments: ["words", "pictures"]) func theBenchmarkFindsNothingWrong(row: String) throws {
            let scratch = try ScratchDirectory()
            defer { withExtendedLifetime(scratch) {} }
            let file = scratch.file("results.json")
            let bench = try ChildProcess(
                Self.script, ["room", "--check", "--rows", row, "--no-setup", "--json", file],
                environment: ["BEAMROOM": Program.path])
            defer { bench.end() }
            let ending = try bench.waitForEnd(timeout: 180)
            try #require(ending == .exited(0), "\(bench.outputText)\n\(bench.errorText)")
            let found = try #require(
                JSONValue(try String(contentsOfFile: file, encoding: .utf8))?["rows"]?[row]?.object)
            if row == "words" {
                #expect(found["lost"]?.number == 0 && found["twice"]?.number == 0 && found["hops"]?.number == 2)
                #expect(found["kept_apart"]?.number == 1 && found["packets_lost"]?.number ?? 0 > 0)
            } else {
                #expect(found["relayed"]?["fps"]?.number ?? 0 > 0 && found["back"]?.number ?? 0 > 0)
            }
        }
    }
}
