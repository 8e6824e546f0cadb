import Foundation
import Testing

/// `room --web`: browsers watch what a member shares.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: Chromium.isInstalled, "Chromium isn't installed (package chromium)"))
    struct RoomBrowserTests {
        private static func state(_ name: String) -> String { "document.body.dataset.state === '\(name)'" }

        /// By http and by https: they wait while nothing is shared, and stay from one share to the next.
        @Test func browsersWaitWatchWaitAgainAndAreSentAway() throws {
            let address = try #require(WebShare.lanAddress, "this machine has no address but loopback")
            let scratch = try ScratchDirectory()
            let code = scratch.file("code")
            try Data("482913\n".utf8).write(to: URL(filePath: code))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: code)
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start(
                "study",
                [
                    "--bind", address, "--accept", "none", "--web", "--web-port", "0", "--web-media-port", "0",
                    "--web-code-file", code,
                ])
            let program = anna.program
            let port = try #require(try program.waitFor("ready").number("webPort").map { Int($0) })
            try program.waitForWords("To watch in a browser, open http://\(address):\(port)")
            let browsers = [try Chromium(), try Chromium()]
            for (browser, scheme) in zip(browsers, ["http", "https"]) {
                try browser.navigate("\(scheme)://\(address):\(port)/#482913")
                try browser.wait(until: Self.state("waiting"))
            }
            try program.waitFor("stats") { $0.number("browsers") == 2 && $0.number("sharing") == 0 }
            #expect(program.events("browser-started").isEmpty)
            for round in 1...2 {
                program.write(#"{"share":true}"#)
                for browser in browsers { try browser.wait(until: Self.state("playing")) }
                if round == 2 { break }
                #expect(program.events("browser-started").count == 2)
                program.write(#"{"pause":true}"#)
                for browser in browsers {
                    try browser.wait(until: "document.getElementById('banner').textContent.includes('paused')")
                }
                program.write(#"{"share":false}"#)
                for browser in browsers {
                    try browser.wait(until: Self.state("waiting"))
                    #expect(
                        try browser.text("document.getElementById('detail').textContent")
                            == "Waiting for the picture…")
                }
            }
            let session = try #require(program.events("paired").first?.string("session"))
            program.write(#"{"kick":"Nobody"}"#)
            try program.waitFor("error") { $0.string("reason") == "no viewer is called “Nobody”" }
            program.write(#"{"kick":"\#(session.prefix(8))"}"#)
            try browsers[0].wait(until: Self.state("kicked"))
            let left = try program.waitFor("viewer-left")
            #expect(left.string("session") == session)
            #expect(try browsers[1].evaluate(Self.state("playing")) as? Bool == true)
            program.interrupt()
            try browsers[1].wait(until: Self.state("ended"))
            expectPlainWords(program.errorText)
        }

        /// The room knows nothing of browsers, and they nothing of what the others write.
        @Test func othersWordsAreNotShownToBrowsers() throws {
            let anna = try Member("Anna")
            defer { anna.end() }
            try anna.start(
                "study", ["--accept", "all", "--web", "--web-port", "0", "--web-media-port", "0", "--share"])
            let port = try #require(anna.program.events("ready").first?.number("webPort").map { Int($0) })
            let ben = try Member("Ben")
            defer { ben.end() }
            try ben.enter(through: anna, ["--accept", "all", "--no-watch"])
            let chromium = try Chromium()
            try chromium.navigate("https://127.0.0.1:\(port)/")
            try chromium.wait(until: "document.getElementById('ask').offsetParent !== null")
            _ = try chromium.evaluate("document.getElementById('ask').click()")
            try chromium.wait(until: Self.state("playing"))
            ben.program.write(#"{"note":"of Ben"}"#)
            try anna.program.waitFor("note") { $0.string("text") == "of Ben" }
            anna.program.write(#"{"note":"of Anna"}"#)
            try chromium.wait(until: "document.getElementById('notes').textContent.includes('of Anna')")
            #expect(
                try chromium.evaluate("document.getElementById('notes').textContent.includes('Ben')") as? Bool == false)
            #expect(anna.names == ["Anna", "Ben"])
            #expect(ben.program.events("people").allSatisfy { ($0.fields["people"]?.array?.count ?? 0) <= 2 })
        }
    }
}
