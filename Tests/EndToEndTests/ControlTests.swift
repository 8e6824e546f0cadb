import Foundation
import Testing

/// `beamroom share`'s control plane of version 1, as WIRE-V1.md specifies it.
extension EndToEnd {
    @Suite(.needsProgram) struct ControlTests {
        @Test func theHandshakeIsAnsweredAsTheProtocolSays() throws {
            let (host, ports) = try patternHost()
            defer { host.end() }
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            let reply = try viewer.reply()
            #expect(reply["ok"] == .bool(true))
            let session = try #require(reply["sessionID"]?.string)
            #expect(UUID(uuidString: session) != nil)
            try viewer.wait("port and broadcast") { $0.broadcast == true && $0.mediaPort != nil ? true : nil }
            let kinds = viewer.current.messages.prefix(3).map { message in
                ["ok", "udpPort", "on"].first { message[$0] != nil } ?? "another"
            }
            #expect(kinds == ["ok", "udpPort", "on"])
            #expect(viewer.current.messages[1].object?.keys.sorted() == ["udpPort"])
            #expect(viewer.current.messages[2].object?.keys.sorted() == ["on"])

            // A second handshake on the same connection gets the same session.
            let count = viewer.current.lines.count
            viewer.send(#"{"app":"beamroom","ver":1,"role":"viewer","code":"482913"}"#)
            let again = try viewer.wait("the second answer") { state in
                state.messages.dropFirst(count).first { $0["ok"] != nil }
            }
            #expect(again["sessionID"]?.string == session)
            #expect(again["message"]?.string == "Already paired")
            try viewer.wait("port and broadcast again") { state in
                let later = state.messages.dropFirst(count)
                return later.contains { $0["on"] != nil } && later.contains { $0.object?.keys.sorted() == ["udpPort"] }
                    ? true : nil
            }
            try viewer.wait("the first heartbeat") { $0.heartbeats > 0 ? true : nil }
            let times = viewer.current.lineTimes
            report("first heartbeat after the reply", "\(((times.last ?? 0) - times[0]).short) s")
        }

        @Test func wrongHandshakesAreRefusedInTheProtocolsWords() throws {
            let (host, ports) = try patternHost()
            defer { host.end() }
            let cases = [
                (#"{"app":"other","ver":1,"role":"viewer","code":"482913"}"#, "Incompatible Viewer"),
                (#"{"app":"beamroom","ver":9,"role":"viewer","code":"482913"}"#, "Incompatible Viewer"),
                (#"{"app":"beamroom","ver":1,"role":"host","code":"482913"}"#, "Invalid role"),
            ]
            for (handshake, message) in cases {
                let viewer = try IOSViewer(ports.control, handshake: handshake)
                defer { viewer.leave() }
                let reply = try viewer.reply()
                #expect(reply["ok"] == .bool(false))
                #expect(reply["message"]?.string == message)
            }
        }

        @Test func acceptNoneDeclines() throws {
            let (host, ports) = try patternHost(accept: "none")
            defer { host.end() }
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            let reply = try viewer.reply()
            #expect(reply["ok"] == .bool(false))
            #expect(reply["message"]?.string == "Declined")
            pause(seconds: 0.5)
            #expect(viewer.current.checker.datagrams == 0)
        }

        /// The first viewer leaves just before the person answers: the answer must not count for the second viewer's
        /// question.
        @Test func anAnswerDoesNotCountForTheNextQuestion() throws {
            let (host, ports) = try patternHost(accept: "ask", input: .pipe)
            defer { host.end() }
            let first = try IOSViewer(ports.control, code: "482913")
            defer { first.leave() }
            try host.waitForWords("482 913")
            let second = try IOSViewer(ports.control, from: "127.0.0.2", code: "100007")
            defer { second.leave() }
            pause(seconds: 0.5)
            first.leave()
            try host.waitForWords("100 007")
            for _ in 0..<3 {
                let seen = host.process.state.current.errors.count
                host.process.type("y")
                try host.waitForWords("100 007", from: seen)
            }
            #expect(host.errorText.contains("has just changed"))
            #expect(second.current.lines.isEmpty, "the answer was for the other viewer")
            noticeTheQuestion()
            host.process.type("y")
            #expect(try second.reply()["ok"] == .bool(true))
        }

        @Test func acceptAskShowsTheCodeAndWaitsForThePerson() throws {
            let (host, ports) = try patternHost(accept: "ask", input: .pipe)
            defer { host.end() }
            let first = try IOSViewer(ports.control, code: "482913")
            defer { first.leave() }
            try host.waitForWords("482 913")
            try host.waitFor("pairing")
            #expect(first.current.lines.isEmpty, "nothing is answered before the person has decided")
            host.process.type("y")
            #expect(try first.reply()["ok"] == .bool(true))
            try first.waitForFrames(5)

            let second = try IOSViewer(ports.control, from: "127.0.0.2", code: "100007")
            defer { second.leave() }
            try host.waitForWords("100 007")
            noticeTheQuestion()
            host.process.type("n")
            #expect(try second.reply()["message"]?.string == "Declined")
            #expect(try #require(second.reply()["ok"]) == .bool(false))

            for code in ["482913", "100007", "482 913", "100 007"] {
                #expect(!host.process.outputText.contains(code), "a code in the JSON events")
            }
        }

        @Test func invalidBytesAndFloodsDoNotDisturbOthers() throws {
            let (host, ports) = try patternHost()
            defer { host.end() }
            let viewer = try IOSViewer(ports.control, from: "127.0.0.2")
            defer { viewer.leave() }
            try viewer.waitForFrames(5)

            let tooLong = try Socket.connect(to: Endpoint(ports.control))
            tooLong.send([UInt8](repeating: 0x41, count: 8192))
            #expect(eventually(timeout: 30) { tooLong.receive(timeout: 0.1) == .ended }, "a line over 4 KiB")
            let binary = try Socket.connect(to: Endpoint(ports.control))
            binary.send((0..<2000).map { UInt8(truncatingIfNeeded: $0 &* 37) } + [0x0a])
            var flood: [Socket] = []
            for _ in 0..<80 {
                if let socket = try? Socket.connect(to: Endpoint(ports.control)) { flood.append(socket) }
            }
            let isBounded = eventually(timeout: 30) { flood.count { $0.receive(timeout: 0) == .ended } >= 80 - 64 }
            #expect(isBounded, "more than 64 connections are open")
            for port in [ports.control, ports.media] {
                let noise = try Socket.datagrams(on: Endpoint(0, on: "127.0.0.2"))
                for length in [0, 1, 5, 1200] {
                    noise.send([UInt8](repeating: 0xff, count: length), to: Endpoint(port))
                }
            }
            let count = viewer.current.checker.frames.count
            try viewer.waitForFrames(count + 30)
            #expect(viewer.current.checker.errors == [])
            #expect(!viewer.current.controlHasEnded)
            #expect(host.isRunning)
            flood = []
            let late = try IOSViewer(ports.control, from: "127.0.0.3")
            defer { late.leave() }
            try late.waitForFrames(5)
        }

        @Test func severalViewersShareOneEncoder() throws {
            let (host, ports) = try patternHost()
            defer { host.end() }
            let viewers = try (2...4).map { try IOSViewer(ports.control, from: "127.0.0.\($0)") }
            defer { for viewer in viewers { viewer.leave() } }
            for viewer in viewers { try viewer.waitForFrames(30) }
            #expect(viewers.allSatisfy { $0.current.checker.errors == [] })
            let stats = try host.waitFor("stats", from: host.lineCount) { $0.number("viewers") == 3 }
            let (encoded, frames) = (stats.number("encoded") ?? 0, stats.number("frames") ?? 0)
            report("three viewers", "\(Int(encoded)) encoded, \(Int(frames)) frames sent")
            #expect(abs(encoded - frames) <= 3)
            let sequences = viewers.map { Set($0.current.checker.frames.map(\.sequence)) }
            #expect(!sequences[0].intersection(sequences[1]).intersection(sequences[2]).isEmpty)
        }

        @Test func severalViewersOnOneMachineEachGetTheirStream() throws {
            let (host, ports) = try patternHost()
            defer { host.end() }
            let phones = try (0..<2).map { try IOSViewer(ports.control, code: "48291\($0)") }
            let programs = try (0..<2).map { _ in try Program.watch([ports.target]) }
            defer {
                for phone in phones { phone.leave() }
                for program in programs { program.end() }
            }
            for program in programs { try program.waitFor("first-frame") }
            for phone in phones { try phone.waitForFrames(10) }
            // Hellos continue meanwhile, and must not be assigned to another viewer.
            pause(seconds: 2.5)
            let counts = phones.map { $0.current.checker.frames.count }
            for (phone, count) in zip(phones, counts) {
                try phone.waitForFrames(count + 30)
                #expect(phone.current.checker.errors == [])
            }
            for program in programs {
                let stats = try program.waitFor("stats", from: program.lineCount)
                #expect((stats.number("fps") ?? 0) > 10)
                #expect(program.events("stall").isEmpty && program.events("reconnect").isEmpty)
            }
            try host.waitFor("stats", from: host.lineCount) { $0.number("viewers") == 4 }
        }

        @Test func theMediaContinueWithoutControl() throws {
            let (host, ports) = try patternHost()
            defer { host.end() }
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(10)
            viewer.loseControl()
            pause(seconds: 2)
            let count = viewer.current.checker.frames.count
            try viewer.waitForFrames(count + 30)
            #expect(viewer.current.checker.errors == [])
        }

        private func patternHost(accept: String = "all", input: ChildProcess.Input = .none) throws -> (
            ProgramProcess, Ports
        ) {
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "640x360", "--max-fps", "30", "--allow-unencrypted"], ports: ports,
                accept: accept,
                input: input)
            do {
                try host.waitFor("ready")
            } catch {
                host.end()
                throw error
            }
            return (host, ports)
        }
    }
}
