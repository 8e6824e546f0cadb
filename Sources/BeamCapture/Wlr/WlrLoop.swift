import BeamClock
import BeamMedia

/// The capture thread's work: asks the compositor for copies and delivers what has changed.
final class WlrLoop {
    /// How soon a frame that has failed is asked for again.
    private static let retryInterval = Duration.milliseconds(50)
    /// The same once the output counts as off.
    private static let searchInterval = Duration.milliseconds(500)
    /// How long nothing may come of an output, as while a compositor sets its modes, until that is said.
    private static let absenceLimit = Duration.seconds(1)

    private enum Phase {
        case idle
        /// A frame was asked for.
        case asked(since: MediaTime)
        /// The compositor is to write it, with its next refresh or when something has changed.
        case copying(since: MediaTime, waitsForDamage: Bool)
    }

    private let connection: WaylandConnection
    private let control: CaptureControl
    /// Of the monitor that is shared.
    private let name: String
    private let region: PixelRect?
    private let drawsCursor: Bool
    private let probeInterval: Duration

    private var outputs: OutputList
    private var schedule: CopySchedule
    private var phase = Phase.idle
    private var buffer: ScreenBuffer?
    private var reader: ScreenReader?
    /// How the compositor's frames are turned, if it says so.
    private var frameTurn: OutputTurn?
    private var hint = DamageRegion()
    private var lastFrame: Frame?
    private var pictureCount: UInt64 = 0

    /// Called when what is shared can't be seen any more, or again. Set before `run`.
    var onVisibility: (@Sendable (SourceVisibility) -> Void)?
    private var toldVisibility = SourceVisibility.visible
    /// Nothing comes of the output: since when, why, and when to try again.
    private var absence: (since: MediaTime, reason: SourceVisibility, retry: MediaTime)?

    /// Nil: nobody watches.
    private var activation: Int?
    /// The next picture is delivered whole, changed or not.
    private var wantsWhole = false

    init(
        _ connection: WaylandConnection, _ control: CaptureControl, _ outputs: OutputList, name: String,
        _ options: WlrOptions
    ) {
        self.connection = connection
        self.control = control
        self.outputs = outputs
        self.name = name
        region = options.region
        drawsCursor = options.drawsCursor
        probeInterval = options.probeInterval
        schedule = CopySchedule(maxFrameRate: options.maxFrameRate)
    }

    /// Returns after `stop()`.
    func run(deliver: (Picture) -> Void) throws(CaptureError) {
        while !control.isStopped {
            try connection.read()
            while let event = connection.nextEvent() { try handle(event, deliver) }
            updateWatched()
            try advance(deliver)
        }
    }

    /// Does what is due, or waits.
    private func advance(_ deliver: (Picture) -> Void) throws(CaptureError) {
        guard activation != nil else { return try wait(until: nil) }
        let now = MediaTime.now
        if outputs[name] == nil { isAbsent(.monitorOff, since: now) }
        // An answer, or the next refresh, that doesn't come.
        switch phase {
        case .asked(let since), .copying(let since, false):
            if now - since >= Self.absenceLimit { isAbsent(.monitorOff, since: since) }
        case .idle, .copying: break
        }
        tellVisibility(now: now)
        let isLasting = isLastingAbsence(now: now)
        if isLasting, wantsWhole, let lastFrame { handOn(lastFrame, at: now, nil, deliver) }
        switch phase {
        case .copying(let since, true):
            if now - since < probeInterval { return try wait(until: since + probeInterval) }
            restart()
        case .asked(let since), .copying(let since, false):
            try wait(until: isLasting ? nil : since + Self.absenceLimit)
        case .idle:
            guard let output = outputs[name] else { return try wait(until: isLasting ? nil : absenceDeadline) }
            let due = max(schedule.due, absence?.retry ?? .zero)
            if now < due {
                try wait(until: due)
            } else if reader?.frames.hasFree == false {
                control.awaitBuffer()
                if reader?.frames.hasFree == false { try wait(until: nil, forCompositor: false) }
            } else if connection.capture(output, drawsCursor: drawsCursor) {
                phase = .asked(since: now)
            } else {
                // Said with the next events.
                outputs.remove(output.id)
            }
        }
    }

    private func wait(until deadline: MediaTime?, forCompositor: Bool = true) throws(CaptureError) {
        try connection.flush()
        control.wait(server: forCompositor ? connection.descriptor : nil, until: deadline)
    }

    /// Starts or stops capturing when the first viewer comes or the last one goes.
    private func updateWatched() {
        let activation = control.activation
        guard activation != self.activation else { return }
        self.activation = activation
        wantsWhole = activation != nil
        restart()
    }

    /// Gives up a copy that is under way, and makes the next one at once.
    private func restart() {
        connection.cancel()
        phase = .idle
        hint = DamageRegion()
        schedule.restart()
    }

    private func handle(_ event: WaylandEvent, _ deliver: (Picture) -> Void) throws(CaptureError) {
        switch event {
        case .outputChanged(let output):
            let before = outputs[name]
            outputs.update(output)
            guard output.name == name, before != output else { return }
            absence?.retry = .zero
            frameTurn = nil
            restart()
        case .outputGone(let id):
            if outputs[name]?.id == id { restart() }
            outputs.remove(id)
        case .frameOffered(let offer): try copy(offer)
        case .frameDamaged(let rect): hint.insert(rect)
        case .frameReady(let isUpsideDown, let turn, let time):
            take(isUpsideDown: isUpsideDown, turn: turn, time: time, deliver)
        case .frameFailed:
            restart()
            isAbsent(.monitorOff, since: .now)
        }
    }

    /// Lends the compositor memory for the frame that it offers.
    private func copy(_ offer: FrameOffer) throws(CaptureError) {
        guard let output = outputs[name] else { return }
        if buffer?.offer != offer {
            buffer = nil
            buffer = try connection.makeBuffer(offer)
        }
        guard let buffer, prepareReader(of: buffer, frameTurn ?? output.turn) else { return }
        let now = MediaTime.now
        let mayWait = schedule.waitsForDamage(now: now, refreshRate: output.refreshRate)
        phase = .copying(since: now, waitsForDamage: connection.copy(into: buffer, mayWait: mayWait))
    }

    /// False if nothing of what is shared lies in the buffer's picture.
    private func prepareReader(of buffer: ScreenBuffer, _ turn: OutputTurn) -> Bool {
        let size = buffer.offer.size
        let bounds = PixelRect(turn.upright(size))
        let part = region?.intersection(bounds) ?? bounds
        guard !part.isEmpty else {
            restart()
            isAbsent(.regionOutside, since: .now)
            return false
        }
        let screen = ScreenReader.Screen(size: size, turn: turn, part: part, isSwapped: buffer.format.isSwapped)
        if reader?.screen != screen {
            if reader?.screen.part.size != part.size { lastFrame = nil }
            reader = ScreenReader(screen)
            schedule.restart()
            wantsWhole = true
        }
        return true
    }

    /// Takes over what the compositor has written.
    private func take(isUpsideDown: Bool, turn: OutputTurn?, time: MediaTime, _ deliver: (Picture) -> Void) {
        guard case .copying(_, let waitsForDamage) = phase, let buffer else { return }
        phase = .idle
        if let turn {
            frameTurn = turn
            if !prepareReader(of: buffer, turn) { return }
        }
        let now = MediaTime.now
        absence = nil
        // A compositor may go by another clock.
        let time = time <= now && now - time < .seconds(1) ? time : now
        let found = hint
        hint = DamageRegion()
        let frame = reader?.frames.takeFree { HeapMemory(byteCount: $0) }
        guard let frame else { return }
        // A frame that is upside down has its damage in coordinates of which the protocol doesn't speak.
        let damage = reader?.read(
            buffer.plane(isUpsideDown: isUpsideDown), within: waitsForDamage && !isUpsideDown ? found : nil,
            into: frame,
            isWanted: wantsWhole)
        let isPicture = wantsWhole || damage?.isEmpty == false
        schedule.copied(at: time, isPicture: isPicture)
        if isPicture { handOn(frame, at: time, damage, deliver) }
    }

    private func handOn(_ frame: Frame, at time: MediaTime, _ damage: DamageRegion?, _ deliver: (Picture) -> Void) {
        let picture = Picture(
            buffer: frame.lend(control), time: time, damage: wantsWhole ? nil : damage, number: pictureCount)
        pictureCount += 1
        wantsWhole = false
        lastFrame = frame
        deliver(picture)
    }
}

/// While nothing can be seen: after a moment the last picture stands for it.
extension WlrLoop {
    private var absenceDeadline: MediaTime? { absence.map { $0.since + Self.absenceLimit } }

    private func isLastingAbsence(now: MediaTime) -> Bool { absenceDeadline.map { now >= $0 } ?? false }

    private func isAbsent(_ reason: SourceVisibility, since: MediaTime) {
        let since = absence?.since ?? since
        let now = MediaTime.now
        let pause = now - since >= Self.absenceLimit ? Self.searchInterval : Self.retryInterval
        absence = (since, reason, now + pause)
    }

    private func tellVisibility(now: MediaTime) {
        let visibility = isLastingAbsence(now: now) ? absence?.reason ?? .visible : .visible
        guard visibility != toldVisibility else { return }
        toldVisibility = visibility
        onVisibility?(visibility)
    }
}
