import BeamMedia
import BeamNetwork
import Synchronization

/// In place of the decoder at a relay: hands on what is received, and notes that there is a picture.
final class PassingStage: ViewerSink {
    private struct State {
        var frames: UInt64 = 0
        var size: PixelSize?
    }

    private let target: any ReceivedSink
    private let shared: ViewerState
    private let onSize: @Sendable (PixelSize) -> Void
    private let state = Mutex(State())

    /// - Parameter onSize: the pictures have this size from now on.
    init(_ target: any ReceivedSink, _ shared: ViewerState, onSize: @escaping @Sendable (PixelSize) -> Void) {
        (self.target, self.shared, self.onSize) = (target, shared, onSize)
    }

    func open() {}

    func push(_ frame: ReceivedFrame) {
        target.push(frame)
        let isOther = state.withLock { state in
            defer { (state.frames, state.size) = (state.frames + 1, frame.unit.size) }
            return state.size != frame.unit.size
        }
        shared.pictureArrived(frame.firstArrival)
        if isOther { onSize(frame.unit.size) }
    }

    func push(_ sound: ReceivedSound) { target.push(sound) }

    func push(_ patch: ReceivedPatch) { target.push(patch) }

    func close() {}

    /// Frames that were handed on.
    var frames: UInt64 { state.withLock { $0.frames } }

    /// The last one's size; nil before the first.
    var size: PixelSize? { state.withLock { $0.size } }
}
