import BeamCapture
import BeamMedia
import Testing

@testable import BeamMeasure

/// The figures of sound, from a viewer's reports and from recordings.
struct SoundTests {
    private func event(_ sound: String?, name: String = "stats") throws -> ProgramEvent {
        try #require(
            ProgramEvent(line: #"{"event":"\#(name)","t":2\#(sound.map { #","sound":\#($0)"# } ?? "")}"#))
    }

    private func summary(_ sound: String?) throws -> ProgramEvent { try event(sound, name: "summary") }

    @Test func withoutPacketsThereIsNoSound() throws {
        #expect(MeasureRecord.Sound(try summary(nil), seconds: [], recorded: nil) == nil)
        #expect(
            MeasureRecord.Sound(try summary(#"{"packets":0,"bufferMs":0}"#), seconds: [], recorded: nil) == nil)
        #expect(MeasureRecord.Sound(try summary("7"), seconds: [], recorded: nil) == nil)
    }

    @Test func secondsWithoutNewsDoNotCount() throws {
        let seconds = [(39, 90.0, 9.0), (78, 20, 5), (78, 20, 5), (117, 24, 6), (156, 22, 5), (156, 22, 5)]
        let events = try seconds.map { packets, latency, buffer in
            try event(#"{"packets":\#(packets),"latencyMs":\#(latency),"bufferMs":\#(buffer),"skewMs":-1.5}"#)
        }
        let sound = try #require(
            MeasureRecord.Sound(
                try summary(#"{"packets":156,"lost":3,"concealed":0.02}"#), seconds: events, recorded: nil))
        #expect(sound.latencyMs == .init(median: 22, p95: 24, max: 24))
        #expect(sound.bufferMs == 5 && sound.skewMs == -1.5 && sound.concealed == 0.02)
        #expect(sound.packets == 156 && sound.lostPackets == 3 && sound.recorded == nil)
    }

    @Test func aShortRunHasItsSummary() throws {
        let sound = try #require(
            MeasureRecord.Sound(
                try summary(#"{"packets":39,"lost":0,"concealed":0,"latencyMs":17.5,"bufferMs":4}"#),
                seconds: [try event(#"{"packets":0}"#)], recorded: nil))
        #expect(sound.latencyMs?.median == 17.5 && sound.bufferMs == 4 && sound.skewMs == nil)
    }

    @Test func recordedSkewsAreSummarised() {
        func step(_ number: UInt32, _ hasBurst: Bool, _ skew: Double?) -> RecordedPattern.Step {
            .init(number: number, hasBurst: hasBurst, skew: skew.map { .seconds(clamping: $0 / 1000) })
        }
        let recorded = MeasureRecord.Sound.Recorded([
            step(30, true, -6), step(60, true, 1), step(90, false, nil), step(120, true, nil), step(150, true, 2),
        ])
        #expect(recorded.expectedBursts == 5 && recorded.foundBursts == 4 && recorded.comparedBursts == 3)
        #expect(recorded.medianSkewMs == 1 && recorded.p95SkewMs == 6 && recorded.maxSkewMs == 6)
        let none = MeasureRecord.Sound.Recorded([])
        #expect(none.expectedBursts == 0 && none.medianSkewMs == nil && none.maxSkewMs == nil)
    }
}
