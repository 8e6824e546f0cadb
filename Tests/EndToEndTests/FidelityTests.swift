import Foundation
import Testing

/// Recorded pictures that are shared, against the pictures that `watch --frames` writes.
extension EndToEnd {
    @Suite(.needsProgram) struct FidelityTests {
        @Test(.tags(.alone), arguments: ["1366x767", "1920x1080"])
        func aRecordingArrivesFrameByFrame(size: String) throws {
            let scratch = try ScratchDirectory()
            let source = try Program.pattern(size, seconds: 2, in: scratch)
            let ports = try Ports()
            let host = try Program.share(["--source", source], ports: ports)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect("\(Int(ready.number("width") ?? 0))x\(Int(ready.number("height") ?? 0))" == size)
            let frames = scratch.file("frames.y4m")
            let wait = try ProcessorWait(of: host)
            let viewer = try Program.watch([ports.target, "--frames", frames, "--time-limit", "4"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(0))
            let waited = try wait.eachSecond()

            let sent = try Y4M(source)
            let arrived = try Y4M(frames)
            #expect(sent.count == 60)
            try #require(arrived.width == sent.width && arrived.height == sent.height)
            let matches = arrived.matches(in: sent)
            let likeness = matches.map(\.psnr).sorted()
            let worst = try #require(likeness.first)
            report(
                "\(size) from file to file",
                """
                \(arrived.count) pictures, luma at least \(worst.short), median \(likeness[likeness.count / 2].short) dB; the \
                host waited \(waited.milli) ms a second for a processor
                """)
            #expect(arrived.count >= (waited > ProcessorWait.most ? 30 : 60))
            #expect(worst >= 38)
            expectInOrder(matches.map(\.source), of: sent.count)
        }

        @Test func ipv6AddressesWork() throws {
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern", "--size", "320x180"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch(["[::1]:\(ports.control)", "--time-limit", "10"])
            defer { viewer.end() }
            let first = try viewer.waitFor("first-frame")
            report("IPv6, first frame after the start", "\((first.number("ms") ?? 0).short) ms")
            let named = try Program.watch(["localhost:\(ports.control)", "--time-limit", "10"])
            defer { named.end() }
            try named.waitFor("first-frame")
        }

        /// Each picture is later than the one before, except where the source starts again, and for keyframes that
        /// repeat the current picture.
        private func expectInOrder(_ numbers: [Int], of count: Int) {
            let steps = zip(numbers, numbers.dropFirst()).map { ($1 - $0 + count) % count }
            let list = numbers.map { String($0) }.joined(separator: " ")
            #expect(steps.allSatisfy { (0...count / 2).contains($0) }, "pictures out of order: \(list)")
            let repeated = steps.count { $0 == 0 }
            report("pictures that came twice", "\(repeated) of \(numbers.count)")
            #expect(repeated <= numbers.count / 30 + 2, "pictures came twice: \(list)")
        }
    }

    /// A viewer's recording of the stream.
    @Suite(.needsProgram, .needsFFmpeg) struct RecordTests {
        @Test(arguments: ["mkv", "mp4"])
        func aRecordingHoldsEveryFrame(kind: String) throws {
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "640x360", "--max-fps", "30"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let file = scratch.file("record.\(kind)")
            let viewer = try Program.watch([ports.target, "--record", file, "--time-limit", "4"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(0))
            let frames = Int(viewer.events("summary").first?.number("frames") ?? 0)
            let video = try Tool.probe(file)
            report("recorded \(kind)", "\(video.pictureTypes.count) of \(frames) frames")
            #expect(frames >= 40)
            // The last picture is repeated at the end if that comes late.
            #expect((frames...frames + 2).contains(video.pictureTypes.count))
            #expect(video.complaints == "")
            #expect(video.codec == "h264" && video.width == 640 && video.height == 360)
        }

        @Test(arguments: ["mkv", "mp4"])
        func aRecordingSurvivesACrash(kind: String) throws {
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--size", "640x360", "--max-fps", "30"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let file = scratch.file("record.\(kind)")
            let viewer = try Program.watch([ports.target, "--record", file])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            pause(seconds: 5)
            viewer.kill()
            #expect(try viewer.waitForEnd() == .killed(signal: SIGKILL))
            let video = try Tool.probe(file)
            report("recorded \(kind), killed after 5 s", "\(video.pictureTypes.count) frames")
            #expect(video.pictureTypes.count >= 30, "at most the last seconds are missing")
        }
    }
}
