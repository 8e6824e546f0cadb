import BeamMedia

/// Starts, pauses and stops a source that runs on a loop of libpulse. Any thread may call it.
final class SoundControl: @unchecked Sendable {
    // Sendable: every field below is read and written under `changed`'s lock only.
    private let changed = MonotonicCondition()
    private var active = false
    private var stopped = false
    private var loop: PulseLoop?
    /// Something has changed since the last `sleep`.
    private var hasChanged = false

    var isActive: Bool { changed.withLock { active } }
    var isStopped: Bool { changed.withLock { stopped } }

    func setActive(_ isActive: Bool) { change { active = isActive } }

    func stop() { change { stopped = true } }

    /// The loop that changes wake from now on.
    func wake(_ loop: PulseLoop?) { changed.withLock { self.loop = loop } }

    func waitUntilStopped() {
        changed.withLock {
            while !stopped { changed.wait() }
        }
    }

    /// Waits until a time, or until something changes that hasn't been slept through.
    func sleep(until time: MediaTime) {
        changed.withLock {
            while !hasChanged, MediaTime.now < time { _ = changed.wait(until: time) }
            hasChanged = false
        }
    }

    private func change(_ body: () -> Void) {
        let loop = changed.withLock {
            body()
            hasChanged = true
            changed.broadcast()
            return self.loop
        }
        loop?.wake()
    }
}
