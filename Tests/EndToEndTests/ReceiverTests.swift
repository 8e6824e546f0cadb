import Foundation
import Testing

/// A receiver (`watch --wait`), and machines that show their screens there (`share --to`).
extension EndToEnd {
    @Suite(.needsProgram) struct ReceiverTests {
        /// In its own network, by its name: a code, somebody else, a death, and no code any more.
        @Test(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func aScreenIsSentByTheReceiversName() throws {
            let hall = try PrivateMachine()
            let sofa = try PrivateMachine(beside: hall)
            let (first, second) = (try Machine(), try Machine())
            let receiver = try hall.start(
                ["watch", "--wait", "--no-window", "--json", "--name", "Hall 3", "-m", "160", "--time-limit", "120"],
                input: .terminal)
            defer { receiver.end() }
            #expect(try receiver.waitFor("waiting").number("port") == 52349)
            let code = try receiver.shownCode()
            #expect(!receiver.process.outputText.contains(code), "no code in the JSON events")

            func send(_ machine: Machine, _ arguments: [String] = []) throws -> ProgramProcess {
                try sofa.start(
                    ["share", "--json", "--to", "hall 3", "--name", "Sofa", "--accept", "none", "--time-limit", "60"]
                        + .pattern + arguments, as: machine, input: .terminal)
            }
            let sender = try send(first)
            defer { sender.end() }
            try sender.waitFor("code-needed")
            noticeTheQuestion()
            sender.process.type(code)
            try sender.waitFor("receiver") { $0.string("state") == "showing" }
            let picture = try receiver.waitFor("first-frame")
            #expect(picture.string("host") == "Sofa" && sender.events("device-paired").count == 1)
            #expect(picture.number("width") == 160, "as it wishes")

            let busy = try send(second)
            defer { busy.end() }
            #expect(try busy.waitForEnd() == .exited(2))
            #expect(busy.errorText.contains("another screen"), "\(busy.errorText)")
            expectPlainWords(busy.errorText)

            let list = try sofa.start(["hosts", "--json", "--wait", "1.5"])
            defer { list.end() }
            _ = try list.waitForEnd()
            #expect(list.events("receiver-found").map { $0.string("name") } == ["Hall 3"])
            #expect(list.events("host").map { $0.string("name") } == ["Sofa"], "the receiver is no host")

            let seen = receiver.lineCount
            sender.kill()
            #expect(try receiver.waitFor("showing-ended", from: seen).string("why") == "lost")
            try receiver.waitFor("waiting", from: seen)

            // Known by its key, and shown until the receiver ends.
            let again = try send(first)
            defer { again.end() }
            try again.waitFor("receiver") { $0.string("state") == "showing" }
            #expect(again.events("code-needed").isEmpty)
            try receiver.waitFor("first-frame", from: seen)
            receiver.interrupt()
            #expect(try receiver.waitForEnd() == .exited(0))
            #expect(try again.waitForEnd() == .exited(0))
        }

        /// Escape at the receiver ends what is shown, and not the receiver, which fills the screen all the while.
        @Test(.needsXServer, .needsXdotool)
        func thePersonAtTheReceiverEndsIt() throws {
            let screen = try XServer(width: 1000, height: 700)
            let (hall, sofa, ports) = (try Machine(), try Machine(), try Ports())
            let port = try FreePort.stream()
            let receiver = try ProgramProcess(
                [
                    "watch", "--wait", "--json", "--display", screen.display, "--no-discovery", "--bind", "127.0.0.1",
                    "--port", "\(port)", "--name", "Hall", "--time-limit", "60",
                ], machine: hall, input: .terminal)
            defer { receiver.end() }
            try receiver.waitFor("waiting")
            let file = try sofa.codeFile(receiver.shownCode())
            let waiting = try Screenshot.take(of: screen.display)
            let sender = try Program.share(
                .pattern + ["--to", "127.0.0.1:\(port)", "--to-code-file", file], ports: ports, accept: "none",
                machine: sofa)
            defer { sender.end() }
            try receiver.waitFor("first-frame")
            #expect(try eventually(timeout: 20) { try Screenshot.take(of: screen.display) != waiting })
            let seen = receiver.lineCount
            try press("Escape", on: screen)
            #expect(try receiver.waitFor("showing-ended", from: seen).string("why") == "person")
            #expect(try sender.waitForEnd() == .exited(0))
            #expect(sender.events("receiver").last?.string("state") == "ended")
            try receiver.waitFor("waiting", from: seen)
            // The second `q` may be meant like the first; the third one isn't.
            pause(seconds: 2.5)
            try press("q", on: screen)
            #expect(try receiver.waitForEnd() == .exited(0))
        }

        @Test func nothingIsShownWithoutTheCodeOrAtAnythingElse() throws {
            let (sofa, ports, hostPorts) = (try Machine(), try Ports(), try Ports())
            let port = try FreePort.stream()
            let receiver = try ProgramProcess(
                [
                    "watch", "--wait", "--json", "--no-window", "--no-discovery", "--bind", "127.0.0.1", "--port",
                    "\(port)", "--time-limit", "60",
                ], input: .terminal)
            defer { receiver.end() }
            try receiver.waitFor("waiting")
            let shown = try receiver.shownCode()
            let wrong = try sofa.codeFile(shown == "000000" ? "000001" : "000000")
            func send(to target: String, _ arguments: [String] = []) throws -> ProgramProcess {
                try Program.share(.pattern + ["--to", target] + arguments, ports: ports, machine: sofa)
            }
            let host = try Program.share(.pattern, ports: hostPorts)
            defer { host.end() }
            try host.waitFor("ready")
            for (process, words) in [
                (try send(to: "127.0.0.1:\(port)", ["--to-code-file", wrong]), "isn't the code"),
                (try send(to: "127.0.0.1:\(port)"), "--to-code-file"),
                (try send(to: hostPorts.target), "isn't a receiver"),
                (try Program.watch(["127.0.0.1:\(port)"]), "can't be watched"),
            ] {
                defer { process.end() }
                #expect(try process.waitForEnd() == .exited(2))
                #expect(process.errorText.contains(words), "\(process.errorText)")
                expectPlainWords(process.errorText)
                #expect(process.events("ready").isEmpty, "nothing is captured before")
            }
            #expect(receiver.events("showing").isEmpty && receiver.events("sender-awaited").isEmpty)
            #expect(receiver.events("wrong-code").count == 1 && host.events("paired").isEmpty)
        }

        private func press(_ key: String, on screen: XServer) throws {
            try Tool.run(
                "xdotool", ["mousemove", "\(screen.width / 2)", "\(screen.height / 2)", "key", key], on: screen.display)
        }
    }
}
