import BeamMedia

/// The viewer's jitter buffer for sound: decides what is decoded next, how long packets wait, and how fast they are
/// played. Owned by the thread that plays.
///
/// The delay of a packet is the time from its place on the host's timeline (`SoundTimeline`) until it is played. It is the
/// delay that nearly all recent packets needed (`SoundLateness`) and a margin, or more if the picture is later
/// (`leastLatency`). While sound plays, the delay moves by the resampler's ratio alone (`SoundPace`); after silence it is
/// set exactly. A packet that isn't there when it is needed is replaced by concealment if its successors have arrived. Else
/// pieces of 2.5 ms are inserted before it until it comes: it is played whole, and the delay grows by those pieces.
///
/// Times inside are in seconds since the first packet, on this machine's clock.
public struct SoundBuffer: Sendable {
    /// What to play next.
    public enum Step: Sendable, Equatable {
        /// Decode this packet. `begins`: reset the decoder first, because the packet doesn't continue what was played.
        case decode(ReceivedSound, begins: Bool)
        /// Let the decoder make up so many samples in place of what is missing: a multiple of `piece`, and a packet at most.
        case conceal(samples: Int)
        /// Play this many samples of silence, or fewer if the device wants no more for now, and ask again. What was played
        /// before has to fade out, for example over 10 ms of concealment.
        case silence(samples: Int)
    }

    /// The longest delay by jitter: later packets aren't waited for.
    public static let longestDelay = Duration.milliseconds(200)
    /// The highest `leastLatency`: what `--buffer` delays the picture by at most.
    public static let longestLatency = Duration.seconds(2)

    /// The length of a packet.
    package static let packet = SoundBlock.duration.inSeconds
    /// The shortest concealment, in samples: 2.5 ms, the shortest frame of Opus.
    public static let piece = 120
    static let piecesPerPacket = SoundBlock.length / piece
    private static let pieceTime = packet / Double(piecesPerPacket)
    /// A missing packet is waited for even if its successors are there, for the length of a packet at most, if the delay is
    /// to grow by this at least: at once is better than slowly.
    private static let urgentGrowth = 0.005
    /// A packet that is early by more than this after a jump of the stamps waits for its time.
    private static let stampError = 0.001
    /// After this many concealed pieces in a row, 60 ms, there is silence: concealment is a drone by then.
    private static let mostConcealed = 6 * piecesPerPacket
    /// After a stall of more than this the delay is set anew instead of playing all that was late.
    private static let longestStall = 0.2
    /// After so many packets in a row that come too late, and none in time, their numbers are believed.
    private static let mostStrays = 10
    /// After so many packets in a row that were too late as soon as they came, they are played with a longer delay.
    private static let mostHopeless = 5
    /// A power of two.
    private static let askedCount = 64

    private enum Phase {
        /// Nothing plays. `stalled`: since then, because packets were late; nil after the sound's end.
        case silent(stalled: Double?)
        case playing
    }

    /// A packet that wasn't there when it was asked for.
    private struct Asked {
        var number: UInt32
        /// When it was asked for, and what the delay was then.
        var time: Double
        var delay: Double
    }

    private var window = SoundWindow(next: 0)
    private var hasBegun = false
    private var timeline = SoundTimeline(epoch: .zero)
    private var delay = SoundDelay()
    private var pace = SoundPace()
    private var phase = Phase.silent(stalled: nil)
    private var counts = SoundStatistics()
    /// The missing packets that were asked for lately, by number. A ring.
    private var asked = [Asked?](repeating: nil, count: askedCount)
    private var lastAsked: UInt32?
    /// Pieces that were concealed in a row.
    private var concealedRun = 0
    /// Of these, how many were put in before the next packet, and since when.
    private var held = 0
    private var heldSince = 0.0
    private var strays = 0
    /// Packets in a row that were too late although nothing later had come.
    private var hopeless = 0
    private var isReduced = false
    /// How long packets wait; a mean.
    private var slack = 0.0
    /// The next beginning sets the delay exactly, and leaves out what is older.
    private var isCuttingShort = false
    /// See `interrupt`.
    private var isInterrupted = false

    public init() {}

    /// The sound is to be heard no sooner than this after it was heard at the host, up to `longestLatency`; nil: as soon as
    /// the network allows. Ignored while the host's clock isn't known.
    public var leastLatency: Duration? {
        get { delay.leastLatency }
        set { delay.leastLatency = newValue.map { min(max($0, .zero), Self.longestLatency) } }
    }

    /// Samples that the resampler takes for each that it gives: 0.997 to 1.003.
    public var ratio: Double { pace.ratio }

    public var statistics: SoundStatistics {
        var statistics = counts
        statistics.buffer = .seconds(clamping: slack)
        statistics.wantedBuffer = .seconds(clamping: max(0, slack + delay.network - pace.delay))
        statistics.driftPPM = pace.clockDrift * 1e6
        if counts.played > 0 {
            statistics.latency = delay.latency(at: pace.delay).map { .seconds(clamping: $0) }
            statistics.naturalLatency = delay.latency(at: delay.network).map { .seconds(clamping: $0) }
        }
        return statistics
    }

    // MARK: Arrival

    /// Adds a packet: by itself, repeated or retransmitted, in any order.
    public mutating func put(_ sound: ReceivedSound, now: MediaTime) {
        guard sound.opus.count <= SoundWindow.longestPacket else { return }
        if !hasBegun {
            hasBegun = true
            window.restart(at: sound.number)
            timeline = SoundTimeline(epoch: now)
        }
        if isInterrupted {
            isInterrupted = false
            return restart(with: sound)
        }
        // What came before the first packet in order, but after it in time.
        if counts.played == 0, concealedRun == 0 { window.begin(with: sound.number) }
        switch window.put(sound) {
        case .stored:
            strays = 0
            learnLateness(of: sound, now: now)
        case .behind:
            strays += 1
            if strays >= Self.mostStrays {
                restart(with: sound)
            } else if learnLateness(of: sound, now: now) {
                counts.lost &-= 1
            }
        case .beyond: restart(with: sound)
        case .duplicate: break
        }
    }

    /// Notes by how much a packet was late that had been asked for; false if it hadn't.
    @discardableResult
    private mutating func learnLateness(of sound: ReceivedSound, now: MediaTime) -> Bool {
        let place = Self.askedPlace(sound.number)
        guard let missed = asked[place], missed.number == sound.number else { return false }
        asked[place] = nil
        counts.late &+= 1
        // If it had arrived before, it was handed over too late.
        let arrival = timeline.seconds(sound.arrival)
        let lateness = (arrival > missed.time ? arrival : timeline.seconds(now)) - missed.time
        if lateness <= Self.longestDelay.inSeconds { delay.learn(missed.delay + max(0, lateness)) }
        return true
    }

    /// The numbers have jumped, or more waits than can be kept, because nothing is played.
    private mutating func restart(with sound: ReceivedSound) {
        counts.dropped &+= UInt64(clamping: window.count)
        window.restart(at: sound.number)
        _ = window.put(sound)
        strays = 0
        timeline.renumber()
        cutShort()
    }

    // MARK: Playing

    /// What to play next, when everything that was given before has been played.
    ///
    /// - Parameters:
    ///   - filled: samples that the device's present callback has got already.
    ///   - latency: from the callback until its first sample is heard.
    ///   - now: the time of the callback, the same for all calls within one.
    public mutating func next(filled: Int, latency: Duration, now: MediaTime) -> Step {
        guard hasBegun else { return .silence(samples: SoundBlock.length) }
        let asked = timeline.seconds(now)
        // When the next sample is played, less the device's latency. Callbacks come irregularly, so this is noisy.
        let time = asked + Double(min(max(filled, 0), SoundBlock.sampleRate)) / Double(SoundBlock.sampleRate)
        delay.noteDevice(latency: latency)
        guard case .playing = phase else { return begin(time, asked: asked) }
        if delay.needsGap(at: pace.delay, time) {
            cutShort()
            return begin(time, asked: asked)
        }
        while case .playing = phase {
            if let sound = window[0] {
                let place = timeline.place(sound)
                if !place.isContinuous {
                    let error = place.time + pace.delay - time
                    if error > Self.stampError {
                        // There was silence between the packets, and its beginning was lost.
                        silence(stalled: nil)
                        break
                    }
                    pace.begin(at: time - place.time)
                }
                if time - place.time > delay.longest + Self.packet {
                    // The device stood still.
                    cutShort()
                    break
                }
                return play(sound, at: place, time, asked: asked, begins: !place.isContinuous)
            }
            if let step = conceal(time, asked: asked) { return step }
        }
        return begin(time, asked: asked)
    }

    /// Nothing is sent for a while because it isn't wanted: the next packet's number has nothing to do with those before.
    public mutating func interrupt() { isInterrupted = true }

    /// The device has stood still (`SoundDevicePace`), or is another one, so what waits is old: begins anew with the newest
    /// packets. That says nothing of the network. Call it before `next`.
    public mutating func deviceStalled() {
        // What is missing before them was passed over here, for lack of room.
        if let old = window.lastRunOffset {
            counts.dropped &+= UInt64(clamping: old)
            window.advance(by: old)
        }
        for place in asked.indices { asked[place] = nil }
        lastAsked = nil
        held = 0
        concealedRun = 0
        delay.forgetDevice()
        cutShort()
    }

    private mutating func play(
        _ sound: ReceivedSound, at place: SoundTimeline.Place, _ time: Double, asked: Double, begins: Bool
    ) -> Step {
        pace.observe(time - place.time)
        let slack = asked - timeline.seconds(sound.arrival)
        self.slack += (slack - self.slack) / (counts.played < 50 ? 4 : 50)
        // If it was asked for before, its lateness is known since it came.
        if lastAsked != sound.number { delay.learn(pace.delay - slack) }
        countConcealed(pieces: held)
        delay.follow()
        if let offset = sound.clockOffset {
            delay.noteHost(shift: timeline.seconds(sound.time + offset) - place.time)
        }
        pace.steer(to: delay.wanted)
        timeline.pass(sound, at: place)
        window.advance(by: 1)
        counts.played &+= 1
        concealedRun = 0
        held = 0
        hopeless = 0
        let resets = begins || sound.begins || sound.isReduced != isReduced
        isReduced = sound.isReduced
        if sound.ends { silence(stalled: nil) }
        return .decode(sound, begins: resets)
    }

    /// What to play in place of the next packet, which is missing; nil if the caller is to look again.
    private mutating func conceal(_ time: Double, asked: Double) -> Step? {
        if held == 0 { note(window.next, time: asked) }
        let isUrgent = delay.wanted > pace.delay + Self.urgentGrowth
        let isAwaited = window.isEmpty || isUrgent && held < Self.piecesPerPacket
        if !isAwaited, held >= Self.piecesPerPacket {
            // It was concealed already, when nothing after it was there either.
            passLost(concealedBefore: Self.piecesPerPacket)
            return nil
        }
        guard concealedRun < Self.mostConcealed else {
            silence(stalled: held > 0 ? heldSince : time)
            return nil
        }
        var pieces = Self.piecesPerPacket - held
        if isAwaited {
            if held == 0 {
                heldSince = time
                if window.isEmpty { counts.underruns &+= 1 }
            }
            // A packet is late by little, mostly. If not, longer pieces sound better.
            pieces = min(max(held, 1), Self.piecesPerPacket)
            held += pieces
            pace.shift(by: Double(pieces) * Self.pieceTime)
        } else {
            passLost(concealedBefore: held)
        }
        let before = concealedRun
        concealedRun += pieces
        if concealedRun / Self.piecesPerPacket > before / Self.piecesPerPacket {
            pace.observe(nil)
            pace.steer(to: delay.wanted)
        }
        return .conceal(samples: pieces * Self.piece)
    }

    /// The next packet is lost. So many pieces that were put in before it are in its place now.
    private mutating func passLost(concealedBefore pieces: Int) {
        window.advance(by: 1)
        counts.lost &+= 1
        countConcealed(pieces: Self.piecesPerPacket)
        held -= pieces
        pace.shift(by: -Double(pieces) * Self.pieceTime)
    }

    private mutating func countConcealed(pieces: Int) {
        counts.concealedSamples &+= UInt64(clamping: pieces * Self.piece)
    }

    private mutating func countConcealed(packets: Int) { countConcealed(pieces: packets * Self.piecesPerPacket) }

    private static func askedPlace(_ number: UInt32) -> Int { Int(truncatingIfNeeded: number) & (askedCount - 1) }

    private mutating func note(_ number: UInt32, time: Double) {
        lastAsked = number
        asked[Self.askedPlace(number)] = Asked(number: number, time: time, delay: pace.delay)
    }

    private mutating func silence(stalled: Double?) {
        phase = .silent(stalled: stalled)
        delay.forgetError()
    }

    /// Sets the delay anew: by silence if it is to be longer, and leaving out packets if shorter.
    private mutating func cutShort() {
        isCuttingShort = true
        silence(stalled: nil)
    }

    // MARK: Silence

    /// Plays the first packet that waits, when it is due.
    private mutating func begin(_ time: Double, asked: Double) -> Step {
        guard case .silent(let stalled) = phase else { return .silence(samples: SoundBlock.length) }
        while let offset = window.firstOffset, let sound = window[offset] {
            let place = timeline.place(sound)
            if let offset = sound.clockOffset {
                delay.noteFirst(hostShift: timeline.seconds(sound.time + offset) - place.time)
            }
            let due = place.time + delay.wanted
            if time < due {
                let samples = Int(clamping: ((due - time) * Double(SoundBlock.sampleRate)).rounded())
                if samples > 0 { return .silence(samples: min(samples, SoundBlock.length)) }
            }
            // After a long stall only the newest is played; after a short one all that isn't too late.
            let isLong = isCuttingShort || stalled.map { time - $0 > Self.longestStall } ?? false
            let late = isCuttingShort ? Self.stampError : Self.packet
            if time > place.time + delay.longest || isLong && time > due + late && window.count > 1 {
                drop(offset, sound, at: place, time)
                continue
            }
            pass(offset, before: sound, at: place, stalled: stalled, time)
            phase = .playing
            isCuttingShort = false
            pace.begin(at: time - place.time)
            return play(sound, at: place, time, asked: asked, begins: true)
        }
        return .silence(samples: SoundBlock.length)
    }

    /// Leaves out a packet that is too late, and what is missing before it.
    private mutating func drop(
        _ missing: Int, _ sound: ReceivedSound, at place: SoundTimeline.Place, _ time: Double
    ) {
        counts.dropped &+= 1
        counts.lost &+= UInt64(clamping: missing)
        // Leaving out what is there, to be in step, makes up nothing.
        countConcealed(packets: isCuttingShort ? missing : missing + 1)
        held = 0
        concealedRun = 0
        window.advance(by: missing + 1)
        guard window.isEmpty else { return }
        // Even the newest is too late. If that goes on, the path has become longer.
        hopeless += 1
        if hopeless >= Self.mostHopeless { delay.relearn(at: time - place.time) }
    }

    /// Counts the packets that are missing before `sound`, and what was played in their place.
    private mutating func pass(
        _ missing: Int, before sound: ReceivedSound, at place: SoundTimeline.Place, stalled: Double?, _ time: Double
    ) {
        counts.lost &+= UInt64(clamping: missing)
        if held == 0 {
            countConcealed(packets: missing)
        } else if place.isContinuous, let stalled {
            countConcealed(pieces: Int(clamping: ((time - stalled) / Self.pieceTime).rounded()))
        } else {
            // The end was lost, and silence followed.
            countConcealed(pieces: min(held, missing * Self.piecesPerPacket))
        }
        held = 0
        concealedRun = 0
        window.advance(by: missing)
        // The first one was asked for. The others would have been, in their turn.
        let number = sound.number &- UInt32(clamping: missing)
        for offset in 1..<max(1, min(missing, Self.askedCount)) {
            let turn = place.time - Double(missing - offset) * Self.packet + pace.delay
            note(number &+ UInt32(clamping: offset), time: turn)
        }
    }
}
