import BeamMedia
import BeamWire

/// The newest frames of a simulcast layer, as browsers read them at their own pace and ask for their packets again. A
/// frame's *position* counts up from 0 and isn't sent.
struct BrowserLayer: Sendable {
    struct Frame: Sendable {
        let encoded: EncodedFrame
        /// RTP's.
        let timestamp: UInt32
        let pushed: MediaTime
        /// Counts the frames of all layers, as timestamps do: a browser never gets one that is older than its last.
        let order: Int
        /// Cut when the first browser needs it.
        var picture: RTPPicture?
        /// A guess of the number of packets that isn't too low by much.
        let weight: Int
    }

    /// Packets that are kept, to be sent again: as many as browsers remember to be missing (about 1,000 in Chromium), and
    /// the largest keyframes.
    static let ring = 4096
    /// Frames are removed in groups, as that moves all others.
    private static let slack = 256
    /// How long after a keyframe a browser may still begin with it: what came since then leaves at once, so not longer. After
    /// that it waits for the next one, which may be asked for after `BrowserKeyframes.interval`.
    static let joinTime = BrowserKeyframes.interval / 2

    private var frames: [Frame] = []
    /// The position of `frames[0]`, and the one that the next frame gets.
    private(set) var start = 0
    var end: Int { start + frames.count }
    /// The sum of all weights.
    private var weight = 0
    /// The packets of all frames, about.
    var packetCount: Int { weight }
    private(set) var keyframePosition: Int?
    var keyframes = BrowserKeyframes()
    /// What was told last.
    var demand = StreamDemand()
    var use = LayerUse()

    func contains(_ position: Int) -> Bool { position >= start && position < end }

    subscript(position: Int) -> Frame { frames[position - start] }

    /// Adds a frame; returns its position.
    mutating func push(_ frame: EncodedFrame, timestamp: UInt32, order: Int, now: MediaTime) -> Int {
        let length = max(0, frame.unit.range.count)
        use.count(length, now: now)
        let own = length / RTPPicture.longestPayload + 1
        frames.append(Frame(encoded: frame, timestamp: timestamp, pushed: now, order: order, weight: own))
        weight += own
        if frame.isKeyframe {
            keyframePosition = end - 1
            keyframes.came()
        }
        trim()
        return end - 1
    }

    /// Keeps the newest frames that have `ring` packets together, and the newest one anyway.
    private mutating func trim() {
        guard weight > Self.ring + Self.slack || frames.count > Self.ring else { return }
        var gone = 0
        while gone < frames.count - 1,
            weight - frames[gone].weight >= Self.ring || frames.count - gone > Self.ring - Self.slack
        {
            weight -= frames[gone].weight
            gone += 1
        }
        frames.removeFirst(gone)
        start += gone
        if let keyframePosition, keyframePosition < start { self.keyframePosition = nil }
    }

    /// Nobody watches the layer.
    mutating func removeAll() {
        start = end
        frames.removeAll()
        weight = 0
        keyframePosition = nil
    }

    /// The frame's packets; nil if it can't be cut.
    mutating func picture(_ position: Int) -> RTPPicture? {
        let index = position - start
        if let picture = frames[index].picture { return picture }
        frames[index].picture = try? RTPPicture(frames[index].encoded.unit)
        // Nobody is to begin with it.
        if frames[index].picture == nil, keyframePosition == position { keyframePosition = nil }
        return frames[index].picture
    }

    /// What was sent can be sent again only if it was cut before.
    func sentPicture(_ position: Int) -> RTPPicture? {
        contains(position) ? frames[position - start].picture : nil
    }

    /// The newest keyframe's position, if a browser whose last frame was `order` can still begin with it.
    func joinPosition(after order: Int, now: MediaTime) -> Int? {
        guard let position = keyframePosition, contains(position), self[position].order > order,
            now - self[position].pushed <= Self.joinTime
        else { return nil }
        return position
    }
}

/// When a layer's encoder is asked for a keyframe: at most once a second, for all browsers together.
struct BrowserKeyframes: Sendable {
    static let interval = Duration.seconds(1)
    /// Then it is asked again, if none has come.
    private static let timeout = Duration.seconds(1)

    private(set) var due: MediaTime?
    private var last: MediaTime?

    mutating func want(now: MediaTime) {
        guard due == nil else { return }
        due = max(now, last.map { $0 + Self.interval } ?? now)
    }

    /// True if it is to be asked now. `isWanted`: a browser still waits.
    mutating func takeDue(now: MediaTime, isWanted: @autoclosure () -> Bool) -> Bool {
        guard let due, due <= now else { return false }
        guard isWanted() else {
            self.due = nil
            return false
        }
        last = now
        self.due = now + Self.timeout
        return true
    }

    /// A keyframe was made, for whomever.
    mutating func came() { due = nil }
}
