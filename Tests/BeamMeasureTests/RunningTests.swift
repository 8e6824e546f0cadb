import BeamMedia
import Dispatch
import Foundation
import Testing

@testable import BeamCapture
@testable import BeamMeasure

/// Child processes and their output.
struct RunningTests {
    private func messages(of mailbox: Mailbox) throws -> [String] {
        var texts: [String] = []
        while let message = try mailbox.take(until: .now() + 20) {
            switch message {
            case .line(_, let text): texts.append("out " + text)
            case .words(_, let text): texts.append("err " + text)
            case .ended(_, let ending):
                texts.append("end \(ending)")
                return texts
            }
        }
        return texts
    }

    @Test func outputIsReadByLines() throws {
        let mailbox = Mailbox()
        let child = try ChildProgram(
            "/bin/sh", ["-c", "echo one; echo $WORD; printf three; exit 3"], environment: ["WORD": "two"], number: 1,
            mailbox: mailbox)
        #expect(try messages(of: mailbox) == ["out one", "out two", "out three", "end exit status 3"])
        // It has been reaped, so its pid may be in use by another process.
        child.signal(SIGKILL)
    }

    @Test func aProcessEndsWithItsOwner() throws {
        let mailbox = Mailbox()
        var child: ChildProgram? = try ChildProgram(
            "/bin/sh", ["-c", "trap '' INT; echo up; sleep 100 & wait"], environment: [:], number: 1, mailbox: mailbox)
        let pid = try #require(child?.pid)
        let first = try #require(try mailbox.take(until: .now() + 20))
        guard case .line(1, "up") = first else {
            Issue.record("\(first)")
            return
        }
        #expect(ProcessorTimes(of: pid)?.peakMemoryMB ?? 0 > 0)
        // Kills the group, because the shell's child would keep the pipes open.
        _ = kill(-pid, SIGKILL)
        child = nil
        #expect(ProcessorTimes(of: pid) == nil)
    }

    @Test func aMissingProgramIsReported() throws {
        let error = try #require(throws: MeasureError.self) {
            try ChildProgram("/nonexistent/x", [], environment: [:], number: 1, mailbox: Mailbox())
        }
        #expect(error.description.contains("/nonexistent/x"))
    }

    @Test func cancellationEndsAWait() async throws {
        let mailbox = Mailbox()
        let waiting = Task.detached { () -> Bool in
            do {
                _ = try mailbox.take(until: .now() + 60)
                return false
            } catch {
                return (error as? MeasureError) == .cancelled
            }
        }
        try await Task.sleep(for: .milliseconds(50))
        mailbox.cancel()
        #expect(await waiting.value)
    }

    @Test func linesAreCutAndKeptShort() {
        var cutter = LineCutter(limit: 5)
        #expect(cutter.append(Array("ab\n\ncdefghi".utf8)[...]) == ["ab", ""])
        #expect(cutter.append(Array("jk\nx".utf8)[...]) == ["cdefg"])
        #expect(cutter.rest == ["x"])
    }

    private func plan(_ program: String, _ scratch: ScratchDirectory, cells: [MeasureCell]) -> MeasurePlan {
        MeasurePlan(
            cells: cells, repetitions: 2, seconds: 0.5, program: program, version: "test", scratch: scratch.path)
    }

    private let cell = MeasureCell(
        source: .pattern(PatternOptions(size: PixelSize(width: 320, height: 180))), bitRate: 1_500_000)

    @Test func aHostThatDiesIsReportedWithItsLastOutput() throws {
        let scratch = try ScratchDirectory()
        let program = scratch.file("program")
        // Copied by another process: what this one has open to write is for a moment open in each child that it starts for
        // another test, and can't be run then.
        let script = try scratch.write(
            Data("#!/bin/sh\necho 'beamroom: the roof is on fire.' >&2\nexit 1\n".utf8), to: "script")
        _ = try BeamMeasureTests.run("install", "-m", "700", script, program, in: scratch.path)
        let run = MeasureRun(plan(program, scratch, cells: [cell]))
        let error = try #require(throws: MeasureError.self) {
            try run.run(onProgress: { _ in }, onRecord: { _ in })
        }
        #expect(
            error.description.contains("host ended") && error.description.contains("the roof is on fire"),
            "\(error.description)")
    }

    @Test func cellsAreNamedByTheirConditions() {
        #expect(cell.name == "320x180@30 chart 1500k")
        let cells = MeasureCell.matrix(
            sizes: [PixelSize(width: 1280, height: 720), PixelSize(width: 1920, height: 1080)],
            frameRates: [59.94], contents: [.still, .video], bitRate: 10_000_000, hasWindow: true)
        #expect(
            cells.map(\.name) == [
                "1280x720@59.94 still 10M window", "1280x720@59.94 video 10M window",
                "1920x1080@59.94 still 10M window",
                "1920x1080@59.94 video 10M window",
            ])
    }

    @Test func theMachineIsDescribed() {
        let machine = MeasureRecord.Machine.current(beamroom: "1.2")
        #expect(!machine.processor.isEmpty && machine.cores > 0 && machine.memoryMB > 0 && !machine.kernel.isEmpty)
        #expect(ProcessorTimes.ofMachine() ?? 0 > 0)
        #expect(FileManager.default.isExecutableFile(atPath: OwnProgram.path))
    }
}
