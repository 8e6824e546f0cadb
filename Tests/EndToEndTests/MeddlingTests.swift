import Foundation
import Testing

/// Datagrams that are replayed, reordered, truncated, damaged or forged, at a high rate, while a paired viewer watches.
extension EndToEnd {
    @Suite(.needsProgram) struct MeddlingTests {
        private static let host = "127.0.0.2"
        private static let relay = "127.0.0.3"
        /// The number of such datagrams. BEAMROOM_MEDDLING=1000000 makes a long run.
        private static let count =
            ProcessInfo.processInfo.environment["BEAMROOM_MEDDLING"].flatMap { Int($0) } ?? 60_000
        private static let rate = 10_000.0

        let scratch: ScratchDirectory
        let ports: Ports

        init() throws {
            scratch = try ScratchDirectory()
            ports = try Ports()
        }

        @Test(.tags(.alone)) func forgedDatagramsDoNotDisturbAPairedViewer() throws {
            let source = try Program.pattern("320x180", seconds: 2, in: scratch)
            let capture = try PacketCapture.obstacle == nil ? PacketCapture([ports.media]) : nil
            let scene = try Scene(["--source", source, "--code", "482913"], ports)
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch([
                scene.target, "--code", "482913", "--frames", frames, "--time-limit", "900",
            ])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("fps") ?? 0) > 20 }
            let memory = try [scene.program, viewer].map { try $0.residentMegabytes() }
            let before = (sent: try scene.stats("frames"), shown: try viewer.stats("frames"))
            let start = secondsNow()
            try scene.meddler.meddle(Self.count, rate: Self.rate)
            let seconds = secondsNow() - start
            let after = (sent: try scene.stats("frames"), shown: try viewer.stats("frames"))
            let growth = try zip([scene.program, viewer], memory).map { try $0.residentMegabytes() - $1 }
            let state = scene.meddler.state.current
            let kinds = Meddler.Trick.allCases.map { "\(state.sent[$0.rawValue]) \($0)" }.joined(separator: ", ")
            let joinedAndLeft = ["viewer-joined", "viewer-left"].map { scene.program.events($0).count }
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))

            let share = (after.shown - before.shown) / max(1, after.sent - before.sent)
            let summary = try #require(viewer.events("summary").first)
            report(
                "datagrams meddled with",
                """
                \(state.sent.reduce(0, +)) in \(seconds.short) s (\(kinds)); frames shown of those sent meanwhile: \
                \(Int(after.shown - before.shown)) of \(Int(after.sent - before.sent)); lost \
                \(Int(summary.number("lost") ?? -1)), malformed \(Int(summary.number("malformed") ?? -1)); memory grew by \
                \(growth[0].short) and \(growth[1].short) MB
                """)
            #expect(state.sent.reduce(0, +) >= Self.count)
            #expect(
                viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty && viewer.events("retry").isEmpty)
            #expect(share > (machineIsBusy() ? 0.7 : 0.95))
            #expect(joinedAndLeft == [1, 0])
            #expect(growth.allSatisfy { $0 < 64 })

            // Every picture comes from the source.
            let worst = try Y4M(frames).matches(in: Y4M(source)).map(\.psnr).min() ?? 0
            report("the worst picture among them", "\(worst.short) dB")
            #expect(worst >= 30)

            #expect(state.strayed == 0, "datagrams went to unauthenticated addresses")
            guard let packets = try capture?.finish() else { return }
            // The host sends only to the address from which its viewer's hellos come.
            let receivers = Set(packets.filter { $0.from == Endpoint(ports.media, on: Self.host) }.map(\.to))
            #expect(receivers.count == 1, "the host sends to \(receivers)")
        }

        @Test func aViewerThatMovesIsFollowed() throws {
            let scene = try Scene(.pattern + ["--code", "482913"], ports)
            let viewer = try Program.watch([scene.target, "--code", "482913"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("fps") ?? 0) > 20 }
            for _ in 0..<3 {
                let seen = scene.program.lineCount
                let start = secondsNow()
                scene.meddler.state.withLock { $0.moves = true }
                try scene.program.waitFor("viewer-joined", from: seen) {
                    $0.string("address")?.contains("127.0.0.88") == true
                }
                report("a viewer that has moved is followed after", "\((secondsNow() - start).short) s")
                try viewer.waitFor("stats", from: viewer.lineCount + 1) { ($0.number("fps") ?? 0) > 20 }
            }
            #expect(viewer.events("reconnect").isEmpty)
            #expect(scene.program.events("viewer-left").isEmpty)
        }
    }
}

/// A host that is reachable only through a meddler.
private final class Scene {
    let program: ProgramProcess
    let meddler: Meddler
    private let control: TCPRelay
    let target: String

    init(_ arguments: [String], _ ports: Ports) throws {
        let (host, relay) = ("127.0.0.2", "127.0.0.3")
        meddler = try Meddler(
            at: Endpoint(ports.media, on: relay), to: Endpoint(ports.media, on: host), seed: 20_261_121)
        control = try TCPRelay(at: Endpoint(ports.control, on: relay), to: Endpoint(ports.control, on: host))
        target = "\(relay):\(ports.control)"
        program = try Program.share(
            arguments + ["--bind", host, "--time-limit", "900"], ports: ports, accept: nil)
        try program.waitFor("ready")
    }

    /// The next count of that name.
    func stats(_ key: String) throws -> Double { try program.stats(key) }

    deinit {
        program.end()
        control.end()
        meddler.end()
    }
}

extension ProgramProcess {
    /// A figure of the next `stats` event.
    fileprivate func stats(_ key: String) throws -> Double {
        try waitFor("stats", from: lineCount).number(key) ?? 0
    }

    fileprivate func residentMegabytes() throws -> Double {
        let fields = try String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8).split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { throw HarnessError("/proc/\(pid)/statm is odd") }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_000_000
    }
}
