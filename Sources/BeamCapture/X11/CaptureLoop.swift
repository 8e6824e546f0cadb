import BeamClock
import BeamMedia
import CXCB
import Glibc

/// The capture thread's work: waits until something changes, fetches what changed, hands a picture on.
final class CaptureLoop {
    private static let pointerPollInterval = Duration.milliseconds(50)
    /// How long a monitor may be switched off, as programs that rearrange them do, and how long grabs may fail on end.
    private static let patience = Duration.seconds(2)
    private static let retryInterval = Duration.milliseconds(50)

    private let connection: XConnection
    private let control: CaptureControl
    private let area: any CaptureArea
    private let damage: any DamageSource
    private let pointer: PointerOverlay?
    private let grabber: Grabber
    private let interval: Duration

    private var target: CaptureTarget
    private var frames: FrameStore
    /// What was handed on last, at this size, and how the pointer stood in it.
    private var lastFrame: Frame?
    private var shownPointer: PointerOverlay.Appearance?
    /// What has changed since then.
    private var pending = DamageRegion()
    private var pictureCount: UInt64 = 0

    private var isWatched = false
    /// The whole picture is to be handed on, changed or not.
    private var wantsWhole = false
    /// Something may have changed: worth asking the server.
    private var wantsLook = false
    private var isTargetOutdated = false
    private var lastLook: MediaTime?
    private var budget: LookBudget
    /// When things first went wrong that may come right again, and when to try next.
    private var trouble: (since: MediaTime, retry: MediaTime)?

    init(
        _ connection: XConnection, area: any CaptureArea, target: CaptureTarget, damage: any DamageSource,
        pointer: PointerOverlay?, grabber: Grabber, maxFrameRate: Double
    ) {
        self.connection = connection
        control = connection.control
        self.area = area
        self.target = target
        self.damage = damage
        self.pointer = pointer
        self.grabber = grabber
        interval = .nanoseconds(Int64(1_000_000_000 / min(max(maxFrameRate, 0.1), 1000)))
        budget = LookBudget(interval: interval)
        frames = FrameStore(size: target.size)
    }

    /// Returns after `stop()`.
    func run(deliver: (Picture) -> Void) throws(CaptureError) {
        while true {
            do throws(AreaFailure) {
                guard try turn(deliver) else { return }
            } catch {
                switch error {
                case .ended(let error): throw error
                case .absent(let error): try bear(error)
                case .x(.interrupted): return
                case .x(let failure):
                    guard !connection.isBroken, case .refused = failure else {
                        throw .serverGone(display: connection.name)
                    }
                    // What was asked of has changed or gone while the question was on its way.
                    try bear(connection.captureError(failure))
                }
            }
        }
    }

    /// Something fails that may come right again: looks for the target anew after a while, but not for ever.
    private func bear(_ error: CaptureError) throws(CaptureError) {
        let now = MediaTime.now
        let since = trouble?.since ?? now
        if now - since > Self.patience { throw error }
        trouble = (since, now + Self.retryInterval)
        isTargetOutdated = true
        wantsLook = true
    }

    /// One round: takes in what has happened, then does what is due or waits. False when there is nothing more to do.
    private func turn(_ deliver: (Picture) -> Void) throws(AreaFailure) -> Bool {
        try takeEvents()
        if control.isStopped { return false }
        followWatchers()
        guard isWatched else {
            wait(until: nil)
            return true
        }
        if let trouble, MediaTime.now < trouble.retry {
            wait(until: trouble.retry)
            return true
        }
        if isTargetOutdated { try follow() }
        guard let due = dueTime else {
            wait(until: nil)
            return true
        }
        if MediaTime.now < due {
            // What the server says until then can wait too, unless it may move the time.
            wait(until: due, forServer: !wantsLook)
        } else if !frames.hasFree {
            control.awaitBuffer()
            if !frames.hasFree { control.wait(server: nil, until: nil) }
        } else {
            try look(deliver)
        }
        return true
    }

    private func takeEvents() throws(AreaFailure) {
        while let event = connection.nextEvent() {
            switch event {
            case .damaged, .pointerMoved: wantLook()
            case .pointerChanged:
                pointer?.imageChanged()
                wantLook()
            default:
                if try area.isMoved(by: event) { isTargetOutdated = true }
            }
        }
        if connection.isBroken { throw .x(.connectionLost) }
    }

    private func wantLook() {
        if !wantsLook { budget.want(now: .now) }
        wantsLook = true
    }

    private func wait(until deadline: MediaTime?, forServer: Bool = true) {
        connection.flush()
        control.wait(server: forServer ? connection.descriptor : nil, until: deadline)
    }

    /// Nobody watches any more, or somebody does.
    private func followWatchers() {
        guard control.isActive != isWatched else { return }
        isWatched.toggle()
        pointer?.setWatched(isWatched)
        if isWatched {
            wantsWhole = true
            wantsLook = true
        }
    }

    /// When to ask the server what has changed: at once after a rest, else as soon as the frame rate allows.
    private var dueTime: MediaTime? {
        let slot = lastLook.map { $0 + interval } ?? .zero
        if damage.isPolled { return slot }
        if wantsLook { return budget.due }
        if let pointer, pointer.isPolled { return max(slot, lastLook.map { $0 + Self.pointerPollInterval } ?? .zero) }
        return nil
    }

    /// The area may have moved, or changed its size.
    private func follow() throws(AreaFailure) {
        isTargetOutdated = false
        // Though the pixels may be the same, the pointer is elsewhere in them.
        wantsLook = true
        let next = try area.resolve()
        defer { target = next }
        guard !next.hasSamePixels(as: target) else { return }
        if next.size != target.size || next.layout.visual != target.layout.visual {
            frames = FrameStore(size: next.size)
            lastFrame = nil
        } else if next.readable.isEmpty {
            return
        } else {
            frames.markStale(DamageRegion(PixelRect(next.size)))
        }
        damage.targetChanged()
        shownPointer = nil
        wantsWhole = true
    }

    /// Asks what has changed, and hands on a picture if anything has.
    private func look(_ deliver: (Picture) -> Void) throws(AreaFailure) {
        wantsLook = false
        let now = MediaTime.now
        lastLook = now
        budget.look(now: now)
        if target.readable.isEmpty, let lastFrame {
            // Nothing to be seen for now: a newcomer gets what was seen last.
            trouble = nil
            if wantsWhole { hand(lastFrame, at: now, deliver) }
            return
        }
        var appearance: PointerOverlay.Appearance?
        do throws(Grabber.Failure) {
            damage.ask()
            pointer?.ask(target)
            let region = try damage.answer(for: target)
            frames.markStale(region)
            pending.formUnion(region)
            do throws(XFailure) {
                appearance = try pointer?.answer(for: target)
            } catch {
                throw .x(error)
            }
            if appearance != shownPointer {
                let bounds = PixelRect(target.size)
                if let old = shownPointer { pending.insert(old.frame.intersection(bounds)) }
                if let new = appearance { pending.insert(new.frame.intersection(bounds)) }
            }
            guard wantsWhole || !pending.isEmpty else {
                shownPointer = appearance
                trouble = nil
                return
            }
            guard let frame = try frames.takeFree(allocate: grabber.allocate) else {
                wantsLook = true
                return
            }
            let time = MediaTime.now
            let meanwhile = try damage.fetch(frame.stale, of: target, into: frame)
            frame.stale = DamageRegion()
            if let appearance, let pointer {
                pointer.draw(appearance, into: frame)
                // Next time the display's own pixels are wanted there.
                frame.stale.insert(appearance.frame.intersection(PixelRect(target.size)))
            }
            trouble = nil
            shownPointer = appearance
            frames.markStale(meanwhile)
            pending.formUnion(meanwhile)
            hand(frame, at: time, deliver)
            if !meanwhile.isEmpty {
                pending = meanwhile
                wantLook()
            }
        } catch {
            switch error {
            case .x(let failure): throw .x(failure)
            case .noMemory(let number):
                throw .ended(.noMemory(target.size, reason: String(cString: strerror(number))))
            }
        }
    }

    private func hand(_ frame: Frame, at time: MediaTime, _ deliver: (Picture) -> Void) {
        let picture = Picture(
            buffer: frame.lend(control), time: time, damage: wantsWhole ? nil : pending, number: pictureCount)
        pictureCount += 1
        pending = DamageRegion()
        wantsWhole = false
        lastFrame = frame
        deliver(picture)
    }
}
