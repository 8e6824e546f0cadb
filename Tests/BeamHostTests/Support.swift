import BeamClock
import BeamCodec
import BeamMedia
import Foundation
import Synchronization

@testable import BeamHost

/// Keeps every frame.
final class CollectingSink: FrameSink {
    private let kept = Mutex<[EncodedFrame]>([])

    var frames: [EncodedFrame] { kept.withLock { $0 } }

    func open() {}
    func push(_ frame: EncodedFrame) { kept.withLock { $0.append(frame) } }
    func close() {}
}

extension VideoDecoder {
    /// As if the frame had arrived as soon as it was made.
    func decode(_ frame: EncodedFrame) throws(CodecError) -> Picture? {
        try decode(
            ReceivedFrame(
                unit: frame.unit, number: 0, firstArrival: frame.captureTime, lastArrival: frame.captureTime))
    }
}

struct Hang: Error {}

/// Waits until something is so; a hang is a failure.
func eventually(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<3000 {
        if try isSo() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw Hang()
}
