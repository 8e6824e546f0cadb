import Foundation
import Testing

/// What a member keeps of its rooms, and whom it puts out of one.
extension EndToEnd {
    @Suite(.needsProgram) struct MeetingKeptTests {
        /// A statement of the form that BeamRoom had before 2026-11-26: the room's beginning.
        private func statement(_ room: String) -> String {
            var fields: [UInt8] = [1, 0] + [UInt8](repeating: 0, count: 8)
            fields += [UInt8](repeating: 7, count: 16)
            fields.append(UInt8(room.utf8.count))
            fields += room.utf8
            fields.append(4)
            fields += "Anna".utf8
            var statement: [UInt8] = [4] + [UInt8](repeating: 9, count: 64)
            statement += [UInt8](repeating: 1, count: 64)
            statement += [0, UInt8(fields.count)]
            return Data(statement + fields).base64EncodedString()
        }

        private func keptRooms(_ member: Member) throws -> [[String: Any]] {
            let data = try Data(contentsOf: URL(filePath: member.machine.store + "/rooms.json"))
            let kept = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            return try #require(kept?["rooms"] as? [[String: Any]])
        }

        @Test func aRoomThatAnOlderVersionKeptIsMadeAnewAndNothingElseIsLost() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            // It has an identity, and a room that can be resumed.
            try anna.start("garden", ["--accept", "none"])
            let key = try anna.program.waitFor("ready").string("key")
            #expect(eventually(timeout: 30) { (try? keptRooms(anna).count) == 1 })
            anna.program.interrupt()
            #expect(try anna.program.waitForEnd() == .exited(0))
            var rooms = try keptRooms(anna)
            for (name, id) in [("study", "11"), ("kitchen", "22")] {
                rooms.append([
                    "name": name, "id": String(repeating: id, count: 16), "usedAt": "2026-11-20T09:30:00Z", "age": 3600,
                    "statements": [statement(name)],
                    "addresses": [String(repeating: "9f", count: 32): ["192.0.2.7:52345"]],
                ])
            }
            let file = URL(filePath: anna.machine.store + "/rooms.json")
            try JSONSerialization.data(withJSONObject: ["version": 1, "rooms": rooms]).write(to: file)
            #expect(chmod(file.path, 0o600) == 0)

            try anna.start("study", ["--accept", "none"])
            try anna.program.waitForWords("“study” was kept by an older BeamRoom and can't be resumed")
            #expect(try anna.program.waitFor("ready").string("key") == key)
            #expect(eventually(timeout: 30) { (try? keptRooms(anna).count) == 4 })
            let kept = try keptRooms(anna)
            #expect(kept.compactMap { $0["name"] as? String }.sorted() == ["garden", "kitchen", "study", "study"])
            for room in rooms {
                let id = room["id"] as? String
                let same = try #require(kept.first { $0["id"] as? String == id })
                #expect(same["statements"] as? [String] == room["statements"] as? [String])
            }
            anna.program.interrupt()
            #expect(try anna.program.waitForEnd() == .exited(0))
            expectPlainWords(anna.program.errorText)
            // The new one is resumed, and so is the other one.
            for name in ["study", "garden"] {
                try anna.start(name, ["--accept", "none"])
                #expect(!anna.program.errorText.contains("older BeamRoom"))
                anna.program.interrupt()
                #expect(try anna.program.waitForEnd() == .exited(0))
            }
            #expect(try keptRooms(anna).count == 4)
        }

        @Test func whomAMemberHasLetInGoesWithItIfThePersonSaysSo() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start("study", ["--accept", "all"], input: .terminal)
            let ben = try Member("Ben")
            defer { ben.end() }
            try ben.enter(through: anna, ["--accept", "all"])
            let others = try ["Cleo", "Dora"].map { try Member($0) }
            defer { for other in others { other.end() } }
            for other in others { try other.enter(through: ben) }
            try anna.waitForPeople(here: 4)
            func ask() throws {
                let before = anna.program.process.state.current.errors.count
                anna.program.process.press("x")
                try anna.program.waitForWords("Put whom out", from: before)
                noticeTheQuestion()
                anna.program.process.type("1")
                try anna.program.waitForWords(
                    "“Ben” has let in “Cleo” and “Dora”. Put only “Ben” out, or all of them?",
                    from: before)
                noticeTheQuestion()
                #expect(anna.program.events("put-out").isEmpty)
            }
            // Neither.
            try ask()
            anna.program.process.type("")
            pause(seconds: 1)
            #expect(anna.names.count == 4)
            try ask()
            anna.program.process.type("a")
            let out = try anna.program.waitFor("put-out")
            #expect(out.string("name") == "Ben" && out.fields["alsoLetIn"] == .bool(true))
            for member in [ben] + others { #expect(try member.program.waitForEnd() == .exited(2)) }
            try anna.program.waitForWords("“Ben” is put out of the room with all whom it has let in")
            #expect(eventually(timeout: 10) { anna.names == ["Anna"] })
            expectPlainWords(anna.program.errorText)
        }
    }
}
