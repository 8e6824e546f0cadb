import BeamMedia
import Synchronization

/// The pointer on its way from the network to the window: of several, the newest.
final class PointerBox: ViewerSink {
    private let newest = Mutex<ScreenPointer?>(nil)
    private let shared: ViewerState

    init(_ shared: ViewerState) { self.shared = shared }

    func open() {}

    func push(_ pointer: ScreenPointer) {
        newest.withLock { $0 = pointer }
        shared.pointerArrived()
    }

    func close() {}

    /// What has come since the last call.
    func take() -> ScreenPointer? {
        newest.withLock { newest in
            defer { newest = nil }
            return newest
        }
    }
}
