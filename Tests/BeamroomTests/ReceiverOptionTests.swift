import ArgumentParser
import Testing

@testable import BeamNetwork
@testable import BeamViewer
@testable import beamroom

/// `watch --wait` and `share --to`: what goes together, and what is shown of it.
struct ReceiverOptionTests {
    private func problem<Command: ParsableCommand>(_ command: Command.Type, _ arguments: [String]) -> String? {
        do {
            _ = try command.parse(arguments)
            return nil
        } catch {
            return command.message(for: error)
        }
    }

    @Test(
        arguments: [
            (["--wait", "desk"], "A host"), (["--wait", "--auto", "desk"], "--auto"),
            (["--wait", "--code", "123456"], "--code"), (["--wait", "--record", "a.mkv"], "--record"),
            (["--wait", "--windowed", "--no-window"], "--windowed"), (["--wait", "--windowed", "-f"], "--windowed"),
            (["--port", "1"], "add --wait"), (["--windowed"], "add --wait"),
            (["--no-discovery", "desk"], "add --wait"), (["--wait", "--camera", "Desk"], "--camera"),
            (["--wait", "--v4l2", "/dev/video9"], "--v4l2"),
        ] as [([String], String)])
    func whatDoesNotGoTogetherIsSaid(_ arguments: [String], _ words: String) {
        #expect(problem(WatchCommand.self, arguments)?.contains(words) == true)
    }

    @Test func whatGoesTogetherIsTaken() {
        for arguments in [["--wait"], ["--wait", "--windowed", "--port", "0", "--once"], ["--wait", "--no-window"]] {
            #expect(problem(WatchCommand.self, arguments) == nil, "\(arguments)")
        }
    }

    @Test func aReceiverIsNamedLikeAHostAndHasAnotherPort() throws {
        #expect(try ShareCommand.parse(["--to", "192.0.2.7"]).sending.to?.address?.port == 52349)
        #expect(try ShareCommand.parse(["--to", "192.0.2.7:5000"]).sending.to?.address?.port == 5000)
        #expect(try ShareCommand.parse(["--to", "[2001:db8::7]"]).sending.to?.address?.port == 52349)
        let named = try ShareCommand.parse(["--to", "Hall 3"]).sending.to
        #expect(named?.kind == .name("Hall 3", address: nil))
        #expect(problem(ShareCommand.self, ["--to", "http://hall"])?.contains("share --to hall") == true)
        #expect(problem(ShareCommand.self, ["--to-code-file", "x"])?.contains("--to") == true)
    }

    /// What the waiting screen says is what a shell takes.
    @Test func theCommandIsTypedAsItIsShown() {
        func target(_ name: String?, _ address: String?, _ port: UInt16 = 52349) -> String? {
            StationText.target(name: name, address: address, port: port, usualPort: 52349)
        }
        #expect(target("Hall", nil) == "Hall" && target("Hall 3", nil) == "'Hall 3'" && target("Büro", nil) == "Büro")
        #expect(target("-x", nil) == "'-x'" && target("a$(b)", nil) == "'a$(b)'")
        #expect(target(nil, "192.0.2.7") == "192.0.2.7" && target(nil, "192.0.2.7", 5) == "192.0.2.7:5")
        #expect(target(nil, "2001:db8::7") == "2001:db8::7" && target(nil, "2001:db8::7", 5) == "[2001:db8::7]:5")
        #expect(target(nil, nil) == nil)
    }
}
