import BeamMedia
import Foundation
import Testing

/// The short form of `Scripts/bench words`. Nothing is judged by time.
extension EndToEnd {
    @Suite(.needsProgram) struct RoomBenchTests {
        private static let script = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/bench"

        /// The figures of some rows.
        private static func run(_ names: [String]) throws -> [String: JSONValue] {
            let scratch = try ScratchDirectory()
            let file = scratch.file("results.json")
            let bench = try ChildProcess(
                Self.script, ["words", "--check", "--no-setup", "--json", file, "--rows"] + names,
                environment: ["BEAMROOM": Program.path])
            defer { bench.end() }
            let ending = try bench.waitForEnd(timeout: 120)
            try #require(ending == .exited(0), "\(bench.outputText)\n\(bench.errorText)")
            let rows = try #require(JSONValue(try String(contentsOfFile: file, encoding: .utf8))?["rows"]?.object)
            #expect(Set(rows.keys) == Set(names))
            return rows
        }

        @Test(.enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
        func nothingIsLostOrComesTwice() throws {
            let rows = try Self.run(["captions", "history", "messages", "notes", "restarts"])
            #expect(rows["captions"]?["count"]?.number == 20 && rows["history"]?["count"]?.number == 400)
            #expect(rows["notes"]?["packets_lost"]?.number ?? 0 > 0, "nothing was lost on the way")
        }

        /// Each caption appears in the other window, although the picture there rests.
        @Test(.enabled(if: probeObstacle == nil, "\(probeObstacle ?? "")"))
        func captionsAreDrawn() throws {
            let row = try Self.run(["drawn"])["drawn"]
            #expect(row?["count"]?.number == 12 && row?["unseen"]?.number == 0)
        }

        private static let probeObstacle: String? =
            LossyNetwork.obstacle
            ?? (FileManager.default.fileExists(atPath: "/usr/include/X11/extensions/XShm.h")
                ? nil : "there are no headers of X11, which the probe is built with (libx11-dev, libxext-dev)")
            ?? (Tool.exists("Xvfb") ? nil : "Xvfb isn't installed")
    }
}
