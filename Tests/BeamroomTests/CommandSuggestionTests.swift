import Testing

@testable import beamroom

struct CommandSuggestionTests {
    @Test(arguments: [
        (["wathc"], "`beamroom watch`"), (["Share"], "`beamroom share`"), (["host"], "`beamroom hosts`"),
        (["devices", "froget"], "`beamroom devices forget`"), (["mesure", "--window"], "`beamroom measure`"),
    ])
    func aNearCommandIsSuggested(arguments: [String], command: String) throws {
        let words = try #require(CommandSuggestion.error(for: arguments))
        #expect(words.contains("Did you mean \(command)?"), "\(words)")
    }

    @Test func otherWordsGetTheListAndCommandsNothing() throws {
        let words = try #require(CommandSuggestion.error(for: ["frobnicate\u{1B}[2J"]))
        #expect(words.contains("share, watch, room, relay, hosts") && !words.contains("\u{1B}"))
        for arguments in [[], ["--help"], ["help", "watch"], ["watch", "wathc"], ["devices"], ["devices", "list"]] {
            #expect(CommandSuggestion.error(for: arguments) == nil, "\(arguments)")
        }
    }

    @Test func distances() {
        #expect(CommandSuggestion.distance("watch", "watch") == 0)
        #expect(CommandSuggestion.distance("wathc", "watch") == 1)
        #expect(CommandSuggestion.distance("", "watch") == 5)
        #expect(CommandSuggestion.distance("whatch", "watch") == 1)
    }
}
