import BeamMedia

/// Keeps sound and picture in step: how long pictures are held for the sound, and how late the sound has to be at least
/// for the picture. Both are compared by their latencies: from the host's time until they are seen or heard, on this
/// machine's clock.
public struct SoundSync: Sendable {
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// The sound waits for the picture. The picture waits for the sound by `longestPictureHold` at most.
        case picture
        /// The picture also waits for the sound, by `longestSoundHold` at most.
        case sound
        /// Neither waits.
        case off
    }

    /// How long the picture waits for the sound at most, unless the person prefers the sound.
    public static let longestPictureHold = Duration.milliseconds(10)
    /// How long it waits then.
    public static let longestSoundHold = Duration.milliseconds(200)

    /// Medians are those of about 2 s.
    private static let memory = Duration.seconds(2)
    /// The first pictures say nothing, because the window is only being opened: sound that waited for them would be late for
    /// a long time.
    private static let settling = Duration.seconds(1)
    /// Without sound for so long, pictures aren't held.
    private static let soundPatience = Duration.seconds(1)
    /// The sound may be later than the picture by this in mode `picture`: nobody sees it, and the picture is sooner.
    private static let tolerance = Duration.milliseconds(5)
    /// The hold's change with each picture.
    private static let step = Duration.milliseconds(1)
    /// The hold and the sound's latency stay where they are until they are wrong by more than this.
    private static let deadband = Duration.milliseconds(2)
    /// Latencies beyond this are no latencies: the host's clock or its times are wrong.
    private static let plausible: ClosedRange<Duration> = .seconds(-1) ... .seconds(10)

    public var mode: Mode {
        didSet { if mode != oldValue { aim() } }
    }
    /// How long pictures are to be held beyond their playout time. It moves by 1 ms a picture.
    public private(set) var pictureHold = Duration.zero
    /// For `SoundBuffer.leastLatency`.
    public private(set) var leastSoundLatency: Duration?

    private var wantedHold = Duration.zero
    /// Of pictures: as they were seen, and without the time for which they were held.
    private var shown = RecentMedian()
    private var unheld = RecentMedian()
    /// Of sound: as it was heard, and as the network alone would allow.
    private var heard = RecentMedian()
    private var natural = RecentMedian()
    private var lastSound: MediaTime?
    /// What the sound waits for until `settling` is over.
    private let pictureBuffer: Duration
    private var firstPicture: MediaTime?

    /// - Parameter pictureBuffer: how late pictures are meant to be; zero: as soon as they can.
    public init(mode: Mode = .picture, pictureBuffer: Duration = .zero) {
        self.mode = mode
        self.pictureBuffer = pictureBuffer
        aim()
    }

    /// The sound's latency minus the picture's, both as medians of 2 s: positive if the sound is late. Nil while one of both
    /// is unknown, and without sound.
    public func skew(now: MediaTime) -> Duration? {
        guard let lastSound, now - lastSound <= Self.soundPatience, let heard = heard.value, let shown = shown.value
        else { return nil }
        return heard - shown
    }

    /// A picture is in the window.
    ///
    /// - Parameters:
    ///   - latency: since its capture, the hold included; nil if the host's clock isn't known.
    ///   - held: what `pictureHold` was when the picture got its playout time.
    public mutating func pictureShown(latency: Duration?, held: Duration, now: MediaTime) {
        let first = firstPicture ?? now
        firstPicture = first
        if now - first >= Self.settling, let latency, Self.plausible.contains(latency) {
            shown.add(latency, now: now)
            unheld.add(latency - min(max(held, .zero), Self.longestSoundHold), now: now)
        }
        if let lastSound, now - lastSound > Self.soundPatience {
            self.lastSound = nil
            heard.removeAll()
            natural.removeAll()
        }
        aim()
        pictureHold += min(max(wantedHold - pictureHold, .zero - Self.step), Self.step)
    }

    /// Sound plays. To be called several times a second, with `SoundBuffer.statistics`.
    ///
    /// - Parameters:
    ///   - latency: `SoundStatistics.latency`.
    ///   - natural: `SoundStatistics.naturalLatency`.
    public mutating func soundPlayed(latency: Duration?, natural: Duration?, now: MediaTime) {
        guard let latency, let natural, Self.plausible.contains(latency), Self.plausible.contains(natural) else {
            return
        }
        lastSound = now
        heard.add(latency, now: now)
        self.natural.add(natural, now: now)
    }

    /// Decides what both are to wait.
    private mutating func aim() {
        guard mode != .off, let picture = unheld.value else {
            wantedHold = .zero
            leastSoundLatency = mode == .off || pictureBuffer <= .zero ? nil : pictureBuffer
            return
        }
        let wanted: Duration
        if let natural = natural.value, lastSound != nil {
            let isForSound = mode == .sound
            let lag = natural - picture - (isForSound ? .zero : Self.tolerance)
            wanted = min(max(lag, .zero), isForSound ? Self.longestSoundHold : Self.longestPictureHold)
        } else {
            wanted = .zero
        }
        if wanted == .zero || Self.magnitude(wanted - wantedHold) > Self.deadband { wantedHold = wanted }
        let least = min(max(picture + wantedHold, .zero), SoundBuffer.longestLatency)
        if let present = leastSoundLatency, Self.magnitude(least - present) <= Self.deadband { return }
        leastSoundLatency = least
    }

    private static func magnitude(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }

    /// The median of the values of the last 2 s; of the last ones, if there were none since.
    private struct RecentMedian: Sendable {
        /// Values closer to each other than this are left out, so that `capacity` lasts for 2 s.
        private static let interval = Duration.milliseconds(15)
        private static let capacity = 140

        private var values = Ring<(value: Duration, at: MediaTime)>(capacity: capacity, filler: (.zero, .zero))
        private var sorted: [Duration] = []
        private(set) var value: Duration?

        mutating func add(_ new: Duration, now: MediaTime) {
            if !values.isEmpty, now - values[back: 0].at < Self.interval, now >= values[back: 0].at { return }
            values.append((new, now))
            sorted.removeAll(keepingCapacity: true)
            for back in 0..<values.count {
                let entry = values[back: back]
                if now - entry.at > SoundSync.memory { break }
                sorted.append(entry.value)
            }
            sorted.sort()
            value = sorted[sorted.count / 2]
        }

        mutating func removeAll() {
            values.removeAll()
            value = nil
        }
    }
}
