import Foundation
import Testing

/// `Scripts/faults` and `Scripts/soak`, and whether they can run here.
private enum FaultScript {
    private static let folder = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/"
    static let faults = folder + "faults"
    static let soak = folder + "soak"

    /// Nil if faults can be made here, otherwise what is missing.
    static let obstacle: String? = {
        if let obstacle = LossyNetwork.obstacle { return obstacle }
        if !XServer.isAvailable { return "Xvfb isn't installed (package xvfb)" }
        do {
            try Tool.run(faults, ["--no-setup", "--list"])
            return nil
        } catch {
            return "Scripts/faults can't run here (package python3)"
        }
    }()
}

/// The short forms of `Scripts/faults` and `Scripts/soak`. What is measured is judged there; the machine may be busy
/// with other tests, so here only what doesn't depend on time counts.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: FaultScript.obstacle == nil, "\(FaultScript.obstacle ?? "")"))
    struct FaultTests {
        private struct Results: Decodable {
            struct Row: Decodable {
                var name: String
                var differences: [String]
                var not_tried: String?
                var right: Double?
                var stood: Double?
                var host_ended: String
                var viewer_ended: String
                var host_says: [String]
                var viewer_says: [String]
            }
            var rows: [Row]
        }

        @Test(.tags(.alone)) func thePictureReturnsAfterFaults() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("rows.json")
            let script = try ChildProcess(
                FaultScript.faults, ["--no-setup", "--check", "--program", Program.path, "--json", file])
            defer { script.end() }
            _ = try script.waitForEnd(timeout: 180)
            let data = try #require(
                FileManager.default.contents(atPath: file), "\(script.outputText)\n\(script.errorText)")
            let rows = try JSONDecoder().decode(Results.self, from: data).rows
            #expect(rows.count == 5)
            for row in rows {
                #expect(row.not_tried == nil, "\(row.name)")
                #expect(row.differences == [], "\(row.name): host: \(row.host_says) viewer: \(row.viewer_says)")
            }
            let byName = Dictionary(rows.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
            for name in ["host-killed", "viewer-killed", "down-1"] {
                // The page's table has these figures; a row without them would be as aimed by mistake.
                #expect(byName[name]?.right != nil && byName[name]?.stood ?? 0 > 0.5, "\(name)")
            }
            #expect(byName["x-gone-viewer"]?.viewer_ended == "exit 1")
            #expect(byName["port-taken"]?.host_ended == "exit 1")
        }

        @Test func aRowThatIsNotAsAimedIsTold() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("rows.json")
            // A “program” that ends at once.
            let script = try ChildProcess(
                FaultScript.faults,
                ["--no-setup", "--check", "--only", "port-taken", "--program", "/bin/false", "--json", file])
            defer { script.end() }
            #expect(try script.waitForEnd(timeout: 60) == .exited(1))
            let rows = try JSONDecoder().decode(Results.self, from: Data(contentsOf: URL(fileURLWithPath: file))).rows
            #expect(rows.first?.differences.isEmpty == false)
        }

        @Test(.tags(.long)) func aShortSoakEndsWithoutACrash() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("soak.json")
            let script = try ChildProcess(
                FaultScript.soak, ["0.5", "--no-setup", "--program", Program.path, "--json", file])
            defer { script.end() }
            _ = try script.waitForEnd(timeout: 180)
            struct Soak: Decodable {
                struct Sample: Decodable {
                    var memory: Double
                    var threads: Int
                }
                var samples: [String: [Sample]]
                var ended: [String]
            }
            let data = try #require(
                FileManager.default.contents(atPath: file), "\(script.outputText)\n\(script.errorText)")
            let soak = try JSONDecoder().decode(Soak.self, from: data)
            #expect(soak.ended == [])
            #expect(Set(soak.samples.keys) == ["host", "window", "recording", "lossy"])
            // Growth is judged in long runs. Here it is only that samples were taken, one each 5 s.
            for (name, samples) in soak.samples { #expect(samples.count >= 4, "\(name)") }
        }
    }
}
