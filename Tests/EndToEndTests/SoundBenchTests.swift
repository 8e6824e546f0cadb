import BeamMedia
import Foundation
import Testing

/// Parts of the short form of `Scripts/bench sound`, which fails by itself if something isn't heard. Nothing is judged by
/// time.
extension EndToEnd {
    @Suite(.needsProgram, .needsSoundServer) struct SoundBenchTests {
        private static let script = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/bench"

        @Test(.enabled(if: obstacle == nil, "\(obstacle ?? "")"))
        func clicksAndMusicAreHeardAcrossANetwork() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("results.json")
            let bench = try ChildProcess(
                Self.script,
                ["sound", "--check", "--no-setup", "--json", file, "--rows", "clicks", "music"],
                environment: ["BEAMROOM": Program.path])
            defer { bench.end() }
            let ending = try bench.waitForEnd(timeout: 240)
            try #require(ending == .exited(0), "\(bench.outputText)\n\(bench.errorText)")
            let rows = try #require(JSONValue(try String(contentsOfFile: file, encoding: .utf8))?["rows"]?.object)
            #expect(Set(rows.keys) == ["clicks", "music"])
        }

        private static let obstacle: String? =
            LossyNetwork.obstacle
            ?? (FileManager.default.fileExists(atPath: "/usr/include/pulse/pulseaudio.h")
                ? nil : "there are no headers of libpulse, which the probe is built with (libpulse-dev)")
            ?? (Tool.exists("Xvfb") ? nil : "Xvfb isn't installed")
            ?? (FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/numpy")
                ? nil : "numpy isn't installed (python3-numpy)")
    }
}
