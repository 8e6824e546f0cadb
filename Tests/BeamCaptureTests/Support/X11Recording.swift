import BeamCapture
import BeamMedia
import Foundation

/// A source at work on a thread of its own, and what it has delivered. Stopped with its owner.
final class X11Recording: @unchecked Sendable {
    // Sendable: the fields below `condition` are read and written under its lock only.

    struct Shot: Sendable {
        let canvas: X11Canvas
        let damage: DamageRegion
        let time: MediaTime
        let number: UInt64
    }

    let source: any PictureSource
    private var thread: StageThread?
    private let condition = NSCondition()
    private var delivered: [Shot] = []
    private var held: [Picture] = []
    private var holdsPictures: Bool
    private var hasEnded = false
    private var failure: CaptureError?

    /// `isActive`: somebody watches from the start. `holdsPictures`: lets go of none.
    init(_ source: any PictureSource, isActive: Bool = true, holdsPictures: Bool = false) {
        self.source = source
        self.holdsPictures = holdsPictures
        source.setActive(isActive)
        thread = StageThread("test-capture") { [self] in
            var failure: CaptureError?
            do throws(CaptureError) {
                try source.run { self.take($0) }
            } catch {
                failure = error
            }
            condition.withLock {
                self.failure = failure
                hasEnded = true
                condition.broadcast()
            }
        }
    }

    /// Has to be called, and returns when the source's thread has ended. The error with which it has, if any.
    @discardableResult
    func stop() -> CaptureError? {
        source.stop()
        thread?.join()
        thread = nil
        release()
        return condition.withLock { failure }
    }

    private func take(_ picture: Picture) {
        let shot = Shot(
            canvas: X11Canvas(picture), damage: picture.damage, time: picture.time, number: picture.number)
        condition.withLock {
            delivered.append(shot)
            if holdsPictures { held.append(picture) }
            condition.broadcast()
        }
    }

    /// Lets go of the pictures held so far, and of all that come.
    func release() {
        let pictures = condition.withLock {
            holdsPictures = false
            defer { held = [] }
            return held
        }
        withExtendedLifetime(pictures) {}
    }

    var shots: [Shot] { condition.withLock { delivered } }

    /// Waits until `condition` holds of what was delivered, 20 s at most; false when it never did.
    func wait(until holds: ([Shot]) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !holds(delivered) {
                if hasEnded || !condition.wait(until: deadline) { return holds(delivered) }
            }
            return true
        }
    }

    /// Waits until the newest picture looks like this.
    func wait(for canvas: X11Canvas) -> Bool { wait { $0.last?.canvas == canvas } }

    /// Waits for the source's end by itself; nil when it doesn't end.
    func waitForEnd() -> CaptureError? {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !hasEnded && condition.wait(until: deadline) {}
            return failure
        }
    }

    /// Waits until nothing has been delivered for a while.
    func settle() {
        var count = -1
        while count != shots.count {
            count = shots.count
            Thread.sleep(forTimeInterval: 0.25)
        }
    }
}
