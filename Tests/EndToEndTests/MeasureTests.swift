import BeamMedia
import Foundation
import Testing

/// `beamroom measure`, with real hosts and viewers.
extension EndToEnd {
    @Suite(.needsProgram) struct MeasureTests {
        private func records(_ path: String) throws -> [JSONValue] {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
                try #require(JSONValue(String($0)), "\($0)")
            }
        }

        /// The running child processes of `parent`.
        private func processes(of parent: pid_t) -> [pid_t] {
            ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { pid_t($0) }.filter {
                guard let stat = try? String(contentsOfFile: "/proc/\($0)/stat", encoding: .utf8) else { return false }
                // After the name in brackets, which may contain anything, come the state and the parent.
                return stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst(2).first
                    .flatMap { pid_t($0) } == parent
            }
        }

        @Test func aShortRunGivesPlausibleFiguresAndAReport() throws {
            let scratch = try ScratchDirectory()
            let output = scratch.file("out")
            let arguments = ["measure", "--sizes", "320x240", "--rates", "30", "--contents", "scroll", "--repeat", "1"]
            let (ending, table, words) = try Program.run(
                arguments + ["--seconds", "1", "-o", output], timeout: 60)
            #expect(ending == .exited(0), "\(words)")
            #expect(table.contains("320x240@30 scroll 10M"), "\(table)")
            #expect(words.contains("1 of 1"), "a line for each repetition: \(words)")

            let record = try #require(try records(output + "/results.jsonl").first)
            let latency = try #require(record["totalMs"]?["median"]?.number)
            report("latency, 320x240@30, headless", "\(latency.short) ms")
            #expect(latency > 0 && latency < 500)
            for stage in ["capture", "encode", "decode"] {
                #expect(record["latencyMs"]?[stage]?["median"]?.number != nil, "\(stage)")
            }
            let rate = try #require(record["delivery"]?["framesPerSecond"]?.number)
            #expect(rate > 5 && rate < 45)
            #expect(record["delivery"]?["kilobitsPerSecond"]?.number ?? 0 > 1)
            let ratio = try #require(record["quality"]?["psnr"]?["mean"]?.number)
            report("PSNR, SSIM", "\(ratio.short) dB, \((record["quality"]?["ssim"]?["mean"]?.number ?? 0).short)")
            #expect(ratio > 25 && record["quality"]?["ssim"]?["mean"]?.number ?? 0 > 0.8)
            for process in ["host", "viewer"] {
                #expect(record[process]?["peakMemoryMB"]?.number ?? 0 > 5)
                #expect(record[process]?["processorPercent"]?.number ?? -1 >= 0)
            }
            let page = try String(contentsOfFile: output + "/report.html", encoding: .utf8)
            #expect(page.contains("320x240@30 scroll 10M") && page.hasSuffix("</html>\n"))

            // A second run with another rate has no cell in common with the first.
            let (refused, _, why) = try Program.run(
                arguments + ["--rates", "25", "-o", scratch.file("other"), "--against", output + "/results.jsonl"])
            #expect(refused == .exited(1) && why.contains("320x240@30 scroll 10M"), "\(why)")
            #expect(
                !FileManager.default.fileExists(atPath: scratch.file("other")),
                "the error comes before any file is written")
            let (again, _, inTheWay) = try Program.run(arguments + ["-o", output])
            #expect(again == .exited(1) && inTheWay.contains("-o"), "existing files aren't overwritten: \(inTheWay)")
        }

        /// No sound server is needed: there is none.
        @Test func soundIsMeasuredAndInStep() throws {
            let scratch = try ScratchDirectory()
            let measuring = try ProgramProcess([
                "measure", "--sizes", "320x240", "--rates", "30", "--contents", "chart", "--repeat", "1",
                "--seconds", "3", "--json", "-o", scratch.file("out"),
            ])
            defer { measuring.end() }
            #expect(try measuring.waitForEnd(timeout: 90) == .exited(0), "\(measuring.errorText)")
            let sound = try #require(try records(scratch.file("out/results.jsonl")).first?["sound"])
            #expect(sound["packets"]?.number ?? 0 >= 20, "\(sound)")
            let latency = try #require(sound["latencyMs"]?["median"]?.number)
            report("sound: latency, buffer", "\(latency.short) ms, \((sound["bufferMs"]?.number ?? -1).short) ms")
            // Of sound that is known 30 ms in advance.
            #expect(abs(latency) < 500 && sound["concealed"]?.number ?? 1 < 0.5)
            let recorded = try #require(sound["recorded"])
            let bursts = ["expectedBursts", "foundBursts", "comparedBursts"].map { recorded[$0]?.number ?? 0 }
            let skew = try #require(recorded["medianSkewMs"]?.number)
            report("sound: recorded skew, bursts", "\(skew.short) ms, \(bursts)")
            #expect(bursts[0] >= 3 && bursts[1] >= bursts[0] - 1 && bursts[2] >= 1)
            // The sound has its exact time, and pictures may be drawn late on a busy machine.
            #expect(skew < 3 && skew > -200)
            let page = try String(contentsOfFile: scratch.file("out/report.html"), encoding: .utf8)
            #expect(page.contains("<h2>Sound</h2>"))
        }

        @Test func aHostWithoutSoundGivesNoFiguresOfIt() throws {
            let scratch = try ScratchDirectory()
            let machine = try Machine()
            let ports = try Ports()
            let host = try Program.share(["--source", "pattern", "--size", "320x240", "--audio", "off"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let measuring = try ProgramProcess(
                ["measure", "--host", ports.target, "--seconds", "2.5", "--repeat", "1", "-o", scratch.file("out")],
                machine: machine)
            defer { measuring.end() }
            #expect(try measuring.waitForEnd(timeout: 60) == .exited(0), "\(measuring.errorText)")
            #expect(try records(scratch.file("out/results.jsonl")).first?["sound"] == nil)
        }

        @Test func ctrlCKeepsTheMeasurements() throws {
            let scratch = try ScratchDirectory()
            let output = scratch.file("out")
            let measuring = try ProgramProcess([
                "measure", "--sizes", "320x240", "--rates", "30", "--contents", "still", "--repeat", "50", "--seconds",
                "0.5", "--json", "-o", output,
            ])
            defer { measuring.end() }
            try measuring.waitFor("result", timeout: 30)
            let children = processes(of: measuring.pid)
            measuring.interrupt()
            #expect(try measuring.waitForEnd() == .exited(0), "\(measuring.errorText)")
            #expect(try !records(output + "/results.jsonl").isEmpty)
            let page = try String(contentsOfFile: output + "/report.html", encoding: .utf8)
            #expect(page.contains("interrupted"))
            for child in children { #expect(kill(child, 0) != 0, "host and viewer have ended, too") }
        }

        @Test func anotherHostIsMeasuredWithItsOwnSettings() throws {
            let scratch = try ScratchDirectory()
            let machine = try Machine()
            let ports = try Ports()
            let host = try Program.share(
                ["--source", "pattern", "--content", "video", "--size", "320x240", "--max-fps", "25"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let measuring = try ProgramProcess(
                ["measure", "--host", ports.target, "--seconds", "2", "--repeat", "1", "-o", scratch.file("out")],
                machine: machine)
            defer { measuring.end() }
            #expect(try measuring.waitForEnd(timeout: 60) == .exited(0), "\(measuring.errorText)")
            let record = try #require(try records(scratch.file("out/results.jsonl")).first)
            #expect(record["conditions"]?["content"]?.string == "video")
            // Measured from the arrival of frames.
            let rate = try #require(record["conditions"]?["framesPerSecond"]?.number)
            #expect(abs(rate - 25) < 2.5, "\(rate) frames a second")
            #expect(record["quality"]?["psnr"]?["mean"]?.number ?? 0 > 25)
            #expect(record["clockErrorMs"]?.number ?? -1 >= 0)
            #expect(record["host"] == nil)
        }

        @Test(arguments: [
            ["--sizes", "100x100"], ["--sizes", "big"], ["--rates", "0"], ["--contents", "film"], ["--seconds", "0"],
            ["--repeat", "0"], ["--code", "123456"], ["--window"], ["--host", "desk", "--recording", "a.y4m"],
        ])
        func wrongUsageIs64(arguments: [String]) throws {
            let (ending, _, words) = try Program.run(["measure"] + arguments)
            #expect(ending == .exited(64), "\(words)")
        }

        @Test func filesThatCannotBeReadOrWrittenAreNamed() throws {
            let scratch = try ScratchDirectory()
            let broken = scratch.file("broken.jsonl")
            try Data("{\"format\":1}\n".utf8).write(to: URL(fileURLWithPath: broken))
            for (arguments, words) in [
                (["--against", "/nowhere/old.jsonl"], "/nowhere/old.jsonl"), (["--against", broken], "line 1"),
                (["-o", "/proc/nowhere"], "/proc/nowhere"), (["--recording", broken], broken),
            ] {
                let (ending, _, said) = try Program.run(
                    ["measure", "--sizes", "320x240", "-o", scratch.file("out")] + arguments)
                #expect(ending == .exited(1) && said.contains(words), "\(said)")
            }
        }
    }
}
