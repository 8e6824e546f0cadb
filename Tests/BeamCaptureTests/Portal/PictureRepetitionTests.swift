import BeamMedia
import Testing

@testable import BeamCapture

/// Pictures as KWin 5.27.5 sends them: the last one again and again.
struct PictureRepetitionTests {
    /// How many of the pictures are compared, which come every 16 ms, and differ where `differs` says so.
    private func comparisons(
        _ repetition: inout PictureRepetition, from first: Int = 0, count: Int, drawnAt: (Int) -> Int64,
        differs: (Int) -> Bool = { _ in false }
    ) -> [Int] {
        (first..<first + count).filter { index in
            let now = MediaTime.zero + .milliseconds(16 * index)
            guard repetition.isWorthComparing(drawnAt: drawnAt(index), now: now) else { return false }
            repetition.compared(differs: differs(index))
            return true
        }
    }

    @Test func aRepeatedPictureIsComparedThreeTimesAndThenRarely() {
        var repetition = PictureRepetition()
        let compared = comparisons(&repetition, count: 60, drawnAt: { _ in 5 })
        #expect(compared.prefix(4) == [0, 1, 2, 9])
        #expect(compared.count == 11)
    }

    @Test func aNewTimeIsComparedAtOnce() {
        var repetition = PictureRepetition()
        _ = comparisons(&repetition, count: 60, drawnAt: { _ in 5 })
        #expect(comparisons(&repetition, from: 60, count: 1, drawnAt: { _ in 6 }) == [60])
    }

    @Test func aDifferenceWithAnOldTimeIsFoundAndEndsTheRepetition() {
        var repetition = PictureRepetition()
        _ = comparisons(&repetition, count: 60, drawnAt: { _ in 5 })
        let compared = comparisons(&repetition, from: 60, count: 20, drawnAt: { _ in 5 }, differs: { _ in true })
        #expect(compared.first.map { $0 <= 67 } == true)
        #expect(compared.count >= 13)
    }

    @Test(arguments: [0, -1]) func withoutATimeEachPictureIsCompared(_ time: Int64) {
        var repetition = PictureRepetition()
        #expect(comparisons(&repetition, count: 60, drawnAt: { _ in time }).count == 60)
    }
}
