import Foundation
import Testing

/// Network failures and killed processes; host and viewer are the program itself.
extension EndToEnd {
    @Suite(.needsProgram) struct TroubleTests {
        let scratch: ScratchDirectory

        init() throws { scratch = try ScratchDirectory() }

        @Test(arguments: [1, 2])
        func underLossAndReorderingNoBrokenPictureIsShown(version: Int) throws {
            let source = try Program.pattern("640x360", seconds: 2, in: scratch)
            let run = try relayed(
                ["--source", source], UDPRelay.Conditions(loss: 0.02, reorder: 0.05), seed: 42, limit: 9,
                version: version)
            let (viewer, media, frames) = (run.viewer, run.media, run.frames)
            #expect(try viewer.waitForEnd() == .exited(0))
            let sent = try Y4M(source)
            let arrived = try Y4M(frames)
            let matches = arrived.matches(in: sent)
            let worst = matches.map(\.psnr).min() ?? 0
            let relay = media.state.current
            let summary = try #require(viewer.events("summary").first)
            report(
                "version \(version), 2 % lost, 5 % out of order",
                """
                \(arrived.count) pictures in 9 s, the worst \(worst.short) dB; \(relay.lost) datagrams lost, \
                \(relay.reordered) late, \(relay.passed) passed; the viewer counts \
                \(Int(summary.number("lost") ?? -1)) lost, \(Int(summary.number("dropped") ?? -1)) frames dropped
                """)
            #expect(relay.lost > 0 && relay.reordered > 0)
            #expect(arrived.count >= 5)
            #expect(worst >= 30, "a broken picture was shown")
        }

        @Test(.tags(.alone)) func reorderingAloneLosesNoPicture() throws {
            let source = try Program.pattern("640x360", seconds: 2, in: scratch)
            let run = try relayed(["--source", source], UDPRelay.Conditions(loss: 0, reorder: 0.1), seed: 3, limit: 4)
            let (viewer, frames) = (run.viewer, run.frames)
            let wait = try ProcessorWait(of: run.host)
            #expect(try viewer.waitForEnd() == .exited(0))
            let waited = try wait.eachSecond()
            let arrived = try Y4M(frames)
            let worst = arrived.matches(in: try Y4M(source)).map(\.psnr).min() ?? 0
            report(
                "10 % out of order, none lost",
                """
                \(arrived.count) pictures in 4 s, the worst \(worst.short) dB; the host waited \(waited.milli) ms a second for a \
                processor
                """)
            #expect(arrived.count >= (waited > ProcessorWait.most ? 30 : 75))
            #expect(worst >= 38)
        }

        @Test func thePictureContinuesWhileControlIsCutAndRestored() throws {
            let run = try relayed(Self.moving)
            let (viewer, control, frames) = (run.viewer, run.control, run.frames)
            try viewer.waitFor("first-frame")
            control.cut()
            for _ in 0..<3 {
                let size = fileSize(frames)
                pause(seconds: 0.7)
                #expect(fileSize(frames) > size, "the picture stopped, though only the control connection is cut")
            }
            let connections = control.state.current.connections
            control.restore()
            let start = secondsNow()
            #expect(eventually(timeout: 30) { control.state.current.connections > connections })
            report("control restored after", "\((secondsNow() - start).short) s")
            let seen = viewer.lineCount
            let stats = try viewer.waitFor("stats", from: seen)
            #expect((stats.number("fps") ?? 0) > 5)
        }

        @Test func thePictureReturnsAfterMutedMedia() throws {
            let run = try relayed(Self.moving)
            let (viewer, media, frames) = (run.viewer, run.media, run.frames)
            try viewer.waitFor("first-frame")
            pause(seconds: 0.5)
            media.change { $0.isMuted = true }
            pause(seconds: 5)
            let size = fileSize(frames)
            media.change { $0.isMuted = false }
            let start = secondsNow()
            #expect(eventually(timeout: 30) { fileSize(frames) > size }, "the picture isn't back")
            report("media muted for 5 s: picture back after", "\((secondsNow() - start).short) s")
            #expect(!viewer.events("stall").isEmpty || !viewer.events("reconnect").isEmpty, "the stall is reported")
        }

        @Test(arguments: [false, true])
        func aKilledHostIsFoundAgain(onAnotherMediaPort: Bool) throws {
            var ports = try Ports()
            let first = try Program.share(Self.moving, ports: ports)
            defer { first.end() }
            try first.waitFor("ready")
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch([ports.target, "--frames", frames])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            pause(seconds: 0.5)
            first.kill()
            pause(seconds: 1)
            let size = fileSize(frames)
            if onAnotherMediaPort { ports.media = try FreePort.datagram() }
            let second = try Program.share(Self.moving, ports: ports)
            defer { second.end() }
            try second.waitFor("ready")
            let start = secondsNow()
            #expect(eventually(timeout: 30) { fileSize(frames) > size }, "the picture isn't back")
            report(
                "host killed, restarted\(onAnotherMediaPort ? " on another media port" : ""), picture back after",
                "\((secondsNow() - start).short) s")
            #expect(viewer.isRunning)
        }

        @Test func aViewerThatVanishesDoesNotDisturbTheHost() throws {
            let ports = try Ports()
            let host = try Program.share(Self.moving, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try Program.watch([ports.target])
            defer { first.end() }
            try first.waitFor("first-frame")
            first.kill()
            let second = try Program.watch([ports.target])
            defer { second.end() }
            try second.waitFor("first-frame")
            #expect(host.isRunning)
            expectPlainWords(host.errorText)
        }

        private static let moving = ["--source", "pattern", "--size", "640x360", "--max-fps", "30"]

        /// A host, and a viewer that reaches it only through relays and writes its pictures into a file.
        private func relayed(
            _ source: [String], _ conditions: UDPRelay.Conditions = UDPRelay.Conditions(), seed: UInt64 = 1,
            limit: Double = 60,
            version: Int = 2
        ) throws -> Relayed {
            let ports = try Ports()
            let way = version == 2 ? [] : ["--allow-unencrypted"]
            let bound = version == 2 ? ["--bind", Relayed.host] : []
            let host = try Program.share(source + bound + way, ports: ports)
            do {
                try host.waitFor("ready")
                let media: UDPRelay
                let control: TCPRelay
                let place: String
                if version == 2 {
                    media = try UDPRelay(
                        conditions, seed: seed, at: Endpoint(ports.media, on: Relayed.relay),
                        target: Endpoint(ports.media, on: Relayed.host))
                    control = try TCPRelay(
                        at: Endpoint(ports.control, on: Relayed.relay), to: Endpoint(ports.control, on: Relayed.host))
                    place = Relayed.relay
                } else {
                    media = try UDPRelay(conditions, seed: seed)
                    control = try TCPRelay(to: ports.control, media: media)
                    place = "127.0.0.1"
                }
                let frames = scratch.file("frames.y4m")
                let viewer = try Program.watch(
                    way + ["\(place):\(control.port)", "--frames", frames, "--time-limit", "\(limit)"])
                return Relayed(host: host, viewer: viewer, control: control, media: media, frames: frames)
            } catch {
                host.end()
                throw error
            }
        }
    }
}

/// A host and a viewer with relays between them, ended together.
private final class Relayed {
    // Two loopback addresses, so that the relays can have the host's port numbers.
    static let host = "127.0.0.2"
    static let relay = "127.0.0.3"

    let host: ProgramProcess
    let viewer: ProgramProcess
    let control: TCPRelay
    let media: UDPRelay
    let frames: String

    init(host: ProgramProcess, viewer: ProgramProcess, control: TCPRelay, media: UDPRelay, frames: String) {
        self.host = host
        self.viewer = viewer
        self.control = control
        self.media = media
        self.frames = frames
    }

    deinit {
        host.end()
        viewer.end()
        control.end()
    }
}
