import BeamMedia
import Testing

@testable import BeamCapture

/// Pieces of sound that become blocks.
@Suite struct SoundAssemblerTests {
    private func milliseconds(_ value: Int) -> MediaTime { MediaTime(nanoseconds: Int64(value) * 1_000_000) }

    private func piece(_ milliseconds: Int, _ value: Float = 0.5) -> [Float] {
        [Float](repeating: value, count: milliseconds * 96)
    }

    private static let always = MediaTime.distantPast..<MediaTime.distantFuture

    /// Everything that is complete.
    private func takeAll(_ blocks: inout SoundAssembler) -> [SoundBlock] {
        var taken: [SoundBlock] = []
        while let block = blocks.take() { taken.append(block) }
        return taken
    }

    @Test func piecesOfAnyLengthBecomeBlocks() throws {
        var blocks = SoundAssembler()
        var isPlaced = blocks.append(piece(7), at: milliseconds(100), in: Self.always)
        #expect(isPlaced && !blocks.hasBlock)
        // 1/3 of a sample is no gap.
        isPlaced = blocks.append(piece(7), at: milliseconds(107) + .nanoseconds(6900), in: Self.always)
        #expect(isPlaced && takeAll(&blocks) == [SoundBlock(samples: piece(10), time: milliseconds(100))])
        #expect(blocks.start == milliseconds(110) && blocks.end == milliseconds(114))
        // A gap of 3 ms is silent, and of an overlap what is new counts.
        _ = blocks.append(piece(7, 0.25), at: milliseconds(117), in: Self.always)
        _ = blocks.append(piece(10, 0.75), at: milliseconds(120), in: Self.always)
        let taken = takeAll(&blocks)
        #expect(taken.map(\.samples) == [piece(4) + piece(3, 0) + piece(3, 0.25), piece(4, 0.25) + piece(6, 0.75)])
        #expect(taken.map(\.time) == [milliseconds(110), milliseconds(120)] && blocks.isEmpty)
        isPlaced = blocks.append(piece(5), at: milliseconds(100), in: Self.always)
        #expect(isPlaced && blocks.isEmpty)
        // Only what is in the window.
        _ = blocks.append(piece(30), at: milliseconds(125), in: milliseconds(130)..<milliseconds(137))
        blocks.pad()
        #expect(takeAll(&blocks).map(\.samples) == [piece(7) + piece(3, 0)] && blocks.isEmpty)
    }

    @Test func aLongGapBeginsAnew() throws {
        var blocks = SoundAssembler()
        _ = blocks.append(piece(3), at: milliseconds(0), in: Self.always)
        var isPlaced = blocks.append(piece(10, 0.25), at: milliseconds(500), in: Self.always)
        #expect(!isPlaced)
        blocks.pad()
        #expect(takeAll(&blocks).map(\.samples) == [piece(3) + piece(7, 0)])
        isPlaced = blocks.append(piece(10, 0.25), at: milliseconds(500), in: Self.always)
        blocks.shift(by: .milliseconds(50))
        #expect(isPlaced && takeAll(&blocks) == [SoundBlock(samples: piece(10, 0.25), time: milliseconds(550))])
    }

    @Test func absurdTimesDoNoHarm() {
        var blocks = SoundAssembler()
        for time in [MediaTime.distantPast, .distantFuture, .zero, .distantPast, .zero, .distantFuture] {
            _ = blocks.append(piece(13), at: time, in: Self.always)
            #expect(takeAll(&blocks).count <= 3)
            blocks.pad()
            #expect(takeAll(&blocks).count <= 1 && blocks.isEmpty)
            blocks.shift(by: .nanoseconds(Int64.max))
        }
    }
}
