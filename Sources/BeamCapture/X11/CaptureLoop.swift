import BeamClock
import BeamMedia
import CXCB
import Glibc

/// The capture thread's work: waits for changes, grabs them and delivers pictures.
final class CaptureLoop {
    /// How often the pointer's position is queried if the server sends no motion events.
    private static let pointerPollInterval = Duration.milliseconds(50)
    /// How long refused grabs are retried.
    private static let retryLimit = Duration.seconds(2)
    private static let retryInterval = Duration.milliseconds(50)
    /// How long a monitor may be absent, while monitors are rearranged, until that is said.
    private static let absenceLimit = Duration.seconds(1)
    /// How often it is looked for after that, if the server says nothing of it.
    private static let searchInterval = Duration.milliseconds(500)
    /// How long a picture is given up because one of BeamRoom's own windows has moved while it was grabbed.
    private static let coverPatience = Duration.milliseconds(100)

    private let connection: XConnection
    private let control: CaptureControl
    private let area: any CaptureArea
    private let damage: any DamageSource
    private let pointer: PointerOverlay?
    private let grabber: Grabber
    private let interval: Duration

    private var target: CaptureTarget
    private var frames: FrameStore
    /// The last delivered frame (nil after a change of size) and the pointer as drawn in it.
    private var lastFrame: Frame?
    private var shownPointer: PointerOverlay.Appearance?
    let teller = PointerTeller()
    /// Damage since the last delivered frame.
    private var pending = DamageRegion()
    private var pictureCount: UInt64 = 0
    private let card = CoverCard()
    /// Since when pictures are given up because the covers had changed meanwhile.
    private var uncertainSince: MediaTime?

    /// Called when what is shared can't be seen any more, or again. Set before `run`.
    var onVisibility: (@Sendable (SourceVisibility) -> Void)?
    private var toldVisibility = SourceVisibility.visible
    /// The area isn't there: since when, when it is looked for again, why, and whether that has lasted so long that
    /// the last picture stands for it.
    private var absence: (since: MediaTime, retry: MediaTime, reason: SourceVisibility, isLasting: Bool)?

    /// Nil: nobody watches.
    private var activation: Int?
    /// The next picture is delivered whole, changed or not.
    private var wantsWhole = false
    /// Something may have changed, so the server has to be asked.
    private var wantsGrab = false
    private var isTargetOutdated = false
    private var lastGrab: MediaTime?
    private var budget: GrabBudget
    /// Time of the first in a series of temporary failures, and of the next retry.
    private var failure: (since: MediaTime, retry: MediaTime)?

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
        budget = GrabBudget(interval: interval)
        frames = FrameStore(size: target.size)
    }

    var tellsPointer: Bool { pointer != nil }

    /// Returns after `stop()`.
    func run(deliver: (Picture) -> Void) throws(CaptureError) {
        while true {
            do throws(AreaFailure) {
                guard try step(deliver) else { return }
            } catch {
                switch error {
                case .ended(let error): throw error
                case .absent(let reason, _): areaIsAbsent(reason)
                case .x(.interrupted): return
                case .x(let failure):
                    guard !connection.isBroken, case .refused = failure else {
                        throw .serverGone(display: connection.name)
                    }
                    // The drawable changed or went away while the request was on its way.
                    try scheduleRetry(after: connection.captureError(failure))
                }
            }
        }
    }

    /// Schedules a retry after a refused request, including a new search for the target. Throws `error` once failures
    /// have lasted for `retryLimit`.
    private func scheduleRetry(after error: CaptureError) throws(CaptureError) {
        let now = MediaTime.now
        let since = failure?.since ?? now
        if now - since > Self.retryLimit { throw error }
        failure = (since, now + Self.retryInterval)
        isTargetOutdated = true
        wantsGrab = true
    }

    /// One iteration: processes events, then does what is due or waits. False once stopped.
    private func step(_ deliver: (Picture) -> Void) throws(AreaFailure) -> Bool {
        try takeEvents()
        if control.isStopped { return false }
        updateWatched()
        guard activation != nil else {
            wait(until: nil)
            return true
        }
        if let pause = failure?.retry ?? (absence?.isLasting == false ? absence?.retry : nil), MediaTime.now < pause {
            wait(until: pause)
            return true
        }
        let revision = [absence?.retry, area.ownWindows?.deadline].compactMap { $0 }.min()
        if isTargetOutdated || revision.map({ $0 <= .now }) == true { try follow() }
        if let due = teller.due, due <= .now { try followPointer() }
        guard let due = dueTime else {
            wait(until: [revision, teller.due].compactMap { $0 }.min().map { max($0, .now) })
            return true
        }
        if MediaTime.now < due {
            // Damage and pointer events can wait until then. They could bring the time forward only if no grab is
            // planned yet. A pointer that isn't in the picture doesn't wait for that.
            let isAwaited = teller.isApart && teller.due == nil
            wait(until: min(due, teller.due ?? due), forServer: !wantsGrab || isAwaited)
        } else if !frames.hasFree {
            control.awaitBuffer()
            if !frames.hasFree { wait(until: teller.due, forServer: teller.isApart) }
        } else {
            try grabChanges(deliver)
        }
        return true
    }

    /// - Parameter isRead: only events that came before the replies taken so far.
    private func takeEvents(isRead: Bool = false) throws(AreaFailure) {
        while let event = connection.nextEvent(isRead: isRead) {
            switch event {
            case .damaged: requestGrab()
            case .pointerMoved: pointerMoved()
            case .pointerChanged:
                pointer?.imageChanged()
                pointerMoved()
            default:
                if try area.isMoved(by: event) { isTargetOutdated = true }
            }
        }
        tellVisibility()
        if connection.isBroken { throw .x(.connectionLost) }
    }

    private func tellVisibility() {
        let visibility =
            if let absence, absence.isLasting { absence.reason } else { area.visibility }
        guard visibility != toldVisibility else { return }
        toldVisibility = visibility
        onVisibility?(visibility)
    }

    /// A monitor is off, for example. After a moment the last picture stands for it; it is looked for from time to time,
    /// because not every server reports every change.
    private func areaIsAbsent(_ reason: SourceVisibility) {
        let now = MediaTime.now
        let since = absence?.since ?? now
        let isLasting = now - since >= Self.absenceLimit
        absence = (since, now + (isLasting ? Self.searchInterval : Self.retryInterval), reason, isLasting)
        isTargetOutdated = false
        if isLasting {
            target.readable = PixelRect(x: 0, y: 0, width: 0, height: 0)
            wantsGrab = wantsWhole
        }
        tellVisibility()
    }

    private func requestGrab() {
        if !wantsGrab { budget.changed(now: .now) }
        wantsGrab = true
    }

    private func pointerMoved() {
        if teller.isApart { teller.moved() } else { requestGrab() }
    }

    private func wait(until deadline: MediaTime?, forServer: Bool = true) {
        guard !forServer else { return connection.wait(until: deadline) }
        connection.flush()
        control.wait(server: nil, until: deadline)
    }

    /// Starts or stops capturing when the first viewer comes or the last one goes.
    private func updateWatched() {
        if teller.setApart(pointer != nil && control.isPointerApart) { requestGrab() }
        let activation = control.activation
        guard activation != self.activation else { return }
        let isWatched = activation != nil
        if isWatched != (self.activation != nil) { pointer?.setWatched(isWatched) }
        self.activation = activation
        if isWatched {
            wantsWhole = true
            wantsGrab = true
        } else {
            teller.tell(.inPicture)
        }
    }

    /// When to ask the server for changes: at once after a pause, otherwise as soon as the frame rate allows. Nil: not
    /// until an event.
    private var dueTime: MediaTime? {
        let slot = lastGrab.map { $0 + interval } ?? .zero
        if damage.isPolled { return slot }
        if wantsGrab { return budget.due }
        if let pointer, pointer.isPolled { return max(slot, lastGrab.map { $0 + Self.pointerPollInterval } ?? .zero) }
        return nil
    }

    /// Locates the area again after it may have moved or changed its size.
    private func follow() throws(AreaFailure) {
        isTargetOutdated = false
        // Even if the pixels are the same, the pointer's position relative to them has changed.
        wantsGrab = true
        let next = try area.resolve()
        if absence != nil {
            absence = nil
            tellVisibility()
        }
        defer { target = next }
        guard !next.hasSamePixels(as: target) else {
            var changed = next.changedLayers(since: target)
            changed.formUnion(next.changedCovers(since: target))
            frames.markStale(changed)
            pending.formUnion(changed)
            return
        }
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

    /// Tells where the pointer is. If it has to be drawn after all, a grab is requested.
    private func followPointer() throws(AreaFailure) {
        teller.follow(now: .now)
        guard let pointer, !target.readable.isEmpty else { return teller.tell(.hidden) }
        do throws(XFailure) {
            pointer.ask(target)
            let appearance = try pointer.answer(for: target)
            guard shownPointer == nil, let told = pointer.told(appearance, in: target.size) else {
                return requestGrab()
            }
            teller.tell(told)
        } catch {
            throw .x(error)
        }
    }

    /// Asks the server for changes, and delivers a picture if there are any.
    private func grabChanges(_ deliver: (Picture) -> Void) throws(AreaFailure) {
        wantsGrab = false
        let now = MediaTime.now
        lastGrab = now
        budget.grabbed(now: now)
        teller.follow(now: now)
        if target.readable.isEmpty, let lastFrame {
            // Nothing is visible now. A new viewer gets the last picture.
            failure = nil
            if wantsWhole { handOn(lastFrame, at: now, deliver) }
            if teller.isApart { teller.tell(.hidden) }
            return
        }
        var appearance: PointerOverlay.Appearance?
        do throws(Grabber.Failure) {
            damage.ask(target)
            pointer?.ask(target)
            let region = target.uncovered(try damage.answer(for: target))
            frames.markStale(region)
            pending.formUnion(region)
            do throws(XFailure) {
                appearance = try pointer?.answer(for: target)
            } catch {
                throw .x(error)
            }
            let told = teller.isApart ? pointer?.told(appearance, in: target.size) : nil
            if told != nil { appearance = nil }
            if appearance != shownPointer {
                let bounds = PixelRect(target.size)
                if let old = shownPointer { pending.insert(old.frame.intersection(bounds)) }
                if let new = appearance { pending.insert(new.frame.intersection(bounds)) }
            }
            guard wantsWhole || !pending.isEmpty else {
                shownPointer = appearance
                failure = nil
                teller.tell(told ?? .inPicture)
                return
            }
            guard let frame = try frames.takeFree(allocate: grabber.allocate) else {
                wantsGrab = true
                return
            }
            let time = MediaTime.now
            let fetched = frame.stale
            var isRight = false
            // The last picture may be shown again, when nothing can be seen any more: not as a mix, and without a cover.
            defer { if !isRight, frame === lastFrame { for rect in fetched.rects { card.fill(rect, frame) } } }
            let meanwhile = target.uncovered(try damage.fetch(fetched, of: target, into: frame))
            card.draw(target.covers, into: frame, fetched: fetched)
            guard let uncertain = try coverMoved(frame, now: time) else {
                // The frame stays stale.
                frames.markStale(meanwhile)
                pending.formUnion(meanwhile)
                wantsGrab = true
                return
            }
            isRight = true
            frame.stale = uncertain
            if let appearance, let pointer {
                pointer.draw(appearance, into: frame)
                // Refetch these pixels next time to remove the pointer.
                frame.stale.insert(appearance.frame.intersection(PixelRect(target.size)))
            }
            failure = nil
            shownPointer = appearance
            frames.markStale(meanwhile)
            pending.formUnion(meanwhile)
            handOn(frame, at: time, deliver)
            teller.tell(told ?? .inPicture)
            pending = meanwhile
            pending.formUnion(uncertain)
            if !pending.isEmpty { requestGrab() }
        } catch {
            switch error {
            case .area(let failure): throw failure
            case .x(let failure): throw .x(failure)
            case .noMemory(let number):
                throw .ended(.noMemory(target.size, reason: String(cString: strerror(number))))
            }
        }
    }

    /// Covers, too, where our own windows may have been while the picture was grabbed. Returns those places; nil: the picture
    /// is given up.
    private func coverMoved(_ frame: Frame, now: MediaTime) throws(Grabber.Failure) -> DamageRegion? {
        guard let own = area.ownWindows else { return DamageRegion() }
        // The server sends what it did before a reply ahead of it.
        do throws(AreaFailure) { try takeEvents(isRead: true) } catch { throw .area(error) }
        guard own.areOutdated else {
            uncertainSince = nil
            return DamageRegion()
        }
        guard let rects = try uncertainRects(now: now) else { return nil }
        var uncertain = DamageRegion()
        for rect in rects {
            card.fill(rect, frame)
            uncertain.insert(rect)
        }
        return uncertain
    }

    /// A window has moved, or been shown, while a picture was grabbed, so that a cover may be in the wrong place: what has
    /// to be covered besides. Nil: the picture is given up.
    ///
    /// If that goes on, because a person drags a window about, the places where ours can be seen before and after are
    /// covered; of one that was dragged itself, the rectangle around both.
    private func uncertainRects(now: MediaTime) throws(Grabber.Failure) -> [PixelRect]? {
        isTargetOutdated = true
        let next: CaptureTarget
        do throws(AreaFailure) { next = try area.resolve() } catch { throw .area(error) }
        guard next.hasSamePixels(as: target) else { return nil }
        if next.covers == target.covers {
            uncertainSince = nil
            return []
        }
        let since = uncertainSince ?? now
        uncertainSince = since
        guard now - since >= Self.coverPatience else { return nil }
        uncertainSince = nil
        var rects: [PixelRect] = []
        var around = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for (covers, others) in [(target.covers, next.covers), (next.covers, target.covers)] {
            for cover in covers {
                if others.contains(where: { $0.frame == cover.frame }) {
                    rects += cover.visible
                } else {
                    around = around.union(cover.frame)
                }
            }
        }
        return (rects + [around]).map { $0.intersection(PixelRect(target.size)) }.filter { !$0.isEmpty }
    }

    private func handOn(_ frame: Frame, at time: MediaTime, _ deliver: (Picture) -> Void) {
        let picture = Picture(
            buffer: frame.lend(control), time: time, damage: wantsWhole ? nil : pending, number: pictureCount)
        pictureCount += 1
        pending = DamageRegion()
        wantsWhole = false
        lastFrame = frame
        deliver(picture)
    }
}
