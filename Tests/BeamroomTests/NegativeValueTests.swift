import ArgumentParser
import Testing

@testable import beamroom

/// Negative numbers as values of options: the option says what it takes.
struct NegativeValueTests {
    @Test(arguments: [
        (["share", "--time-limit", "-1"], ["share", "--time-limit=-1"]),
        (["share", "-b", "-8M"], ["share", "-b=-8M"]),
        (["hosts", "--wait", "-.5", "--json"], ["hosts", "--wait=-.5", "--json"]),
        (["share", "--port", "1", "-1"], ["share", "--port", "1", "-1"]),
        (["watch", "--", "--name", "-1"], ["watch", "--", "--name", "-1"]),
        (["share", "--json", "-b", "8M"], ["share", "--json", "-b", "8M"]),
        (["share", "--max-fps=30", "-1"], ["share", "--max-fps=30", "-1"]), (["-1"], ["-1"]), ([], []),
        (["share", "--time-limit", "-1", "-2"], ["share", "--time-limit=-1", "-2"]),
    ])
    func anOptionAndItsNumberAreJoined(_ arguments: [String], _ joined: [String]) {
        #expect(NegativeValues.joined(arguments) == joined)
    }

    /// Each option that takes a number; `--window` takes a title, too.
    @Test(arguments: [
        "share --time-limit", "share --port", "share --media-port", "share --max-viewers", "share --max-fps",
        "share -b",
        "share -m", "share --audio-bit-rate", "share --size", "share --region", "share --code",
        "watch --time-limit", "watch --buffer", "watch --max-picture", "watch --code", "room --time-limit",
        "room --port",
        "room --media-port", "room --max-fps", "room -b", "hosts --wait", "measure --seconds", "measure --repeat",
        "measure --sizes", "measure --rates", "measure -b", "pattern x.y4m --fps",
        "pattern x.y4m --seconds", "pattern x.y4m --size",
    ])
    func whatItTakesIsSaid(_ option: String) {
        // Each parsing takes a tenth of a second without optimisation.
        for value in option == "share --time-limit" ? ["-1", "-0.5", "-99999999999999999999"] : ["-1"] {
            let arguments = NegativeValues.joined(option.split(separator: " ").map(String.init) + [value])
            do {
                _ = try Beamroom.parseAsRoot(arguments)
                Issue.record("\(arguments) are taken")
            } catch {
                let words = Beamroom.fullMessage(for: error)
                #expect(!words.contains("Missing value") && !words.contains("Unknown option"), "\(words)")
                #expect(words.contains("takes") || words.contains("The value '\(value)' is invalid for"), "\(words)")
            }
        }
    }
}
