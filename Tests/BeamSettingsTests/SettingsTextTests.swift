import Testing

@testable import BeamSettings

struct SettingsTextTests {
    private static let good = """
        # A comment with a key = 1
        top = true
        [share]
        name = "Zoë’s \\"desk\\""
        max-fps = 59.94
        video-bit-rate = 8_000_000
        window = 0x1c00007
        gateways = [
          "wss://one", # the first
          'wss://two',
        ]
        on-start = '''
        lamp on
        echo "x = 1"'''
        size = { wide = 1, high = -2 }
        [watch.upstairs]
        host = "192.0.2.7"
        "since then" = 2026-11-27T09:00:00Z

        """

    private func entries(_ text: String) throws -> [SettingsEntry] { try SettingsText.entries(of: Array(text.utf8)) }

    @Test func valuesHaveTheirTypesAndLines() throws {
        func entry(_ name: String, _ kind: SettingsValue.Kind, _ line: Int) -> SettingsEntry {
            SettingsEntry(name: name, value: SettingsValue(kind, line: line))
        }
        let gateways = [SettingsValue(.text("wss://one"), line: 9), SettingsValue(.text("wss://two"), line: 10)]
        let share = [
            entry("name", .text("Zoë’s \"desk\""), 4), entry("max-fps", .number("59.94"), 5),
            entry("video-bit-rate", .number("8000000"), 6), entry("window", .number("0x1c00007"), 7),
            entry("gateways", .list(gateways), 8), entry("on-start", .text("lamp on\necho \"x = 1\""), 12),
            entry("size", .table([entry("high", .number("-2"), 15), entry("wide", .number("1"), 15)]), 15),
        ]
        let upstairs = [entry("host", .text("192.0.2.7"), 17), entry("since then", .time, 18)]
        let expected = [
            entry("top", .flag(true), 2), entry("share", .table(share), 3),
            entry("watch", .table([entry("upstairs", .table(upstairs), 16)]), 16),
        ]
        #expect(try entries(Self.good) == expected)
    }

    @Test(arguments: [
        ("a = 1\nb = \n", 2), ("a = 1\na = 2", 2), ("[a]\n[a]", 2), ("a = tru", 1), ("a = 012", 1), ("\n\na", 3),
        ("a = \"x\n\"", 1), ("a = \"\\q\"", 1), ("a = 99999999999999999999", 1),
    ])
    func whatIsNoTOMLIsRefusedWithItsLine(_ text: String, line: Int) {
        #expect { try entries(text) } throws: { error in
            guard let failure = error as? SettingsText.Failure else { return false }
            #expect(failure.line == line, "\(failure)")
            return !failure.reason.isEmpty && !failure.reason.contains("\n")
        }
    }

    /// A file that is cut off, or of which a byte is another one, is read or refused.
    @Test func brokenFilesNeverCrash() throws {
        let good = Array(Self.good.utf8)
        let lines = 1...Self.good.split(separator: "\n", omittingEmptySubsequences: false).count + 1
        var counts = (read: 0, refused: 0)
        func read(_ bytes: [UInt8]) {
            do throws(SettingsText.Failure) {
                _ = try SettingsText.entries(of: bytes)
                counts.read += 1
            } catch {
                #expect(lines.contains(error.line) && !error.reason.isEmpty, "\(error)")
                counts.refused += 1
            }
        }
        for count in 0...good.count { read(Array(good[..<count])) }
        for place in good.indices {
            for byte: UInt8 in [0, 0x0A, 0x22, 0x27, 0x5B, 0x5D, 0x7B, 0x3D, 0x2E, 0xC3, 0xFF] {
                var broken = good
                broken[place] = byte
                read(broken)
            }
        }
        #expect(counts.read > 100 && counts.refused > 1000, "\(counts)")
        for deep in ["[", "{a=", "a.", "[a."] {
            read(Array(("a = " + String(repeating: deep, count: 100_000)).utf8))
            read(Array(String(repeating: deep, count: 100_000).utf8))
        }
    }

    /// Valid TOML that nests so deeply that reading or freeing it by recursion would end the program.
    @Test func deepTextsAreRefused() {
        func nested(_ start: String, _ middle: String, _ end: String) -> String {
            let count = 20_000
            return String(repeating: start, count: count) + middle + String(repeating: end, count: count)
        }
        for deep in [
            nested("a.", "a = 1", ""), nested("'a' . \"b.\" .", "a = 1", ""), "[" + nested("a.", "a", "") + "]",
            "b = { " + nested("a.", "a", "") + " = 1 }", "b = " + nested("[", "", "]"),
            "b = " + nested("{ a = ", "1", " }"),
        ] {
            #expect {
                try entries("[share]\nname = '''\n'''\n" + deep)
            } throws: {
                let failure = $0 as? SettingsText.Failure
                return failure?.line == 4 && failure?.reason.contains("16") == true
            }
        }
        #expect(throws: SettingsText.Failure.self) { try entries("a" + String(repeating: ".a", count: 16) + " = 1") }
    }

    /// A text of any number of dots is a value, or a name.
    @Test func dotsOfTextsAreNoParts() throws {
        let dots = String(repeating: ".", count: 1000)
        let text = #"""
            # \#(dots)
            a = "\\\"\#(dots)" # \#(dots)
            b = '\#(dots)\'
            c = """
            \#(dots)\""" "" \#(dots)
            """""
            d = '''\#(dots)\'''
            e = [\#(String(repeating: "1.5, ", count: 100))]
            "\#(dots)".f.g = 1

            """#
        #expect(try entries(text).map(\.name) == ["a", "b", "c", "d", "e", dots])
        #expect(try entries("a" + String(repeating: ".a", count: 15) + " = 1").count == 1)
    }
}
