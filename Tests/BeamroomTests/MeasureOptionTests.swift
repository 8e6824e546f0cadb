import BeamCapture
import BeamMedia
import Testing

@testable import beamroom

/// `beamroom measure`: its list options and its progress bar.
struct MeasureOptionTests {
    @Test func listsAreSplitAtCommas() {
        #expect(
            OptionList<PixelSize>(argument: "1280x720,640x360")?.values
                == [PixelSize(width: 1280, height: 720), PixelSize(width: 640, height: 360)])
        #expect(OptionList<Double>(argument: "59.94")?.values == [59.94])
        #expect(OptionList<PatternContent>(argument: "still,video")?.values == [.still, .video])
        for nonsense in ["", ",", "still,", "still,film", " still"] {
            #expect(OptionList<PatternContent>(argument: nonsense) == nil, "\(nonsense)")
        }
    }

    @Test func durationsAreWrittenInHoursMinutesAndSeconds() {
        #expect([0, 45, 130, 3900].map { MeasureProgress.duration($0) } == ["0 s", "45 s", "2 min 10 s", "1 h 5 min"])
        #expect(MeasureProgress.duration(-3) == "0 s" && !MeasureProgress.duration(.infinity).isEmpty)
    }

    @Test(arguments: [10, 40, 80, 200]) func theBarFitsTheTerminal(width: Int) {
        for done in [0, 5, 12, 13] {
            let line = MeasureProgress.line(
                done: done, total: 12, left: 130, words: "1920x1080@60 scroll 10M, 2/3", width: width)
            #expect(line.count < max(11, width), "\(line)")
        }
        let line = MeasureProgress.line(done: 6, total: 12, left: 130, words: "cell", width: 80)
        #expect(
            line == String(repeating: "━", count: 15) + String(repeating: "─", count: 15)
                + " 6/12  2 min 10 s left  cell")
    }
}
