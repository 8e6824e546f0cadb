import BeamMedia

/// One of the streams that leave a host: the frames of one encoder, which any number of senders read at their own pace.
///
/// Frames stand in a ring until every sender has passed them. A frame's place in it is its *position*, which counts up from 0 and never
/// goes on the wire. The newest keyframe stays a little longer with what follows it, so that whoever joins next can begin there.
struct SimulcastLayer: Sendable {
    /// The layer that everybody gets, and the one for viewers that can't have it.
    static let full = 0
    static let reduced = 1
    static let count = StreamDemand.layerCount

    /// So long after a keyframe a viewer may still begin with it: as long as the next one would have to wait for
    /// (`KeyframeSchedule.minimumInterval`).
    static let joinTime = KeyframeSchedule.minimumInterval
    /// Frames that a joining viewer catches up with, in encoded bytes: at most about what two keyframes of a 4K screen take.
    static let joinBytes = 2 << 20

    let number: Int
    var keyframes = KeyframeSchedule()
    /// What the encoder was told last.
    var demand = StreamDemand()
    /// Somebody in the layer can't follow: until then, every other frame is one that nothing refers to.
    var temporalUntil = MediaTime(nanoseconds: .min)
    /// What can be sent again.
    private(set) var sent = SentFrames()
    /// What its frames take of a path.
    var use = LayerUse()
    /// Parity of the datagrams sent, for each viewer that it went to.
    var parityDatagrams: UInt64 = 0

    private let limits: Pacing
    private var frames: [LayerFrame] = []
    /// The position of `frames[0]`.
    private(set) var start = 0
    private var totalBytes = 0
    private var nextNumber = SequenceNumber(0)
    /// The last number that was given to a frame.
    private(set) var newest: SequenceNumber?
    private var isNewestDisposable = false
    /// Of the newest keyframe that is still here.
    private(set) var keyframePosition: Int?
    /// Memory of frames that are gone, for those that come.
    private var spare: [[UInt8]] = []

    /// Pieces of memory that are kept for the next frames: two forms and parity of the frame that is being sent and the next one.
    private static let mostSpare = 6

    init(_ number: Int, limits: Pacing) {
        self.number = number
        self.limits = limits
    }

    /// The position of the next frame that comes.
    var end: Int { start + frames.count }

    subscript(position: Int) -> LayerFrame {
        get { frames[position - start] }
        _modify { yield &frames[position - start] }
    }

    func contains(_ position: Int) -> Bool { position >= start && position < end }

    /// Encoded bytes of the frames from `position` on.
    func bytes(from position: Int) -> Int {
        guard contains(position) else { return 0 }
        let frame = frames[position - start]
        return totalBytes - frame.endByte + frame.unit.range.count
    }

    // MARK: In

    mutating func push(_ frame: EncodedFrame, now: MediaTime) {
        let length = frame.unit.range.count
        totalBytes += length
        use.count(length, now: now)
        if frame.isKeyframe { keyframePosition = end }
        frames.append(LayerFrame(encoded: frame, pushed: now, endByte: totalBytes))
    }

    /// Where a viewer that needs a keyframe begins at once, if it can: with the newest one, if that came `within` this time, was not
    /// sealed with an older key than the viewer has (`keyNumber`), and everything since is here.
    func joinPosition(within time: Duration, keyNumber: UInt16?, now: MediaTime) -> Int? {
        guard let position = keyframePosition, contains(position) else { return nil }
        let frame = frames[position - start]
        guard now - frame.pushed <= time, bytes(from: position) <= Self.joinBytes else { return nil }
        let kept = frames[(position - start)...]
        let isOpenable = kept.allSatisfy {
            !$0.isUnsendable && (keyNumber == nil || $0.keyNumber == nil || $0.keyNumber == keyNumber)
        }
        return isOpenable ? position : nil
    }

    // MARK: Cutting

    /// Cuts the frame in that form, unless it is cut already. Frames before it get their numbers first.
    mutating func cut(
        _ position: Int, as form: MediaForm, parityShare: Double, sealedBy sealer: DatagramSealer
    ) throws(FragmentationError) {
        let index = position - start
        guard frames[index].cut(form) == nil else { return }
        let number = giveNumber(index)
        var memory = spare.popLast() ?? []
        do throws(FragmentationError) {
            switch form {
            case .version1:
                let length = try Fragmenter.write(frames[index].encoded, sequence: number, to: &memory)
                frames[index].plain = LayerFrame.Cut(memory: memory, length: length)
            case .version2:
                let length = try Fragmenter.write(
                    frames[index].encoded, sequence: number, isAfterDisposable: frames[index].isAfterDisposable,
                    sealedBy: sealer, to: &memory)
                frames[index].sealed = LayerFrame.Cut(memory: memory, length: length)
                frames[index].keyNumber = sealer.keyNumber
                try addParity(index, number, share: parityShare, sealedBy: sealer)
                sent.add(
                    frames[index].encoded, number: number, isAfterDisposable: frames[index].isAfterDisposable,
                    pushed: frames[index].pushed)
            }
        } catch {
            frames[index].isUnsendable = true
            throw error
        }
    }

    private mutating func giveNumber(_ index: Int) -> SequenceNumber {
        if let number = frames[index].number { return number }
        let first = frames[...index].lastIndex { $0.number != nil }.map { $0 + 1 } ?? 0
        for unnumbered in first...index {
            frames[unnumbered].number = nextNumber
            frames[unnumbered].isAfterDisposable = isNewestDisposable
            isNewestDisposable = frames[unnumbered].unit.isDisposable
            newest = nextNumber
            nextNumber = nextNumber.next
        }
        return frames[index].number ?? nextNumber
    }

    private mutating func addParity(
        _ index: Int, _ number: SequenceNumber, share: Double, sealedBy sealer: DatagramSealer
    ) throws(FragmentationError) {
        guard share > 0 else { return }
        var memory = spare.popLast() ?? []
        let cutter = try FrameCutter(
            frames[index].encoded, as: .version2, isAfterDisposable: frames[index].isAfterDisposable)
        let length = try cutter.writeParity(
            share: share, sequence: number, sealedBy: sealer, to: &memory)
        frames[index].parity = LayerFrame.Cut(memory: memory, length: length)
        frames[index].parityShare = share
    }

    /// A sender has begun to send that frame. True for the first one.
    mutating func begin(_ position: Int) -> Bool {
        guard contains(position), !frames[position - start].hasBegun else { return false }
        frames[position - start].hasBegun = true
        return true
    }

    // MARK: Letting go

    /// Lets go of what no sender needs: frames before `needed` (nil: no sender needs any), but for those that a joining viewer may
    /// begin with, and of what is too old or too much. Answers how many frames are gone of which nothing was sent to anybody.
    mutating func release(before needed: Int?, now: MediaTime) -> Int {
        var first = needed ?? end
        if let keyframe = keyframePosition, contains(keyframe),
            now - frames[keyframe - start].pushed <= Self.joinTime, bytes(from: keyframe) <= Self.joinBytes
        {
            first = min(first, keyframe)
        }
        // Whoever is this far behind needs a keyframe anyway. The newest frame always stays.
        while first < end - 1, isTooOld(first, now: now) { first += 1 }
        return remove(first - start)
    }

    private func isTooOld(_ position: Int, now: MediaTime) -> Bool {
        guard contains(position) else { return false }
        return bytes(from: position) > 2 * limits.queueBytes
            || now - frames[position - start].pushed > limits.queueTime * 4
    }

    private mutating func remove(_ count: Int) -> Int {
        guard count > 0 else { return 0 }
        let gone = min(count, frames.count)
        var unsent = 0
        for index in 0..<gone {
            if frames[index].isWasted { unsent += 1 }
            recycle(index)
        }
        frames.removeFirst(gone)
        start += gone
        if let keyframePosition, keyframePosition < start { self.keyframePosition = nil }
        return unsent
    }

    /// Drops the frames from `position` on of which nothing was sent, since no sender will: how many those are. What comes next takes
    /// their positions.
    mutating func dropUnsent(from position: Int) -> Int {
        var count = 0
        while end > max(position, start), let last = frames.last, !last.hasBegun, last.number == nil {
            totalBytes -= last.unit.range.count
            if last.isWasted { count += 1 }
            frames.removeLast()
        }
        if let keyframePosition, keyframePosition >= end { self.keyframePosition = nil }
        return count
    }

    /// Every sender has passed the frames before `position`, or leaves them out: how many of those nobody got anything of.
    mutating func drop(before position: Int) -> Int {
        var count = 0
        for index in frames.indices.prefix(max(0, position - start)) where frames[index].isWasted {
            frames[index].isDropped = true
            count += 1
        }
        return count
    }

    /// Nobody watches any more.
    mutating func removeAll() {
        _ = remove(frames.count)
        keyframePosition = nil
    }

    private mutating func recycle(_ index: Int) {
        keep(frames[index].plain)
        keep(frames[index].sealed)
        keep(frames[index].parity)
        (frames[index].plain, frames[index].sealed, frames[index].parity) = (nil, nil, nil)
    }

    private mutating func keep(_ cut: LayerFrame.Cut?) {
        if spare.count < Self.mostSpare, let cut { spare.append(cut.memory) }
    }
}
