import BeamClock
import BeamMedia
import Glibc

/// The capture thread's work: takes what the desktop sends, and delivers pictures of it.
final class PortalLoop {
    /// How long a session that broke is tried to be begun again. A compositor takes some seconds to restart.
    private static let patience = Duration.seconds(60)
    private static let firstPause = Duration.milliseconds(500)
    private static let longestPause = Duration.seconds(8)

    private let options: PortalOptions
    private let control: CaptureControl
    /// Nil: it broke, and isn't there yet again.
    private var capture: PortalCapture?
    private var frames: FrameStore
    private var lastFrame: Frame?
    /// The pointer as drawn in the last frame.
    private var shownPointer: PortalCapture.Pointer?
    /// Damage since the last delivered frame.
    private var pending = DamageRegion()
    private var pictureCount: UInt64 = 0
    private var budget: GrabBudget
    private var wantsPicture = false
    /// The next picture is delivered whole, changed or not.
    private var wantsWhole = false
    /// Nil: nobody watches.
    private var activation: Int?

    /// Called when what is shared can't be seen any more, or again. Set before `run`.
    var onVisibility: (@Sendable (SourceVisibility) -> Void)?
    private var toldVisibility = SourceVisibility.visible

    init(_ capture: PortalCapture, _ options: PortalOptions, _ control: CaptureControl) {
        self.capture = capture
        self.options = options
        self.control = control
        budget = GrabBudget(interval: .nanoseconds(Int64(1_000_000_000 / min(max(options.maxFrameRate, 1), 1000))))
        frames = FrameStore(size: capture.layout.size)
    }

    /// Returns after `stop()`.
    func run(deliver: (Picture) -> Void) throws(CaptureError) {
        capture?.enter()
        defer { capture?.leave() }
        while !control.isStopped {
            updateWatched()
            guard let capture else { continue }
            switch capture.turn() {
            case nil: step(capture, deliver)
            case .closed: throw .portal(.ended)
            case .broken(let reason): try begin(after: reason, deliver)
            }
        }
    }

    private func step(_ capture: PortalCapture, _ deliver: (Picture) -> Void) {
        take(capture)
        tell(capture.layout.isRegionOutside ? .regionOutside : .visible)
        guard activation != nil, wantsPicture, capture.isComplete || wantsWhole && lastFrame != nil else {
            return wait(capture, until: capture.deadline)
        }
        let due = budget.due
        if MediaTime.now < due {
            wait(capture, until: min(due, capture.deadline ?? due))
        } else if !frames.hasFree {
            control.awaitBuffer()
            if !frames.hasFree { wait(capture, until: capture.deadline) }
        } else {
            handOn(capture, deliver)
        }
    }

    private func wait(_ capture: PortalCapture, until deadline: MediaTime?) {
        control.wait(for: capture.pollEntries, until: deadline)
    }

    /// Starts or stops capturing when the first viewer comes or the last one goes.
    ///
    /// The streams go on: a paused stream of wlroots' portal sends nothing of what changed meanwhile.
    private func updateWatched() {
        let activation = control.activation
        guard activation != self.activation else { return }
        self.activation = activation
        if activation != nil {
            wantsWhole = true
            wantsPicture = true
        }
    }

    private func take(_ capture: PortalCapture) {
        if let damage = capture.take() {
            frames.markStale(damage)
            pending.formUnion(damage)
        } else {
            replaceFrames(capture)
        }
        if capture.pointer != shownPointer || !pending.isEmpty { requestPicture() }
    }

    private func replaceFrames(_ capture: PortalCapture) {
        if capture.layout.isRegionOutside { return }
        frames = FrameStore(size: capture.layout.size)
        lastFrame = nil
        shownPointer = nil
        pending = DamageRegion()
        wantsWhole = true
        requestPicture()
    }

    private func requestPicture() {
        if !wantsPicture { budget.changed(now: .now) }
        wantsPicture = true
    }

    private func handOn(_ capture: PortalCapture, _ deliver: (Picture) -> Void) {
        wantsPicture = false
        let now = MediaTime.now
        guard capture.isComplete else {
            if let lastFrame { send(lastFrame, at: now, deliver) }
            return
        }
        let pointer = capture.pointer
        let bounds = PixelRect(capture.layout.size)
        if pointer != shownPointer {
            if let old = shownPointer { pending.insert(old.frame.intersection(bounds)) }
            if let new = pointer { pending.insert(new.frame.intersection(bounds)) }
        }
        guard wantsWhole || !pending.isEmpty else {
            shownPointer = pointer
            return
        }
        let allocate: (Int) throws(Never) -> any PixelMemory = { HeapMemory(byteCount: $0) }
        guard let frame = frames.takeFree(allocate: allocate) else {
            wantsPicture = true
            return
        }
        budget.grabbed(now: now)
        capture.copy(frame.stale, into: frame)
        frame.stale = DamageRegion()
        if let pointer {
            capture.draw(pointer, into: frame)
            // Copied anew next time, to remove the pointer.
            frame.stale.insert(pointer.frame.intersection(bounds))
        }
        shownPointer = pointer
        send(frame, at: now, deliver)
    }

    private func send(_ frame: Frame, at time: MediaTime, _ deliver: (Picture) -> Void) {
        let picture = Picture(
            buffer: frame.lend(control), time: time, damage: wantsWhole ? nil : pending, number: pictureCount)
        pictureCount += 1
        pending = DamageRegion()
        wantsWhole = false
        lastFrame = frame
        deliver(picture)
    }

    private func tell(_ visibility: SourceVisibility) {
        guard visibility != toldVisibility else { return }
        toldVisibility = visibility
        onVisibility?(visibility)
    }

    // MARK: When it breaks

    /// Begins a new session, with the consent that was given for the old one; the desktop asks again if it must. Meanwhile
    /// the last picture stands.
    private func begin(after reason: String, _ deliver: (Picture) -> Void) throws(CaptureError) {
        capture?.leave()
        capture = nil
        tell(.monitorOff)
        let begin = MediaTime.now
        var pause = Self.firstPause
        var options = options
        options.asksAgain = false
        while !control.isStopped {
            let retry = MediaTime.now + pause
            while MediaTime.now < retry, !control.isStopped { control.wait(for: [], until: retry) }
            pause = min(pause * 2, Self.longestPause)
            let control = control
            do throws(CaptureError) {
                // A desktop that asks again has as long as all of it: nobody may sit there.
                let next = try PortalCapture(
                    options, while: { !control.isStopped && MediaTime.now - begin < Self.patience }, say: { _ in })
                next.enter()
                capture = next
                replaceFrames(next)
                return
            } catch {
                switch error {
                case .portal(.declined), .portal(.notOffered): throw error
                case _ where MediaTime.now - begin >= Self.patience: throw .portal(.lost(reason: reason))
                default: continue
                }
            }
        }
    }
}
