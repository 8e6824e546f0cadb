import BeamMedia
import Foundation
import Synchronization

@testable import BeamCapture

/// Runs a source of sound on its own thread and records what it delivers.
final class RunningSound: Sendable {
    private let source: any SoundSource
    private let thread: StageThread
    private let recorded: Recorded

    struct Delivery: Sendable {
        var block: SoundBlock
        var at: MediaTime
    }

    private final class Recorded: Sendable {
        let deliveries = Mutex<[Delivery]>([])
    }

    init(_ source: any SoundSource) {
        self.source = source
        let recorded = Recorded()
        self.recorded = recorded
        thread = StageThread("test-sound") {
            source.run { block in
                recorded.deliveries.withLock { $0.append(Delivery(block: block, at: .now)) }
            }
        }
    }

    var deliveries: [Delivery] { recorded.deliveries.withLock { $0 } }

    /// Stops the source. Returns everything it delivered, once its thread has ended.
    @discardableResult
    func stop() -> [Delivery] {
        source.stop()
        thread.join()
        return deliveries
    }
}

extension [SoundBlock] {
    /// Where tones begin on the host's clock: at samples above 0.1 after 50 ms without.
    var onsets: [MediaTime] {
        var found: [MediaTime] = []
        var lastLoud = MediaTime.distantPast
        for block in self {
            for index in 0..<SoundBlock.length where abs(block.samples[index * SoundBlock.channelCount]) > 0.1 {
                let time = block.time + SoundBlock.time(ofSamples: index)
                if time - lastLoud > .milliseconds(50) { found.append(time) }
                lastLoud = time
            }
        }
        return found
    }

    /// How much later each block begins than the one before it ends.
    var gaps: [Duration] { zip(self, dropFirst()).map { $1.time - $0.time - SoundBlock.duration } }
}
