import ArgumentParser
import Testing

@testable import beamroom

/// `beamroom watch` with several hosts.
struct WallOptionTests {
    private func problem(_ arguments: String...) -> String? {
        do {
            _ = try WatchCommand.parse(arguments)
            return nil
        } catch {
            return WatchCommand.message(for: error)
        }
    }

    @Test func severalHostsAreTaken() throws {
        let watch = try WatchCommand.parse(["desk", "192.0.2.7", "[2001:db8::7]:5000", "--once", "--stats"])
        #expect(watch.hosts.map(\.text) == ["desk", "192.0.2.7", "[2001:db8::7]:5000"])
        #expect(problem("desk") == nil)
        #expect(problem() == nil)
    }

    @Test(
        arguments: [
            (["desk", "lab", "desk"], "“desk” is named twice"),
            (["desk", "DESK"], "“desk” and “DESK” are the same host"),
            (["192.0.2.7", "192.0.2.7:52345"], "“192.0.2.7” and “192.0.2.7:52345” are the same host"),
            (["desk", "http://lab"], "watch lab"), (["desk", "999.1.1.1"], "999.1.1.1"),
            ((1...17).map { "host\($0)" }, "17 were named"),
            (["a", "b", "--record", "x.mkv"], "--record is for one host"),
            (["a", "b", "--frames", "x.y4m"], "--frames is for one host"),
            (["a", "b", "--v4l2", "/dev/video9"], "--v4l2 is for one host"),
            (["a", "b", "--camera", "Desk"], "--camera is for one host"),
            (["a", "b", "--transcript", "x.txt"], "--transcript is for one host"),
            (["a", "b", "--code", "123456"], "--code is for one host"),
            (["a", "b", "--code-file", "x"], "--code-file is for one host"),
            (["a", "b", "--new-host"], "--new-host is for one host"), (["a", "b", "--auto", "c"], "--auto"),
        ] as [([String], String)])
    func wrongUsageSaysWhat(arguments: [String], words: String) {
        do {
            _ = try WatchCommand.parse(arguments)
            Issue.record("\(arguments) were taken")
        } catch {
            #expect(WatchCommand.exitCode(for: error).rawValue == 64)
            #expect(WatchCommand.message(for: error).contains(words), "\(WatchCommand.message(for: error))")
        }
    }

    @Test func sixteenHostsAreNotTooMany() throws {
        #expect(try WatchCommand.parse((1...16).map { "host\($0)" }).hosts.count == 16)
    }
}
