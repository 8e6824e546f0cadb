import BeamMedia

/// Decides what is sent less of while the machine can't send everything to all viewers: first bits, then frames, then places.
///
/// Without it the machine falls behind for everybody at once: frames arrive late, overflow the sockets, are asked for
/// again, and that is more to send still. So a ceiling bounds the bits a second that leave for all viewers together: what
/// was sent when the machine fell behind, less a step, and less again until it keeps up. The ceiling isn't lowered beyond an
/// eighth of the options' rate for each viewer: then it sends every other frame, then every third, and then lets in nobody
/// else. It ends nobody's stream.
///
/// There is room again when a second has passed without a sign of load. Then each of it is taken back, the last one first.
/// How much the ceiling rises at once follows from how busy the sending thread is, so that it stops below the point where
/// the machine falls behind; a rise that had to be taken back is tried again later each time. The ceiling is for all viewers
/// together, so whoever leaves makes room for the others at once.
///
/// Loss that nearly all viewers have at once is a sign of it, too: of what they share, which is this machine, its network
/// card, or the machine that all of them run on. It lowers the ceiling only. If less is lost as little then, the loss has
/// another cause, and is ignored for a while.
///
/// A pure value: time is an argument. What the machine measures of itself counts, so that a viewer changes it only by what
/// it makes the machine do, which its limits bound; and of loss what three quarters of all addresses report.
struct LoadShedding: Sendable {
    /// Three of the last four measurements decide, so that one long pause is no overload, and neither is one between two
    /// others that aren't late.
    private static let kept = 4
    private static let decisive = 3
    /// A machine this late, or whose sending thread is this busy, is behind. A frame is 16 to 33 ms long.
    private static let late = Duration.milliseconds(60)
    private static let busy = 0.92
    /// Later than this, the ceiling falls in larger steps.
    private static let veryLate = Duration.milliseconds(200)
    /// A machine less late and less busy has room.
    private static let inTime = Duration.milliseconds(20)
    private static let roomy = 0.75
    /// How busy the thread may become by raising the ceiling.
    private static let aim = 0.8
    private static let usualStep = 0.7
    private static let largeStep = 0.5
    /// One step leaves this part of the ceiling at the least.
    private static let mostAtOnce = 0.25
    private static let leastRaise = 1.05
    private static let mostRaise = 2.0
    /// The same after one that had to be taken back.
    private static let nextRaise = 1.15
    /// The ceiling leaves this share of the options' rate to each viewer.
    private static let leastShare = 1.0 / 8
    private static let mostDivisor = 3
    /// A raise that is taken back within this time came too early: the next one waits, longer each time.
    private static let trialTime = Duration.seconds(5)
    private static let firstPause = Duration.seconds(8)
    private static let longestPause = Duration.seconds(64)
    /// While less than this part of the ceiling is sent, raising it tells nothing, and isn't urgent.
    private static let usedShare = 0.4
    private static let unusedTime = Duration.seconds(5)
    /// Above the options' rate: headers, parity and retransmissions.
    private static let overhead = 1.5

    /// Loss of nearly all viewers from this share on counts, until it is found to have another cause: that it has, shows
    /// if more than `sameLoss` of it is left `lossTime` after the ceiling has fallen.
    private static let heavyLoss = 0.05
    private static let sameLoss = 0.7
    private static let lossTime = Duration.seconds(3)
    /// Then it is ignored for this long, and twice as long each time, up to `longestIgnorance`.
    private static let firstIgnorance = Duration.seconds(60)
    private static let longestIgnorance = Duration.seconds(960)

    /// The ceiling fell because of loss.
    private struct Trial: Sendable {
        var loss: Double
        var ceiling: Double?
        var since: MediaTime
    }

    /// The most bits a second that may leave for all viewers together; nil: no bound.
    private(set) var ceiling: Double?
    /// One of this many frames is sent.
    private(set) var divisor = 1
    /// Nobody else is let in.
    private(set) var isClosed = false

    private var recent: [MachineLoad] = []
    private var changedAt = MediaTime.zero
    private var raisedAt: MediaTime?
    private var pausedUntil: MediaTime?
    private var pause = Duration.zero
    private var trial: Trial?
    private var lossIgnoredUntil: MediaTime?
    private var ignorance = firstIgnorance

    var sheds: Shedding {
        if isClosed { return .places }
        if divisor > 1 { return .frames }
        return ceiling == nil ? .nothing : .rate
    }

    /// Takes a measurement. True if something has changed.
    ///
    /// - Parameters:
    ///   - sent: bits a second that have left since the last one, to all viewers together.
    ///   - viewers: how many get the stream.
    ///   - bitRate: the options' bits a second.
    ///   - loss: the share of datagrams that nearly all viewers lose at least; nil: not known, or it has another cause.
    mutating func take(
        _ load: MachineLoad, sent: Double, viewers: Int, bitRate: Int, loss: Double? = nil, now: MediaTime
    ) -> Bool {
        guard viewers > 0 else {
            let before = sheds
            self = LoadShedding()
            return before != .nothing
        }
        recent.append(load)
        if recent.count > Self.kept { recent.removeFirst() }
        let wanted = Double(viewers) * Double(max(1, bitRate))
        if recent.count(where: { $0.lateness > Self.late || $0.busy > Self.busy }) >= Self.decisive {
            return shed(sent: sent, wanted: wanted, now: now)
        }
        if let loss, let verdict = judge(loss, sent: sent, wanted: wanted, now: now) { return verdict }
        guard sheds != .nothing, recent.count == Self.kept,
            recent.allSatisfy({ $0.lateness < Self.inTime && $0.busy < Self.roomy })
        else { return false }
        return comeBack(sent: sent, wanted: wanted, now: now)
    }

    /// Nil: the loss tells nothing.
    private mutating func judge(_ loss: Double, sent: Double, wanted: Double, now: MediaTime) -> Bool? {
        if let trial, now - trial.since >= Self.lossTime {
            self.trial = nil
            guard loss <= Self.sameLoss * trial.loss else {
                lossIgnoredUntil = now + ignorance
                ignorance = min(Self.longestIgnorance, ignorance * 2)
                ceiling = trial.ceiling
                return true
            }
            ignorance = Self.firstIgnorance
        }
        if let lossIgnoredUntil, now < lossIgnoredUntil { return nil }
        guard loss >= Self.heavyLoss else { return nil }
        // What is lost now left before the last step.
        guard now - changedAt >= .seconds(1) || sheds == .nothing else { return false }
        let least = wanted * Self.leastShare
        let present = min(ceiling ?? wanted * Self.overhead, max(sent, least))
        let next = max(least, present * Self.usualStep)
        guard next < ceiling ?? .infinity else { return false }
        if trial == nil { trial = Trial(loss: loss, ceiling: ceiling, since: now) }
        fellBack(now: now)
        ceiling = next
        return true
    }

    private mutating func shed(sent: Double, wanted: Double, now: MediaTime) -> Bool {
        let isVeryLate = recent.count(where: { $0.lateness > Self.veryLate }) >= Self.decisive
        fellBack(now: now)
        let least = wanted * Self.leastShare
        let present = min(ceiling ?? wanted * Self.overhead, max(sent, least))
        // Little may have been sent because nothing moved, or because so little left the machine.
        let most = (ceiling ?? wanted) * Self.mostAtOnce
        let next = max(least, most, present * (isVeryLate ? Self.largeStep : Self.usualStep))
        if next < ceiling ?? .infinity {
            ceiling = next
        } else if divisor < Self.mostDivisor {
            divisor += 1
        } else if !isClosed {
            isClosed = true
        } else {
            return false
        }
        return true
    }

    /// Less is sent from now on.
    private mutating func fellBack(now: MediaTime) {
        if let raised = raisedAt, now - raised < Self.trialTime {
            pause = min(Self.longestPause, max(Self.firstPause, pause * 2))
            pausedUntil = now + pause
        }
        raisedAt = nil
        // The next step is judged by what comes after this one.
        recent.removeAll(keepingCapacity: true)
        changedAt = now
    }

    private mutating func comeBack(sent: Double, wanted: Double, now: MediaTime) -> Bool {
        if let pausedUntil, now < pausedUntil { return false }
        // A raise that has lasted ends the growth of the pauses.
        if let raised = raisedAt, now - raised > Self.trialTime * 2 { pause = .zero }
        if isClosed {
            isClosed = false
        } else if divisor > 1 {
            divisor -= 1
        } else if let ceiling {
            // What the machine would have to do grows no faster than what is sent.
            let busy = recent.reduce(0) { max($0, $1.busy) }
            let factor = min(pause > .zero ? Self.nextRaise : Self.mostRaise, Self.aim / max(0.01, busy))
            guard factor >= Self.leastRaise else { return false }
            if sent < Self.usedShare * ceiling, now - changedAt < Self.unusedTime { return false }
            let next = ceiling * factor
            self.ceiling = next < wanted * Self.overhead ? next : nil
        }
        recent.removeAll(keepingCapacity: true)
        changedAt = now
        raisedAt = now
        return true
    }

    /// The most bits a second of frames for each viewer; nil: no bound. `layers`: how many viewers each layer has, and the
    /// bits a second that it would take for each. Layers that take less leave the rest to the others.
    func share(_ layers: [(viewers: Int, rate: Double)]) -> Int? {
        guard let ceiling else { return nil }
        var (left, viewers) = (ceiling, layers.reduce(0) { $0 + $1.viewers })
        for layer in layers.sorted(by: { $0.rate < $1.rate }) where layer.viewers > 0 {
            let share = left / Double(viewers)
            guard layer.rate <= share else { return Int(clamping: share) }
            left -= layer.rate * Double(layer.viewers)
            viewers -= layer.viewers
        }
        return nil
    }
}
