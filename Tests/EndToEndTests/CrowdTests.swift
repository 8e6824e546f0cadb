import Foundation
import Testing

/// `Scripts/bench crowd`, and whether it can run here.
private enum CrowdScript {
    static let path = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/bench"
    /// Built beside the program.
    static let viewers = (Program.path as NSString).deletingLastPathComponent + "/beamroom-crowd"

    /// Nil if it can run, otherwise what is missing.
    static let obstacle: String? = {
        guard FileManager.default.isExecutableFile(atPath: viewers) else { return "beamroom-crowd isn't built" }
        do {
            try Tool.run("/usr/bin/python3", ["-c", "import cryptography"])
        } catch {
            return "/usr/bin/python3 has no module cryptography (package python3-cryptography)"
        }
        do {
            try Tool.run("unshare", ["--net", "--pid", "--fork", "--mount-proc", "true"])
        } catch {
            return "this user may not make network namespaces"
        }
        return nil
    }()
}

/// Many viewers, some of which misbehave.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: CrowdScript.obstacle == nil, "\(CrowdScript.obstacle ?? "")"))
    struct CrowdTests {
        private struct Results: Decodable {
            struct Honest: Decodable {
                var viewers: Int
                var without_picture: Int
                var ended: [String]
                var fps_lowest: Double
            }
            struct Peer: Decodable {
                var kinds: String
                var joins: Int?
                var trouble: String?
            }
            var honest: Honest
            var peers: [Peer]
        }

        @Test(.tags(.alone)) func misbehavingViewersDoNotStopHonestOnes() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("results.json")
            let bench = try ChildProcess(
                CrowdScript.path, ["crowd", "--check", "--no-setup", "--json", file],
                environment: ["BEAMROOM": Program.path, "BEAMROOM_CROWD": CrowdScript.viewers])
            defer { bench.end() }
            let ending = try bench.waitForEnd(timeout: 120)
            try #require(ending == .exited(0), "\(bench.outputText)\n\(bench.errorText)")
            let results = try JSONDecoder().decode(Results.self, from: try Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(results.honest.viewers == 8)
            #expect(results.honest.without_picture == 0)
            #expect(results.honest.ended == [], "the host evicted honest viewers")
            #expect(results.honest.fps_lowest > 0, "one of them had no frame while the others misbehaved")
            #expect(results.peers.count == 10)
            for peer in results.peers {
                #expect((peer.joins ?? 0) > 0, "\(peer.kinds) was never admitted: \(peer.trouble ?? "")")
            }
        }
    }
}
