import Foundation
import Testing

/// Any viewer can be sent away, remembered or not. Problems with the store don't stop a picture.
extension EndToEnd {
    @Suite(.needsProgram) struct GuestTests {
        let desk: Machine
        let sofa: Machine
        let ports: Ports

        init() throws {
            desk = try Machine()
            sofa = try Machine()
            ports = try Ports()
        }

        @Test func anUnpairedViewerCanBeSentAway() throws {
            let host = try Program.share(.pattern, ports: ports, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let stays = try Program.watch([ports.target])
            defer { stays.end() }
            try stays.waitFor("first-frame")
            #expect(eventually(timeout: 10) { (try? listed().count) == 1 })
            let staying = try listed().first?.string("key")
            let goes = try Program.watch([ports.target], machine: sofa)
            defer { goes.end() }
            try goes.waitFor("first-frame")
            #expect(eventually(timeout: 10) { (try? listed().count) == 2 })
            let before = try listed()
            #expect(before.allSatisfy { $0.fields["remembered"] == .bool(false) })
            #expect(before.allSatisfy { $0.fields["watching"] == .bool(true) })
            let key = try #require(before.compactMap { $0.string("key") }.first { $0 != staying })
            // The output for people.
            let (_, output, _) = try Program.run(["devices"], machine: desk)
            #expect(output.contains(key) && output.contains("watching now"), "\(output)")
            let columns = output.split(separator: "\n").compactMap { $0.range(of: "watching now")?.lowerBound }
            #expect(columns.count == 2, "\(output)")

            try expectSentAway(key, goes, from: host)
            let back = try Program.watch([ports.target], machine: sofa)
            defer { back.end() }
            #expect(try back.waitForEnd() == .exited(2), "kept out until the host ends")
            #expect(back.errorText.contains("sent away"), "\(back.errorText)")
            #expect(!back.errorText.contains("six digits"), "nobody shows digits: \(back.errorText)")
            expectPlainWords(back.errorText)

            let stats = try stays.waitFor("stats", from: stays.lineCount) { ($0.number("fps") ?? 0) > 15 }
            #expect(stats.number("lost") == 0)
            #expect(stays.events("stall").isEmpty && stays.events("reconnect").isEmpty, "the key's rotation is visible")
            #expect(eventually(timeout: 10) { (try? listed().count) == 1 })

            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            #expect(try listed().isEmpty)
            let left = try FileManager.default.contentsOfDirectory(atPath: desk.store)
            #expect(left.allSatisfy { !$0.hasPrefix("guests-") && !$0.hasPrefix("orders-") }, "\(left)")
        }

        @Test func aViewerThatIsPairedOnceCanBeSentAway() throws {
            let host = try Program.share(
                .pattern + ["--once", "--code-file", try desk.codeFile("482913")], ports: ports, accept: nil,
                machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(eventually(timeout: 10) { (try? listed().count) == 1 })
            let device = try #require(listed().first)
            #expect(device.fields["remembered"] == .bool(false))
            try expectSentAway(try #require(device.string("key")), viewer, from: host)
            let back = try Program.watch([ports.target], machine: sofa)
            defer { back.end() }
            #expect(try back.waitForEnd() == .exited(2))
        }

        @Test func aVersion1ViewerCanBeSentAway() throws {
            let host = try Program.share(.pattern + ["--allow-unencrypted"], ports: ports, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let other = try IOSViewer(ports.control, from: "127.0.0.2")
            defer { other.leave() }
            try other.waitForFrames(5)
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(5)
            #expect(eventually(timeout: 10) { (try? listed().count) == 2 })
            let devices = try listed()
            #expect(Set(devices.compactMap { $0.string("address") }) == ["127.0.0.1", "127.0.0.2"], "\(devices)")
            let seen = host.lineCount
            let (ending, words) = try desk.forget("127.0.0.1")
            #expect(ending == .exited(0) && words.contains("127.0.0.1"), "\(words)")
            let left = try host.waitFor("viewer-left", from: seen)
            #expect(left.string("reason")?.contains("sent away") == true)
            try viewer.wait("the end of the connection") { $0.controlHasEnded ? true : nil }
            let back = try IOSViewer(ports.control)
            defer { back.leave() }
            #expect(try back.reply()["ok"] == .bool(false))
            let count = other.current.checker.frames.count
            try other.waitForFrames(count + 10)
        }

        @Test func guestsOfAKilledHostAreNotListed() throws {
            let host = try Program.share(.pattern, ports: ports, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(eventually(timeout: 10) { (try? listed().count) == 1 })
            host.kill()
            _ = try host.waitForEnd()
            #expect(try listed().isEmpty)
            let left = try FileManager.default.contentsOfDirectory(atPath: desk.store)
            #expect(left.allSatisfy { !$0.hasPrefix("guests-") }, "\(left)")
        }

        // MARK: Problems with the store

        @Test func aHeldLockDoesNotStopThePicture() throws {
            // Viewers without a code are admitted, too, so that one can watch already.
            let host = try Program.share(
                .pattern + ["--code-file", try desk.codeFile("482913")], ports: ports, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let watches = try Program.watch([ports.target])
            defer { watches.end() }
            try watches.waitFor("first-frame")

            #expect(eventually(timeout: 10) { (try? listed().count) == 1 })
            let lock = open(desk.store + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(lock) }
            #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
            let start = secondsNow()
            let comes = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            defer { comes.end() }
            try comes.waitFor("first-frame")
            // Nobody can be remembered now, and the second viewer can't be listed before it is.
            #expect(try listed().map { $0.fields["remembered"] } == [.bool(false)])
            // Longer than any wait for the lock that a person may not notice.
            let seen = watches.lineCount
            pause(seconds: 4)
            let stats = watches.events.filter { $0.name == "stats" && $0.time > 0 }.suffix(3)
            #expect(watches.lineCount > seen)
            #expect(stats.count == 3 && stats.allSatisfy { ($0.number("fps") ?? 0) > 15 }, "\(stats)")
            #expect(watches.events("stall").isEmpty && watches.events("reconnect").isEmpty)
            report("the lock was held for", "\((secondsNow() - start).short) s")
            #expect(flock(lock, LOCK_UN) == 0)
            #expect(
                eventually(timeout: 20) {
                    (try? listed().contains { $0.fields["remembered"] == .bool(true) }) == true
                })
        }

        @Test func aHeldLockDoesNotDelayTheHostsEnd() throws {
            let host = try Program.share(
                .pattern + ["--code-file", try desk.codeFile("482913")], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let lock = open(desk.store + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(lock) }
            #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
            let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            #expect(host.errorText.contains("may not be remembered"), "\(host.errorText)")
            expectPlainWords(host.errorText)
        }

        @Test func whileTheListCannotBeReadKnownViewersMustWait() throws {
            let host = try Program.share(
                .pattern + ["--code-file", try desk.codeFile("482913")], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let watches = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            defer { watches.end() }
            try watches.waitFor("first-frame")
            _ = try desk.codeFile("271828")
            pause(seconds: 2.5)
            let other = try Machine()
            let pairs = try Program.watch([ports.target, "--code", "271828"], machine: other)
            defer { pairs.end() }
            try pairs.waitFor("first-frame")
            pairs.interrupt()
            _ = try pairs.waitForEnd()
            #expect(eventually(timeout: 10) { (try? listed().count) == 2 })

            let path = desk.store + "/devices.json"
            let good = try Data(contentsOf: URL(fileURLWithPath: path))
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.truncate(atOffset: 40)
            try file.close()
            try host.waitForWords("No remembered viewer is let in until this is corrected")
            expectPlainWords(host.errorText)
            let comes = try Program.watch([ports.target], machine: other)
            defer { comes.end() }
            let retry = try comes.waitFor("retry")
            #expect(retry.string("reason")?.contains("can't read its list") == true, "\(retry)")
            let stats = try watches.waitFor("stats", from: watches.lineCount) { ($0.number("fps") ?? 0) > 15 }
            #expect(stats.number("lost") == 0, "a viewer that watches stays")

            // The list is repaired: the host notices by itself, and the waiting viewer is admitted.
            let restored = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try restored.truncate(atOffset: 0)
            try restored.write(contentsOf: good)
            try restored.close()
            try comes.waitFor("first-frame")
        }

        // MARK: -

        private func listed() throws -> [Event] { try desk.devices() }

        private func expectSentAway(_ name: String, _ viewer: ProgramProcess, from host: ProgramProcess) throws {
            let seen = host.lineCount
            let start = secondsNow()
            let (ending, words) = try desk.forget(name)
            #expect(ending == .exited(0), "\(words)")
            expectPlainWords(words)
            let left = try host.waitFor("viewer-left", from: seen)
            report("sent away, and out after", "\(((secondsNow() - start) * 1000).short) ms")
            #expect(left.string("reason")?.contains("sent away") == true)
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.errorText.contains("sent away"), "\(viewer.errorText)")
            expectPlainWords(viewer.errorText)
        }
    }
}
