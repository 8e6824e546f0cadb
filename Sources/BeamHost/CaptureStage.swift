import BeamCapture
import BeamMedia
import Synchronization

/// Runs a source on a thread of its own and puts its newest picture into the slot.
final class CaptureStage: Sendable {
    private let source: any PictureSource
    private let slot: LatestSlot<Picture>
    private let thread: StageThread
    private let counter: Counter

    private final class Counter: Sendable {
        let pictures = Atomic<UInt64>(0)
    }

    /// `onEnd` is called when the source ends by itself, with the reason.
    init(_ source: any PictureSource, into slot: LatestSlot<Picture>, onEnd: @escaping @Sendable (CaptureError) -> Void)
    {
        self.source = source
        self.slot = slot
        let counter = Counter()
        self.counter = counter
        thread = StageThread("beam-capture") {
            do throws(CaptureError) {
                try source.run { picture in
                    counter.pictures.wrappingAdd(1, ordering: .relaxed)
                    slot.put(picture)
                }
            } catch {
                onEnd(error)
            }
        }
    }

    var captured: UInt64 { counter.pictures.load(ordering: .relaxed) }

    func setActive(_ isActive: Bool) { source.setActive(isActive) }

    /// Returns when the source's thread has ended.
    func stop() {
        source.stop()
        thread.join()
    }
}
