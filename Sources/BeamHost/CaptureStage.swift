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

    /// `onEvent` is called for what the source reports, `onEnd` when it ends by itself, with the reason.
    init(
        _ source: any PictureSource, into slot: LatestSlot<Picture>,
        onEvent: @escaping @Sendable (SourceEvent) -> Void = { _ in },
        onEnd: @escaping @Sendable (CaptureError) -> Void
    ) {
        self.source = source
        self.slot = slot
        let counter = Counter()
        self.counter = counter
        thread = StageThread("beam-capture") {
            do throws(CaptureError) {
                try source.run(
                    deliver: { picture in
                        counter.pictures.wrappingAdd(1, ordering: .relaxed)
                        slot.put(picture)
                    }, onEvent: onEvent)
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
