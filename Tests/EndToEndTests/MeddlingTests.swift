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

        /// Seconds in which a program's threads wait for a processor, in each second, if nothing else needs one. Beside four
        /// busy loops on two processors it was 0.8.
        private static let mostWaiting = 0.35

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
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("frames") ?? 0) >= 30 }
            let wait = try ProcessorWait(of: scene.program, viewer)
            let memory = try [scene.program, viewer].map { try $0.residentMegabytes() }
            let before = try [scene.program, viewer].map { try $0.nextStats() }
            let start = secondsNow()
            try scene.meddler.meddle(Self.count, rate: Self.rate)
            let seconds = secondsNow() - start
            let waited = try wait.eachSecond()
            let after = try [scene.program, viewer].map { try $0.nextStats() }
            let growth = try zip([scene.program, viewer], memory).map { try $0.residentMegabytes() - $1 }
            let state = scene.meddler.state.current
            let kinds = Meddler.Trick.allCases.map { "\(state.sent[$0.rawValue]) \($0)" }.joined(separator: ", ")
            // The picture goes on, whatever was before.
            let last = after[1].number("frames") ?? 0
            try viewer.waitFor("stats", from: viewer.lineCount) { ($0.number("frames") ?? 0) > last + 5 }
            let joinedAndLeft = ["viewer-joined", "viewer-left"].map { scene.program.events($0).count }
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))

            // Their figures come at different times, and not every second on a busy machine, so rates are compared.
            let rates = zip(before, after).map { Event.rate(of: "frames", from: $0, to: $1) }
            let share = rates[1] / max(1, rates[0])
            let summary = try #require(viewer.events("summary").first)
            report(
                "datagrams meddled with",
                """
                \(state.sent.reduce(0, +)) in \(seconds.short) s (\(kinds)); frames sent and shown a second \
                meanwhile: \(rates[0].short), \(rates[1].short); waited for a processor \(waited.milli) ms a second each; lost \
                \(Int(summary.number("lost") ?? -1)), malformed \(Int(summary.number("malformed") ?? -1)); memory grew by \
                \(growth[0].short) and \(growth[1].short) MB
                """)
            #expect(state.sent.reduce(0, +) >= Self.count)
            // Programs that get no processor stall without any datagram's help, and lose what their sockets can't hold.
            let isStarved = waited > Self.mostWaiting
            #expect(isStarved || viewer.events("stall").isEmpty)
            #expect(viewer.events("reconnect").isEmpty && viewer.events("retry").isEmpty)
            #expect(share > (isStarved ? 0.5 : 0.95))
            #expect(joinedAndLeft == [1, 0])
            #expect(growth.allSatisfy { $0 < 64 })

            // Every picture comes from the source.
            let worst = try Y4M(frames).matches(in: Y4M(source)).map(\.psnr).min() ?? 0
            report("the worst picture among them", "\(worst.short) dB")
            // What comes late for want of a processor looks like a slow network, and lowers the bit rate: to 23.8 dB beside
            // six busy loops. Another picture of the source would have 16 dB, a picture with an old lower third 21.
            #expect(worst >= (isStarved ? 22 : 30))

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

    deinit {
        program.end()
        control.end()
        meddler.end()
    }
}

extension Event {
    /// A second, by the program's own clock.
    fileprivate static func rate(of key: String, from first: Event, to second: Event) -> Double {
        let seconds = (second.number("t") ?? 0) - (first.number("t") ?? 0)
        return ((second.number(key) ?? 0) - (first.number(key) ?? 0)) / max(0.1, seconds)
    }
}

extension ProgramProcess {
    fileprivate func nextStats() throws -> Event { try waitFor("stats", from: lineCount) }

    fileprivate func residentMegabytes() throws -> Double {
        let fields = try String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8).split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { throw HarnessError("/proc/\(pid)/statm is odd") }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_000_000
    }
}
