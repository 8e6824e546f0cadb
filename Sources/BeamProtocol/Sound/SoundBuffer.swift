import BeamMedia

/// The viewer's jitter buffer for sound: decides what is decoded next, how long packets wait, and how fast they are
/// played. Owned by the thread that plays.
///
/// The delay of a packet is the time from its place on the host's timeline (`SoundTimeline`) until it is played. It is the
/// delay that nearly all recent packets needed (`SoundLateness`) and a margin, or more if the picture is later
/// (`leastLatency`). While sound plays, the delay moves by the resampler's ratio alone (`SoundPace`); after silence it is
/// set exactly. A packet that isn't there when it is needed is concealed: in its place if its successors are there, else
/// before it, so that all that was late is played.
///
/// Times inside are in seconds since the first packet, on this machine's clock.
public struct SoundBuffer: Sendable {
    /// What to play next.
    public enum Step: Sendable, Equatable {
        /// Decode this packet. `begins`: reset the decoder first, because the packet doesn't continue what was played.
        case decode(ReceivedSound, begins: Bool)
        /// Let the decoder conceal a packet, 10 ms.
        case conceal
        /// Play this many samples of silence, or fewer if the device wants no more for now, and ask again. What was played
        /// before has to fade out, for example over 10 ms of concealment.
        case silence(samples: Int)
    }

    /// The longest delay by jitter: later packets aren't waited for.
    public static let longestDelay = Duration.milliseconds(200)
    /// The highest `leastLatency`: what `--buffer` delays the picture by at most.
    public static let longestLatency = Duration.seconds(2)

    /// The length of a packet.
    static let packet = SoundBlock.duration.inSeconds
    /// The first delay of all, before anything is known of the network.
    private static let firstDelay = 0.01
    /// Added to the delay that packets needed, for what a busy machine or network has not shown yet. With callbacks of 256
    /// samples, which ask for a packet up to 5.3 ms before it is played, packets then wait for 5 ms on a quiet network.
    private static let margin = 0.002
    /// The wanted delay shrinks if it is too large by this, and by this with each packet (2 ms a second).
    private static let hysteresis = 0.0005
    private static let shrinking = 2e-5
    /// A lost packet is concealed twice, to gain a packet's delay at once, if at least this much is wanting.
    private static let urgentGrowth = 0.005
    /// After this many concealed packets in a row there is silence: concealment is a drone by then.
    private static let mostConcealed = 6
    /// After a stall of more than this the delay is set anew instead of playing all that was late.
    private static let longestStall = 0.2
    /// A delay that is off by this for this long is changed at once, with a gap, if it is for the picture.
    private static let largeError = 0.08
    private static let errorPatience = 1.0
    /// After so many packets in a row that come too late, and none in time, their numbers are believed.
    private static let mostStrays = 10
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
    private var lateness = SoundLateness()
    private var pace = SoundPace()
    private var phase = Phase.silent(stalled: nil)
    private var counts = SoundStatistics()
    /// The delay that the network demands. It follows `lateness`, and shrinks slowly.
    private var networkDelay = firstDelay
    /// The missing packets that were asked for lately, by number. A ring.
    private var asked = [Asked?](repeating: nil, count: askedCount)
    private var lastAsked: UInt32?
    /// Concealed in a row.
    private var concealedRun = 0
    /// Of these, how many were put in before the next packet, and since when.
    private var held = 0
    private var heldSince = 0.0
    private var strays = 0
    private var isReduced = false
    /// The time of the present callback, and when its first sample is heard.
    private var callback = (now: MediaTime.distantPast, playingAt: MediaTime.distantPast)
    /// Means, in seconds: from the time by which samples are counted until they are heard; how long packets wait; the host's
    /// time on this machine's clock less that of the timeline.
    private var device: Double?
    private var slack = 0.0
    private var hostShift: Double?
    /// The delay was raised for the picture.
    private var isRaised = false
    /// Since when the delay for the picture has a large error.
    private var errorSince: Double?
    /// The next beginning sets the delay exactly, and leaves out what is older.
    private var isCuttingShort = false

    public init() {}

    /// The sound is to be heard no sooner than this after it was heard at the host, up to `longestLatency`; nil: as soon as
    /// the network allows. Ignored while the host's clock isn't known.
    public var leastLatency: Duration? {
        didSet { leastLatency = leastLatency.map { min(max($0, .zero), Self.longestLatency) } }
    }

    /// Samples that the resampler takes for each that it gives: 0.997 to 1.003.
    public var ratio: Double { pace.ratio }

    public var statistics: SoundStatistics {
        var statistics = counts
        statistics.buffer = .seconds(clamping: slack)
        statistics.wantedBuffer = .seconds(clamping: max(0, slack + networkDelay - pace.delay))
        statistics.driftPPM = pace.drift * 1e6
        if counts.played > 0, let device, let hostShift {
            statistics.latency = .seconds(clamping: pace.delay + device - hostShift)
            statistics.naturalLatency = .seconds(clamping: networkDelay + device - hostShift)
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
        let place = Int(sound.number % UInt32(Self.askedCount))
        guard let missed = asked[place], missed.number == sound.number else { return false }
        asked[place] = nil
        counts.late &+= 1
        // If it had arrived before, it was handed over too late.
        let arrival = timeline.seconds(sound.arrival)
        let lateness = (arrival > missed.time ? arrival : timeline.seconds(now)) - missed.time
        if lateness <= Self.longestDelay.inSeconds { self.lateness.add(missed.delay + max(0, lateness)) }
        return true
    }

    /// The numbers have jumped.
    private mutating func restart(with sound: ReceivedSound) {
        counts.dropped &+= UInt64(clamping: window.count)
        window.restart(at: sound.number)
        _ = window.put(sound)
        strays = 0
        timeline.renumber()
        silence(stalled: nil)
    }

    // MARK: Playing

    /// What to play next, when everything that was given before has been played.
    ///
    /// - Parameters:
    ///   - playingAt: when the next sample is heard, on this machine's clock.
    ///   - now: the time of the device's callback, the same for all calls within one.
    public mutating func next(playingAt: MediaTime, now: MediaTime) -> Step {
        guard hasBegun else { return .silence(samples: SoundBlock.length) }
        let time = sampleTime(playingAt: playingAt, now: now)
        let asked = timeline.seconds(now)
        guard case .playing = phase else { return begin(time, asked: asked) }
        followPicture(time)
        while case .playing = phase {
            if let sound = window[0] {
                let place = timeline.place(sound)
                if !place.isContinuous {
                    let error = place.time + pace.delay - time
                    if error > Self.hysteresis {
                        // There was silence between the packets, and its beginning was lost.
                        silence(stalled: nil)
                        break
                    }
                    pace.begin(at: time - place.time)
                }
                return play(sound, at: place, time, asked: asked, begins: false)
            }
            if let step = conceal(time, asked: asked) { return step }
        }
        return begin(time, asked: asked)
    }

    /// When the next sample is played, in seconds on this machine's clock less the device's latency. Callbacks come before
    /// their samples are needed, and irregularly, so this is noisy.
    private mutating func sampleTime(playingAt: MediaTime, now: MediaTime) -> Double {
        if callback.now != now { callback = (now, playingAt) }
        let time = timeline.seconds(now) + min(max(playingAt.seconds(since: callback.playingAt), 0), Self.longestStall)
        let latency = min(max(timeline.seconds(playingAt) - time, -1), 5)
        device = device.map { $0 + (latency - $0) / 512 } ?? latency
        return time
    }

    private mutating func play(
        _ sound: ReceivedSound, at place: SoundTimeline.Place, _ time: Double, asked: Double, begins: Bool
    ) -> Step {
        pace.observe(time - place.time)
        let slack = asked - timeline.seconds(sound.arrival)
        self.slack += (slack - self.slack) / (counts.played < 50 ? 4 : 50)
        // If it was asked for before, its lateness is known since it came.
        if lastAsked != sound.number { lateness.add(pace.delay - slack) }
        counts.concealed &+= UInt64(clamping: held)
        followNetwork()
        if let offset = sound.clockOffset {
            let shift = timeline.seconds(sound.time + offset) - place.time
            let difference = shift - (hostShift ?? shift)
            // The offset is measured again and again, so its steps are smoothed; a jump of the stamps isn't.
            hostShift = abs(difference) > Self.largeError ? shift : (hostShift ?? shift) + difference / 512
        }
        pace.steer(to: wantedDelay)
        timeline.pass(sound, at: place)
        window.advance(by: 1)
        counts.played &+= 1
        concealedRun = 0
        held = 0
        let resets = begins || sound.begins || sound.isReduced != isReduced
        isReduced = sound.isReduced
        if sound.ends { silence(stalled: nil) }
        return .decode(sound, begins: resets)
    }

    /// What to play in place of the next packet, which is missing; nil if the caller is to look again.
    private mutating func conceal(_ time: Double, asked: Double) -> Step? {
        if held == 0 { note(window.next, time: asked) }
        if held > 0, !window.isEmpty {
            // It was concealed already, when nothing after it was there either.
            window.advance(by: 1)
            held -= 1
            counts.lost &+= 1
            counts.concealed &+= 1
            pace.shift(by: -Self.packet)
            return nil
        }
        guard concealedRun < Self.mostConcealed else {
            silence(stalled: held > 0 ? heldSince : time)
            return nil
        }
        concealedRun += 1
        pace.observe(nil)
        pace.steer(to: wantedDelay)
        if window.isEmpty || wantedDelay > pace.delay + Self.urgentGrowth {
            if held == 0 {
                heldSince = time
                if window.isEmpty { counts.underruns &+= 1 }
            }
            held += 1
            pace.shift(by: Self.packet)
        } else {
            window.advance(by: 1)
            counts.lost &+= 1
            counts.concealed &+= 1
        }
        return .conceal
    }

    private mutating func note(_ number: UInt32, time: Double) {
        lastAsked = number
        asked[Int(number % UInt32(Self.askedCount))] = Asked(number: number, time: time, delay: pace.delay)
    }

    private mutating func silence(stalled: Double?) {
        phase = .silent(stalled: stalled)
        errorSince = nil
    }

    // MARK: Silence

    /// Plays the first packet that waits, when it is due.
    private mutating func begin(_ time: Double, asked: Double) -> Step {
        guard case .silent(let stalled) = phase else { return .silence(samples: SoundBlock.length) }
        while let offset = window.firstOffset, let sound = window[offset] {
            let place = timeline.place(sound)
            let due = place.time + wantedDelay
            if time < due {
                let samples = Int(clamping: ((due - time) * Double(SoundBlock.sampleRate)).rounded())
                if samples > 0 { return .silence(samples: min(samples, SoundBlock.length)) }
            }
            // After a long stall only the newest is played; after a short one all that isn't too late.
            let isLong = isCuttingShort || stalled.map { time - $0 > Self.longestStall } ?? false
            if time > place.time + longestDelay || isLong && time > due + Self.packet && window.count > 1 {
                counts.dropped &+= 1
                pass(offset, before: sound, at: place, stalled: stalled, time)
                window.advance(by: offset + 1)
                continue
            }
            pass(offset, before: sound, at: place, stalled: stalled, time)
            window.advance(by: offset)
            phase = .playing
            isCuttingShort = false
            errorSince = nil
            pace.begin(at: time - place.time)
            return play(sound, at: place, time, asked: asked, begins: true)
        }
        return .silence(samples: SoundBlock.length)
    }

    /// Counts the packets that are missing before `sound`, and what was played in their place.
    private mutating func pass(
        _ missing: Int, before sound: ReceivedSound, at place: SoundTimeline.Place, stalled: Double?, _ time: Double
    ) {
        counts.lost &+= UInt64(clamping: missing)
        if held == 0 {
            counts.concealed &+= UInt64(clamping: missing)
        } else if place.isContinuous, let stalled {
            counts.concealed &+= UInt64(clamping: ((time - stalled) / Self.packet).rounded())
        } else {
            // The end was lost, and silence followed.
            counts.concealed &+= UInt64(clamping: min(held, missing))
        }
        held = 0
        concealedRun = 0
        // The first one was asked for. The others would have been, in their turn.
        let number = sound.number &- UInt32(clamping: missing)
        for offset in 1..<max(1, min(missing, Self.askedCount)) {
            let turn = place.time - Double(missing - offset) * Self.packet + pace.delay
            note(number &+ UInt32(clamping: offset), time: turn)
        }
    }

    // MARK: Delay

    /// The present aim of the delay.
    private var wantedDelay: Double { max(networkDelay, pictureDelay ?? networkDelay) }

    /// The longest delay at which late packets are played.
    private var longestDelay: Double {
        let least = lateness.isEmpty ? 0 : lateness.least
        return max(least + Self.longestDelay.inSeconds, wantedDelay + 5 * Self.packet)
    }

    /// The delay that `leastLatency` asks for.
    private var pictureDelay: Double? {
        guard let leastLatency, let device, let hostShift else { return nil }
        // The stamps are the host's choice, the bound is not.
        let most = networkDelay + Self.longestLatency.inSeconds
        return min(leastLatency.inSeconds - device + hostShift, most)
    }

    private mutating func followNetwork() {
        guard !lateness.isEmpty else { return }
        let wanted = lateness.wanted + Self.margin
        if wanted >= networkDelay {
            networkDelay = wanted
        } else if wanted < networkDelay - Self.hysteresis {
            networkDelay = max(wanted, networkDelay - Self.shrinking)
        }
        networkDelay = min(networkDelay, lateness.least + Self.longestDelay.inSeconds)
    }

    /// Changes the delay with a gap, once, if it has been far from what the picture needs for a while: silence until it is
    /// long enough, or packets left out until it is short enough.
    private mutating func followPicture(_ time: Double) {
        let missing = wantedDelay - pace.delay
        if wantedDelay > networkDelay + Self.largeError / 2 {
            isRaised = true
        } else if pace.delay < networkDelay + Self.largeError / 2 {
            isRaised = false
        }
        let isLarge = isRaised && abs(missing) > Self.largeError
        guard isLarge else { return errorSince = nil }
        guard let errorSince else { return self.errorSince = time }
        guard time - errorSince > Self.errorPatience else { return }
        isCuttingShort = true
        silence(stalled: nil)
    }
}
