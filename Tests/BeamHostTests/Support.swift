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
    func push(_ sound: EncodedSound) {}

    func push(_ frame: EncodedFrame) { kept.withLock { $0.append(frame) } }
    func close() {}
}

extension VideoDecoder {
    /// Decodes a frame as if it had arrived when it was captured.
    func decode(_ frame: EncodedFrame) throws(CodecError) -> Picture? {
        try decode(
            ReceivedFrame(
                unit: frame.unit, number: 0, firstArrival: frame.captureTime, lastArrival: frame.captureTime))
    }
}

struct Hang: Error {}

/// Waits until `isSo` holds; throws `Hang` after 60 s.
func eventually(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<3000 {
        if try isSo() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw Hang()
}
