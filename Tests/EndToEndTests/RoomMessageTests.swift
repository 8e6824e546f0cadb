import BeamMedia
import Foundation
import Testing

/// Messages between the programs behind `share --json` and `watch --json`.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomMessageTests {
        let ports: Ports
        let desk: Machine
        let sofa: Machine

        init() throws {
            ports = try Ports()
            desk = try Machine()
            sofa = try Machine()
        }

        private func share(_ arguments: [String] = []) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--max-fps", "5", "--name", "Desk"] + arguments, ports: ports, machine: desk, input: .pipe)
            try host.waitFor("ready")
            return host
        }

        private func watch(machine: Machine? = nil) throws -> ProgramProcess {
            let viewer = try Program.watch([ports.target], machine: machine ?? sofa, input: .pipe)
            try viewer.waitFor("room")
            return viewer
        }

        /// The event's line must have the body as it was written.
        private func expectArrival(_ body: String, id: String, at program: ProgramProcess) throws {
            let start = "{\"message\":\(body),\""
            let end = "\"id\":\"\(id)\""
            let isThere = program.process.state.wait(timeout: 30) { state in
                state.output.contains { $0.hasPrefix(start) && $0.contains(end) } ? true : nil
            }
            #expect(isThere == true, "\(id): \(body.prefix(200))")
        }

        @Test func bodiesArriveUnchangedBothWays() throws {
            let host = try share()
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            let bodies = [
                "1.0", "-0.0e-0", "1e400", "12345678901234567890", "0.1000000000000000055511151231257827", "null",
                "\"\"",
                "\"\\u00e9\\ud83d\\ude00 é 😀 \\/ \\\\ \\\" \\n \\u0000 \\u001b[2J\"", "[ ]", "{ }",
                "[1,  2 ,{\"a\" : [ [] ]}]",
                "{\"a\":1,\"a\":2,\"b\":{\"a\":3}}", "{\"message\":1,\"to\":\"x\",\"event\":\"note\",\"t\":-1}",
                String(repeating: "[", count: 30) + String(repeating: "]", count: 30),
            ]
            for (sender, receiver) in [(host, viewer), (viewer, host)] {
                for (number, body) in bodies.enumerated() {
                    sender.write("{\"message\":\(body),\"to\":\"all\",\"id\":\"b\(number)\"}")
                }
                for (number, body) in bodies.enumerated() {
                    try expectArrival(body, id: "b\(number)", at: receiver)
                    #expect(try sender.waitFor("delivered") { $0.string("id") == "b\(number)" }.number("count") == 1)
                }
                // In their order, each once.
                #expect(receiver.rawLines("message").count == bodies.count)
                let ids = receiver.rawLines("message").compactMap { $0.firstMatch(of: /"id":"(b[0-9]+)"/)?.output.1 }
                #expect(ids.map { String($0) } == bodies.indices.map { "b\($0)" })
            }
        }

        @Test func messagesGoToWhomTheyNameAndTellWhatBecameOfThem() throws {
            let host = try share()
            defer { host.end() }
            // Nobody is there yet.
            host.write(#"{"message":1,"id":"early"}"#)
            let early = try host.waitFor("undelivered")
            #expect(early.string("id") == "early" && early.string("reason")?.contains("nobody") == true)
            let first = try watch()
            defer { first.end() }
            let second = try watch(machine: try Machine())
            defer { second.end() }
            first.write(#"{"message":"to the host","to":"desk","id":"d"}"#)
            let arrived = try host.waitFor("message")
            #expect(arrived.string("to") == "you" && arrived.fields["message"] == .string("to the host"))
            try first.waitFor("delivered") { $0.string("id") == "d" && $0.number("count") == 1 }
            let key = try #require(arrived.string("from"))

            host.write(#"{"message":"by key","to":"\#(key)","id":"k"}"#)
            let byKey = try first.waitFor("message")
            #expect(byKey.string("to") == "you" && byKey.string("name") == "Desk" && byKey.string("id") == "k")
            try host.waitFor("delivered") { $0.string("id") == "k" && $0.number("count") == 1 }
            host.write(#"{"message":"for both","id":"all"}"#)
            for viewer in [first, second] {
                #expect(try viewer.waitFor("message") { $0.string("id") == "all" }.string("to") == "all")
            }
            try host.waitFor("delivered") { $0.string("id") == "all" && $0.number("count") == 2 }
            #expect(second.events("message").count == 1, "it got another one's message")

            // From a viewer to the others, by way of the host.
            second.write(#"{"message":"hello","id":"s"}"#)
            try first.waitFor("message") { $0.string("id") == "s" && $0.string("from") != $0.string("to") }
            try second.waitFor("delivered") { $0.string("id") == "s" && $0.number("count") == 2 }

            let unknownKey = String(repeating: "0123456789abcdef", count: 4)
            for (number, name) in ["Nobody", "", unknownKey, "\\u001b[2J"].enumerated() {
                first.write(#"{"message":1,"to":"\#(name)","id":"u\#(number)"}"#)
                let failed = try first.waitFor("undelivered") { $0.string("id") == "u\(number)" }
                #expect(failed.string("reason")?.contains("nobody") == true, "\(failed)")
            }
            // A member that has left isn't found.
            first.interrupt()
            _ = try first.waitForEnd()
            try host.waitFor("viewer-left")
            host.write(#"{"message":1,"to":"\#(key)","id":"gone"}"#)
            #expect(
                try host.waitFor("undelivered") { $0.string("id") == "gone" }.string("reason")?.contains("nobody")
                    == true)
        }

        /// Either side may be first: nothing is lost that was written before the host was there.
        @Test func whatIsWrittenBeforeTheHostIsThereArrives() throws {
            let viewer = try Program.watch([ports.target], machine: sofa, input: .pipe)
            defer { viewer.end() }
            for number in 1...50 { viewer.write("{\"message\":\(number),\"id\":\"\(number)\"}") }
            viewer.write(#"{"note":"early"}"#)
            pause(seconds: 1)
            let host = try share()
            defer { host.end() }
            for number in 1...50 { try viewer.waitFor("delivered") { $0.string("id") == "\(number)" } }
            try host.waitFor("note") { $0.text == "early" }
            #expect(host.roomEvents("message").compactMap { $0.number("message") } == (1...50).map { Double($0) })
            #expect(viewer.events("error").isEmpty && viewer.events("undelivered").isEmpty)
        }

        /// As much as waits for a host, and no more: the rest is answered, and the program is told why.
        @Test func whatIsTooMuchBeforeTheHostIsThereIsRefused() throws {
            let viewer = try Program.watch([ports.target], machine: sofa, input: .pipe)
            defer { viewer.end() }
            // 8 MiB: each body is 60,007 bytes with its quotation marks, its ID, and the length of that.
            let (count, most) = (160, (8 << 20) / 60_007)
            let body = String(repeating: "x", count: 60_000)
            for number in 0..<count { viewer.write("{\"message\":\"\(body)\",\"id\":\"\(100 + number)\"}") }
            #expect(eventually(timeout: 30) { viewer.rawLines("undelivered").count == count - most })
            let refused = viewer.roomEvents("undelivered")
            #expect(refused.map { $0.string("id") } == (most..<count).map { "\(100 + $0)" })
            #expect(refused.allSatisfy { $0.string("reason") == "too much waits to be sent" })
            let host = try share()
            defer { host.end() }
            // The rest isn't lost; the host takes it slowly.
            #expect(eventually(timeout: 30) { host.rawLines("message").count >= 10 })
            #expect(host.roomEvents("message").prefix(10).map { $0.string("id") } == (0..<10).map { "\(100 + $0)" })
            #expect(viewer.rawLines("undelivered").count == count - most)
        }

        @Test func badLinesGetAnErrorAndDisturbNothing() throws {
            let host = try share()
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            let bad = [
                "{", "{}", "garbage", "[1]", "17", "{\"message\":}", "{\"message\":1,}", "{\"message\":1}}",
                "{\"message\":1,\"to\":7}", "{\"message\":1,\"id\":7}", "{\"message\":1,\"id\":\"\"}", "{\"note\":[]}",
                "{\"message\":1,\"id\":\"\(String(repeating: "x", count: 65))\"}", "{\"message\":NaN}",
                "{\"message\":'a'}",
                "{\"message\":" + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}",
                "{\"message\":\"\(String(repeating: "y", count: 70_000))\"}", String(repeating: "z", count: 70_000),
                "{\"note\":\"\(String(repeating: "n", count: 2001))\"}",
            ]
            for (program, other) in [(viewer, host), (host, viewer)] {
                let others = other.events("error").count
                for (number, line) in bad.enumerated() {
                    program.write(line)
                    program.write("{\"message\":\(number),\"id\":\"ok\(number)\"}")
                }
                for number in bad.indices {
                    try other.waitFor("message") { $0.string("id") == "ok\(number)" }
                    try program.waitFor("delivered") { $0.string("id") == "ok\(number)" }
                }
                #expect(program.events("error").count == bad.count, "\(program.events("error"))")
                #expect(program.events("error").allSatisfy { $0.string("reason")?.isEmpty == false })
                #expect(other.events("error").count == others)
                #expect(other.unreadableLines == [] && program.unreadableLines == [])
                #expect(other.events("message").count == bad.count)
            }
            viewer.write(#"{"pause":true}"#)
            try viewer.waitFor("error") { $0.string("reason") == "only a host can pause" }
            // Blank lines are nothing.
            let errors = viewer.events("error").count
            for _ in 0..<3 { viewer.write("  ") }
            viewer.write(#"{"message":1,"id":"last"}"#)
            try viewer.waitFor("delivered") { $0.string("id") == "last" }
            #expect(viewer.events("error").count == errors)
        }

        @Test func theGreatestMessageArrivesAndALargerOneIsRefused() throws {
            let host = try share()
            defer { host.end() }
            let viewer = try watch()
            defer { viewer.end() }
            // 64 KiB with the ID and its length.
            let most = (64 << 10) - 2 - 2
            for (sender, receiver) in [(host, viewer), (viewer, host)] {
                let body = "\"" + String(repeating: "é", count: (most - 2) / 2) + "\""
                sender.write("{\"message\":\(body),\"id\":\"64\"}")
                try expectArrival(body, id: "64", at: receiver)
                try sender.waitFor("delivered") { $0.string("id") == "64" }
                sender.write("{\"message\":\"\(String(repeating: "x", count: most))\",\"id\":\"65\"}")
                let refused = try sender.waitFor("undelivered") { $0.string("id") == "65" }
                #expect(refused.string("reason")?.contains("longer than") == true)
                #expect(sender.events("error").isEmpty && receiver.events("message").count == 1)
            }
        }

        /// 500 messages each way before the viewer is restarted, 500 before the host is, and 200 after that.
        @Test func noneIsLostOrTwiceAcrossARestartOfEachSide() throws {
            var host = try share()
            defer { host.end() }
            var viewer = try watch()
            defer { viewer.end() }
            var lives: [(sender: ProgramProcess, receiver: ProgramProcess, hasEnded: Bool)] = []
            var number = 0
            func send(_ count: Int, restarting: ProgramProcess?) throws {
                let (host, viewer) = (host, viewer)
                for _ in 0..<count {
                    number += 1
                    for program in [host, viewer] { program.write("{\"message\":\(number),\"id\":\"\(number)\"}") }
                }
                if let restarting {
                    // In the middle of it.
                    let start = number - count
                    for program in [host, viewer] {
                        try program.waitFor("message") {
                            ($0.fields["message"]?.number ?? 0) > Double(start + count / 4)
                        }
                    }
                    restarting.interrupt()
                    #expect(try restarting.waitForEnd() == .exited(0))
                }
                lives += [(host, viewer, restarting === host), (viewer, host, restarting === viewer)]
            }
            try send(500, restarting: viewer)
            viewer = try watch()
            let rooms = viewer.lineCount
            try send(500, restarting: host)
            let start = secondsNow()
            host = try share()
            try viewer.waitFor("room", from: rooms)
            report("a viewer is in the room of its restarted host after", "\((secondsNow() - start).short) s")
            try send(200, restarting: nil)
            // Every message of a program that lives has its result.
            for program in [host, viewer] {
                try program.waitFor("delivered") { $0.string("id") == "\(number)" }
            }
            var senders: [ProgramProcess] = []
            for life in lives where !senders.contains(where: { $0 === life.sender }) { senders.append(life.sender) }
            for sender in senders {
                let receivers = lives.filter { $0.sender === sender }.map(\.receiver)
                let isHost = sender.events("ready").count == 1
                var seen: [String: Int] = [:]
                for receiver in Set(receivers.map { ObjectIdentifier($0) }).compactMap({ id in
                    receivers.first { ObjectIdentifier($0) == id }
                }) {
                    let ids = receiver.roomEvents("message").compactMap { $0.string("id") }.compactMap { Int($0) }
                    // In order, as far as they are of one sender's life.
                    if lives.count(where: { $0.receiver === receiver }) == 1 { #expect(ids == ids.sorted()) }
                    for id in ids { seen["\(id)", default: 0] += 1 }
                }
                let delivered = sender.roomEvents("delivered").compactMap { $0.string("id") }
                let undelivered = sender.roomEvents("undelivered").compactMap { $0.string("id") }
                let name = isHost ? "host" : "viewer"
                report("\(name): delivered, undelivered", "\(delivered.count), \(undelivered.count)")
                #expect(Set(delivered).count == delivered.count && Set(delivered).isDisjoint(with: undelivered))
                #expect(delivered.filter { seen[$0] == nil } == [], "\(name): told delivered, and not there")
                let hasEnded = lives.contains { $0.sender === sender && $0.hasEnded }
                let written = lives.indices.filter { lives[$0].sender === sender }.reduce(0) {
                    $0 + [500, 500, 200][$1 / 2]
                }
                if !hasEnded { #expect(delivered.count + undelivered.count == written, "\(name): some have no result") }
            }
            // Nobody got one twice: a number comes once from the host, and once from a viewer.
            for receiver in senders {
                let ids = receiver.roomEvents("message").compactMap { $0.string("id") }
                #expect(Set(ids).count == ids.count)
            }
        }
    }
}
