import BeamCapture
import BeamMedia
import Synchronization

/// Runs a source on a thread of its own and puts its newest picture into the slot.
final class CaptureStage: Sendable {
    private let source: any PictureSource
    private let slot: LatestSlot<Picture>
    private let thread: StageThread
    private let counter: Counter

    private struct Demand {
        var isWatched = false
        var isPaused = false

        var isActive: Bool { isWatched && !isPaused }
    }

    private let demand = Mutex(Demand())

    private final class Counter: Sendable {
        let pictures = Atomic<UInt64>(0)
    }

    /// `onEnd` is called when the source ends by itself, with the reason.
    init(
        _ source: any PictureSource, patches: PatchStage? = nil, into slot: LatestSlot<Picture>,
        onEnd: @escaping @Sendable (CaptureError) -> Void
    ) {
        self.source = source
        self.slot = slot
        let counter = Counter()
        self.counter = counter
        thread = StageThread("beam-capture") {
            do throws(CaptureError) {
                try source.run { picture in
                    counter.pictures.wrappingAdd(1, ordering: .relaxed)
                    slot.put(patches?.offer(picture) ?? picture)
                    patches?.prepare()
                }
            } catch {
                onEnd(error)
            }
        }
    }

    var captured: UInt64 { counter.pictures.load(ordering: .relaxed) }

    /// Somebody watches, or nobody does.
    func setActive(_ isActive: Bool) {
        demand.withLock { $0.isWatched = isActive }
        passOnDemand()
    }

    /// Whether all who watch draw the pointer themselves, so that the pictures are without it.
    func setPointerApart(_ isApart: Bool) { source.setPointerApart(isApart) }

    var isPaused: Bool { demand.withLock { $0.isPaused } }

    /// Nothing is captured while the stage is paused. False if it was so already.
    func setPaused(_ isPaused: Bool) -> Bool {
        let hasChanged = demand.withLock { demand in
            defer { demand.isPaused = isPaused }
            return demand.isPaused != isPaused
        }
        if hasChanged {
            passOnDemand()
            source.setPaused(isPaused)
        }
        return hasChanged
    }

    /// Outside the lock, because the source is woken by a system call; again if the demand changed meanwhile.
    private func passOnDemand() {
        var told: Bool?
        while true {
            let isActive = demand.withLock { $0.isActive }
            guard isActive != told else { return }
            source.setActive(isActive)
            told = isActive
        }
    }

    /// Returns when the source's thread has ended.
    func stop() {
        source.stop()
        thread.join()
    }
}
