import BeamClock
import BeamMedia
import Glibc

/// The capture thread's work: takes what the desktop sends, and delivers pictures of it.
final class PortalLoop {
    private let options: PortalOptions
    private let control: CaptureControl
    /// Nil: it broke, and isn't there yet again.
    private var capture: PortalCapture?
    private var frames: FrameStore
    private var lastFrame: Frame?
    /// The pointer as drawn in the last frame.
    private var shownPointer: PortalCapture.Pointer?
    let teller = PointerTeller()
    /// The pointer comes beside the pictures.
    let tellsPointer: Bool
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
        tellsPointer = capture.hasPointer
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
            finish(capture)
            if let end = capture.turn() { try revive(after: end, deliver) } else { step(capture, deliver) }
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
        let wasWanted = wantsPicture
        finish(capture)
        // Something else has changed, also if what was found first lay outside the region.
        if wantsPicture, !wasWanted { return }
        control.wait(for: capture.pollEntries, until: deadline)
    }

    /// Starts or stops capturing when the first viewer comes or the last one goes.
    ///
    /// The streams go on: a paused stream of wlroots' portal sends nothing of what changed meanwhile.
    private func updateWatched() {
        if teller.setApart(tellsPointer && control.isPointerApart) { requestPicture() }
        let activation = control.activation
        guard activation != self.activation else { return }
        self.activation = activation
        if activation != nil {
            wantsWhole = true
            wantsPicture = true
        } else {
            teller.tell(.inPicture)
        }
    }

    private func take(_ capture: PortalCapture) {
        if let damage = capture.take() { note(damage) } else { replaceFrames(capture) }
        let (drawn, told) = pointer(of: capture)
        if drawn != shownPointer || !pending.isEmpty { requestPicture() }
        if let told, shownPointer == nil { teller.tell(told) }
    }

    /// Compares what wasn't compared yet, because a small change was to be handed on first.
    private func finish(_ capture: PortalCapture) {
        note(capture.finish())
        if !pending.isEmpty { requestPicture() }
    }

    private func note(_ damage: DamageRegion) {
        frames.markStale(damage)
        pending.formUnion(damage)
    }

    /// The pointer as it is to be drawn, or what viewers are told of it; nil: it isn't told.
    private func pointer(of capture: PortalCapture) -> (drawn: PortalCapture.Pointer?, told: ScreenPointer?) {
        let pointer = capture.pointer
        guard teller.isApart, activation != nil, let told = capture.told(pointer) else { return (pointer, nil) }
        return (nil, told)
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
        let (pointer, told) = pointer(of: capture)
        let bounds = PixelRect(capture.layout.size)
        if pointer != shownPointer {
            if let old = shownPointer { pending.insert(old.frame.intersection(bounds)) }
            if let new = pointer { pending.insert(new.frame.intersection(bounds)) }
        }
        guard wantsWhole || !pending.isEmpty else {
            shownPointer = pointer
            teller.tell(told ?? .inPicture)
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
        teller.tell(told ?? .inPicture)
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
    private func revive(after end: PortalCapture.End, _ deliver: (Picture) -> Void) throws(CaptureError) {
        if let capture {
            keepLastPicture(of: capture)
            capture.leave()
        }
        capture = nil
        var revival = PortalRevival(after: end, now: .now)
        while !control.isStopped {
            updateWatched()
            if activation != nil, wantsWhole, let lastFrame { send(lastFrame, at: .now, deliver) }
            switch revival.next(isLocked: control.isScreenLocked, now: .now) {
            case .wait(let deadline):
                if let visibility = revival.visibility { tell(visibility) }
                control.wait(for: [], until: deadline)
            case .giveUp(let trouble): throw .portal(trouble)
            case .attempt(let deadline):
                guard let next = try attempt(until: deadline) else { continue }
                next.enter()
                capture = next
                return replaceFrames(next)
            }
        }
    }

    /// Nil: not this time.
    private func attempt(until deadline: MediaTime) throws(CaptureError) -> PortalCapture? {
        var options = options
        options.asksAgain = false
        // The lock is followed here.
        options.waitsForUnlock = false
        let control = control
        do throws(CaptureError) {
            // Nobody may sit at a desktop that asks again.
            return try PortalCapture(options, while: { !control.isStopped && MediaTime.now < deadline }) { _ in
                self.tell(.consentAwaited)
            }
        } catch {
            switch error {
            // Unless it was the lock that closed the dialog.
            case .portal(.declined) where !control.isScreenLocked, .portal(.notOffered): throw error
            default: return nil
            }
        }
    }

    /// What the desktop has shown last, also if nobody has watched lately: for whoever comes before it is back.
    private func keepLastPicture(of capture: PortalCapture) {
        let allocate: (Int) throws(Never) -> any PixelMemory = { HeapMemory(byteCount: $0) }
        guard capture.isComplete, !pending.isEmpty || lastFrame == nil, let frame = frames.takeFree(allocate: allocate)
        else { return }
        capture.copy(frame.stale, into: frame)
        frame.stale = DamageRegion()
        lastFrame = frame
        wantsWhole = true
    }
}
