import Foundation
import Testing

/// Prints what encryption costs, checks nothing: `Scripts/bench encryption`.
extension EndToEnd {
    @Suite(
        .tags(.alone), .needsProgram, .needsXServer,
        .enabled(
            if: ProcessInfo.processInfo.environment["BEAMROOM_BENCH"] == "1",
            "figures are printed by Scripts/bench encryption"))
    struct EncryptionBench {
        private static func setting(_ name: String, _ standard: Double) -> Double {
            ProcessInfo.processInfo.environment["BEAMROOM_BENCH_" + name].flatMap { Double($0) } ?? standard
        }

        private static let (width, height, rate) = (1920, 1080, 60)

        private struct Run {
            /// Glass-to-glass latency in milliseconds.
            var median: Double
            var p95: Double
            /// The host's processor time: seconds a second, and milliseconds a frame.
            var load: Double
            var perFrame: Double
            /// The network thread's part of `load`. It does the sealing, and varies far less than the encoder.
            var network: Double
            /// Frames a second, sent and seen on the screen.
            var sent: Double
            var seen: Double
            /// kbit/s.
            var rate: Double

            static func figure(_ runs: [Run], _ key: KeyPath<Run, Double>) -> Double {
                percentile(runs.map { $0[keyPath: key] }, 0.5)
            }
        }

        @Test func version1AgainstVersion2() throws {
            let seconds = Self.setting("SECONDS", 15)
            let pairs = Int(Self.setting("RUNS", 5))
            var runs: [Int: [Run]] = [1: [], 2: []]
            Self.say("\(Self.width)x\(Self.height) at \(Self.rate), \(pairs) pairs of \(seconds.short) s each")
            Self.say(
                "version   median ms   p95 ms   host CPU %   CPU ms/frame   network CPU %   sent/s   seen/s   kbit/s")
            for pair in 0..<pairs {
                // The order alternates, so that a machine that warms up favours neither version.
                for version in pair % 2 == 0 ? [1, 2] : [2, 1] {
                    let run = try measure(version, seconds)
                    runs[version]?.append(run)
                    Self.say(
                        String(
                            format: "%7d   %9.2f   %6.2f   %10.2f   %12.3f   %13.3f   %6.1f   %6.1f   %6.0f", version,
                            run.median,
                            run.p95,
                            run.load * 100, run.perFrame, run.network * 100, run.sent, run.seen, run.rate))
                }
            }
            let (old, new) = (runs[1] ?? [], runs[2] ?? [])
            for (name, key, unit) in [
                ("glass to glass, median", \Run.median, "ms"), ("glass to glass, p95", \Run.p95, "ms"),
                ("host CPU", \Run.load, "s/s"), ("host CPU a frame", \Run.perFrame, "ms"),
                ("host CPU, network thread", \Run.network, "s/s"),
            ] {
                let differences = zip(old, new).map { $1[keyPath: key] - $0[keyPath: key] }
                let ratios = zip(old, new).map { $1[keyPath: key] / $0[keyPath: key] }
                report(
                    "encryption, \(name)",
                    String(
                        format:
                            "%.4f %@ without, %.4f %@ with; pairs: difference %.4f (%.4f to %.4f), ratio %.3f (%.3f to %.3f)",
                        Run.figure(old, key), unit, Run.figure(new, key), unit, percentile(differences, 0.5),
                        differences.min() ?? 0, differences.max() ?? 0, percentile(ratios, 0.5), ratios.min() ?? 0,
                        ratios.max() ?? 0))
            }
            #expect(old.count == pairs && new.count == pairs)
        }

        /// Unbuffered, so that a waiting person sees it at once.
        private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

        private func measure(_ version: Int, _ seconds: Double) throws -> Run {
            let screen = try XServer(width: Self.width, height: Self.height)
            let ports = try Ports()
            let limit = ["--time-limit", "\(seconds + 60)"]
            let host = try Program.share(
                [
                    "--source", "pattern", "--size", "\(Self.width)x\(Self.height)", "--max-fps", "\(Self.rate)",
                    "--allow-unencrypted",
                ] + limit, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            // Control goes through a relay in both versions; media don't.
            let control =
                version == 1
                ? try TCPRelay(onlyVersion1To: Endpoint(ports.control))
                : try TCPRelay(at: Endpoint(0), to: Endpoint(ports.control))
            defer { control.end() }
            let viewer = try Program.watch(
                ["127.0.0.1:\(control.port)", "--allow-unencrypted", "--fullscreen"] + limit, display: screen.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame", timeout: 30)
            let paired = try viewer.waitFor("paired")
            guard paired.fields["encrypted"] == .bool(version == 2) else {
                throw HarnessError("this isn't version \(version): \(paired)")
            }
            // By then the window is open, and the encoder's rate is steady.
            pause(seconds: 3)
            let reader = PatternReader(screen.display)
            pause(seconds: 0.5)
            let first = try host.waitFor("stats", from: host.lineCount)
            let network = try host.process.processorSeconds(ofThreads: "NIO")
            let (start, before) = (secondsNow(), try host.process.processorSeconds())
            reader.state.withLock { $0.latencies = [] }
            pause(seconds: seconds)
            let (elapsed, spent) = (secondsNow() - start, try host.process.processorSeconds() - before)
            let networking = try host.process.processorSeconds(ofThreads: "NIO") - network
            let seen = reader.state.current
            let last = try host.waitFor("stats", from: host.lineCount)
            if let failure = seen.failure { throw HarnessError(failure) }
            guard seen.latencies.count > 10 else {
                throw HarnessError(
                    "\(seen.latencies.count) frames were read from the screen, \(seen.misses) could not be")
            }
            let frames = (last.number("frames") ?? 0) - (first.number("frames") ?? 0)
            let sent = frames / max(0.001, last.time - first.time)
            return Run(
                median: percentile(seen.latencies, 0.5), p95: percentile(seen.latencies, 0.95), load: spent / elapsed,
                perFrame: spent / elapsed / max(1, sent) * 1000, network: networking / elapsed, sent: sent,
                seen: Double(seen.latencies.count) / elapsed, rate: last.number("kbps") ?? 0)
        }
    }
}

/// Of an even number of values the median is the mean of the two in the middle.
private func percentile(_ values: [Double], _ part: Double) -> Double {
    let sorted = values.sorted()
    guard let last = sorted.indices.last else { return .nan }
    let place = part * Double(last)
    let (lower, upper) = (Int(place), min(last, Int(place) + 1))
    return sorted[lower] + (sorted[upper] - sorted[lower]) * (place - Double(lower))
}
