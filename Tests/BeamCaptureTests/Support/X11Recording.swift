import BeamCapture
import BeamMedia
import Foundation

/// Runs a source on its own thread and records what it delivers. Must be ended with `stop`.
final class X11Recording: @unchecked Sendable {
    // Sendable: the fields below `condition` are accessed under its lock only.

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
    private var reported: [SourceVisibility] = []
    private var told: [ScreenPointer] = []
    private var holdsPictures: Bool
    private var hasEnded = false
    private var failure: CaptureError?

    /// - Parameters:
    ///   - isActive: whether somebody watches from the start.
    ///   - holdsPictures: keeps all pictures, so that their buffers aren't released.
    init(_ source: any PictureSource, isActive: Bool = true, holdsPictures: Bool = false) {
        self.source = source
        self.holdsPictures = holdsPictures
        source.setActive(isActive)
        source.onVisibility { [weak self] in self?.note($0) }
        source.onPointer { [weak self] in self?.note($0) }
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

    /// Must be called. Waits until the source's thread has ended. Returns its error, if any.
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

    private func note(_ visibility: SourceVisibility) {
        condition.withLock {
            reported.append(visibility)
            condition.broadcast()
        }
    }

    private func note(_ pointer: ScreenPointer) {
        condition.withLock {
            told.append(pointer)
            condition.broadcast()
        }
    }

    /// What was told of the pointer.
    var pointers: [ScreenPointer] { condition.withLock { told } }

    /// Waits until `holds` is true for what was told of the pointer last, at most 20 s; false if it never was.
    func wait(untilPointer holds: (ScreenPointer?) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !holds(told.last) {
                if hasEnded || !condition.wait(until: deadline) { return holds(told.last) }
            }
            return true
        }
    }

    /// What was reported.
    var visibility: [SourceVisibility] { condition.withLock { reported } }

    /// Waits until exactly this has been reported, at most 20 s.
    func wait(forVisibility visibility: [SourceVisibility]) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while reported != visibility, !hasEnded, condition.wait(until: deadline) {}
            return reported == visibility
        }
    }

    /// Releases all pictures held, and holds no more.
    func release() {
        let pictures = condition.withLock {
            holdsPictures = false
            defer { held = [] }
            return held
        }
        withExtendedLifetime(pictures) {}
    }

    var shots: [Shot] { condition.withLock { delivered } }

    /// Waits until `holds` is true for the delivered pictures, at most 20 s; false if it never was.
    func wait(until holds: ([Shot]) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !holds(delivered) {
                if hasEnded || !condition.wait(until: deadline) { return holds(delivered) }
            }
            return true
        }
    }

    /// Waits until the newest picture equals `canvas`.
    func wait(for canvas: X11Canvas) -> Bool { wait { $0.last?.canvas == canvas } }

    /// Waits until the source ends by itself; nil if it doesn't.
    func waitForEnd() -> CaptureError? {
        let deadline = Date(timeIntervalSinceNow: 20)
        return condition.withLock {
            while !hasEnded && condition.wait(until: deadline) {}
            return failure
        }
    }

    /// Waits until nothing has been delivered for a quarter of a second.
    func settle() {
        var count = -1
        while count != shots.count {
            count = shots.count
            Thread.sleep(forTimeInterval: 0.25)
        }
    }
}
