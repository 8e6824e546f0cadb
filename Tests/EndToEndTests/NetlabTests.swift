import Foundation
import Testing

/// Host and viewer on a network with packet loss and an outage.
extension EndToEnd {
    @Suite(
        .needsProgram, .enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
    struct NetlabTests {
        @Test func picturesAreWholeUnderLossAndReturnAfterAnOutage() throws {
            let scratch = try ScratchDirectory()
            let source = try Program.pattern("640x360", seconds: 2, in: scratch)
            let network = try LossyNetwork(
                "delay=5ms",
                changes: [(0, "loss=5%,reorder=2%,by=3ms,duplicate=1%"), (2, "down"), (3, "up")])
            let host = try network.share(["--source", source, "--code", "482913"])
            defer { host.end() }
            let frames = scratch.file("frames.y4m")
            let viewer = try network.watch(["--code", "482913", "--frames", frames])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            network.begin()
            try network.wait(for: "up")
            // After the outage, wait for two `stats` (1 s each) with new pictures.
            let returned = viewer.lineCount
            try viewer.waitFor("stats", from: returned) { ($0.number("frames") ?? 0) > 0 }
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("frames") ?? 0) > 0 }
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let counts = try network.end()

            #expect(
                (counts["lost"] ?? 0) > 0 && (counts["down"] ?? 0) > 0, "the network lost packets and had an outage")
            #expect(counts["refused"] == 0)
            let summary = try #require(viewer.events("summary").last)
            let sent = try #require(host.events("summary").last?.number("frames"))
            let matches = try Y4M(frames).matches(in: Y4M(source))
            let worst = matches.map(\.psnr).min() ?? 0
            report(
                "a network that loses 5 % and is gone for a second",
                """
                \(Int(summary.number("frames") ?? 0)) of \(Int(sent)) frames decoded, \
                \(Int(counts["lost"] ?? 0)) of \(Int(counts["packets"] ?? 0)) packets lost, the worst picture has \
                \(worst.short) dB
                """)
            #expect(matches.count > 10)
            #expect(worst >= 28)
        }
    }
}
