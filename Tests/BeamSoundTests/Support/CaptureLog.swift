import BeamMedia
import BeamSound
import Foundation
import Testing

/// A capture on a thread of its own, and what comes of it. Stopped in `deinit`.
final class CaptureLog {
    private let log = Log()
    private let capture: PulseCapture
    private let thread: StageThread

    init(_ target: SoundTarget, on server: SoundServer, isActive: Bool = true) {
        capture = PulseCapture(target, server: server.address)
        capture.onState { [log] state in log.change { log.states.append(state) } }
        capture.setActive(isActive)
        thread = StageThread("test-capture") { [capture, log] in
            capture.run { block in log.change { log.blocks.append(block) } }
        }
    }

    deinit { stop() }

    func setActive(_ isActive: Bool) { capture.setActive(isActive) }

    /// Returns when the capture has ended.
    func stop() {
        capture.stop()
        thread.join()
    }

    var blocks: [SoundBlock] { log.condition.withLock { log.blocks } }
    var states: [SoundCaptureState] { log.condition.withLock { log.states } }

    func forgetBlocks() { log.condition.withLock { log.blocks = [] } }

    /// Waits until the last state is this one.
    func wait(for state: SoundCaptureState, sourceLocation: SourceLocation = #_sourceLocation) {
        log.wait("\(state)", sourceLocation) { log.states.last == state }
    }

    /// Waits for a block that fits, and returns it.
    @discardableResult func block(
        _ what: String, sourceLocation: SourceLocation = #_sourceLocation, where fits: (SoundBlock) -> Bool
    ) -> SoundBlock? {
        var checked = 0
        var found: SoundBlock?
        log.wait(what, sourceLocation) {
            while checked < log.blocks.count, found == nil {
                if fits(log.blocks[checked]) { found = log.blocks[checked] }
                checked += 1
            }
            return found != nil
        }
        return found
    }
}

private final class Log: @unchecked Sendable {
    // Sendable: the variables are accessed under `condition`'s lock only.
    let condition = NSCondition()
    var blocks: [SoundBlock] = []
    var states: [SoundCaptureState] = []

    func change(_ body: () -> Void) {
        condition.withLock {
            body()
            condition.broadcast()
        }
    }

    func wait(_ what: String, _ sourceLocation: SourceLocation, _ fits: () -> Bool) {
        // Much longer than any of these takes even on a slow machine.
        let deadline = Date(timeIntervalSinceNow: 60)
        condition.withLock {
            while !fits() {
                guard condition.wait(until: deadline) else {
                    Issue.record(
                        "\(what) hasn't come; states: \(states), blocks: \(blocks.count)",
                        sourceLocation: sourceLocation)
                    return
                }
            }
        }
    }
}

extension SoundBlock {
    var isSilent: Bool { samples.allSatisfy { $0 == 0 } }

    /// The level of a tone in the left channel, and the share of what isn't the tone.
    func tone(_ frequency: Double) -> (level: Double, restToTone: Double) { Tone.fit(Tone.left(samples), frequency) }
}
