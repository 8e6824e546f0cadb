import BeamMedia
import BeamWire

/// A simulcast layer: the frames of one encoder, which any number of senders read at their own pace.
///
/// Frames stay in a ring until every sender has passed them. A frame's *position* in the ring counts up from 0 and
/// never goes on the wire. The newest keyframe and the frames after it stay a little longer, so that a viewer that
/// joins can begin with it.
struct SimulcastLayer: Sendable {
    /// `full` is for every viewer that can take it, `reduced` for the others.
    static let full = 0
    static let reduced = 1
    static let count = StreamDemand.layerCount

    /// How long after a keyframe a viewer may still begin with it: as long as the next keyframe may have to wait
    /// (`KeyframeSchedule.minimumInterval`).
    static let joinTime = KeyframeSchedule.minimumInterval
    /// Encoded bytes that a joining viewer may have to catch up with: about two keyframes of a 4K screen.
    static let joinBytes = 2 << 20

    let number: Int
    var keyframes = KeyframeSchedule()
    /// The demand that the encoder was told last.
    var demand = StreamDemand()
    /// Until when every other frame is disposable, because a viewer of the layer is too slow; nil while none is.
    var temporalUntil: MediaTime?
    /// Frames kept for retransmission.
    private(set) var sent = SentFrames()
    /// The measured bit rate.
    var use = LayerUse()
    /// Parity datagrams sent, counted for each viewer.
    var parityDatagrams: UInt64 = 0

    private let limits: Pacing
    private var frames: [LayerFrame] = []
    /// The position of `frames[0]`.
    private(set) var start = 0
    private var totalBytes = 0
    private var nextNumber = SequenceNumber(0)
    /// The number assigned last.
    private(set) var newest: SequenceNumber?
    private var isNewestDisposable = false
    /// The position of the newest keyframe that is still in the ring.
    private(set) var keyframePosition: Int?
    /// Memory of removed frames, reused for new ones.
    private var freeBuffers: [[UInt8]] = []

    /// Buffers kept for reuse: two forms and parity, for the frame being sent and the next one.
    private static let mostFreeBuffers = 6

    init(_ number: Int, limits: Pacing) {
        self.number = number
        self.limits = limits
    }

    /// The position of the next frame.
    var end: Int { start + frames.count }

    subscript(position: Int) -> LayerFrame {
        get { frames[position - start] }
        _modify { yield &frames[position - start] }
    }

    func contains(_ position: Int) -> Bool { position >= start && position < end }

    /// Encoded bytes of the frames from `position` to the end.
    func bytes(from position: Int) -> Int {
        guard contains(position) else { return 0 }
        let frame = frames[position - start]
        return totalBytes - frame.endByte + frame.unit.range.count
    }

    // MARK: Adding frames

    mutating func push(_ frame: EncodedFrame, now: MediaTime) {
        let length = frame.unit.range.count
        totalBytes += length
        use.count(length, now: now)
        if frame.isKeyframe { keyframePosition = end }
        frames.append(LayerFrame(encoded: frame, pushed: now, endByte: totalBytes))
    }

    /// The position of a keyframe with which a viewer can begin at once: the newest one, if it is not older than
    /// `time`, if everything since then is kept, and if nothing of that was sealed with another key than `keyNumber`.
    func joinPosition(
        within time: Duration, keyNumber: UInt16?, size: DatagramSize = .full, now: MediaTime
    ) -> Int? {
        guard let position = keyframePosition, contains(position) else { return nil }
        let frame = frames[position - start]
        guard now - frame.pushed <= time, bytes(from: position) <= Self.joinBytes else { return nil }
        let kept = frames[(position - start)...]
        let isOpenable = kept.allSatisfy {
            let sealedWith = $0.cut(.version2, size)?.keyNumber
            return !$0.isUnsendable && (keyNumber == nil || sealedWith == nil || sealedWith == keyNumber)
        }
        return isOpenable ? position : nil
    }

    // MARK: Cutting

    /// Cuts the frame in that form and to datagrams of that length, unless that is done. Earlier frames get their
    /// numbers first.
    mutating func cut(
        _ position: Int, as form: MediaForm, _ size: DatagramSize, parityShare: Double, sealedBy sealer: DatagramSealer
    ) throws(FragmentationError) {
        let index = position - start
        guard frames[index].cut(form, size) == nil else { return }
        let number = assignNumber(index)
        var memory = freeBuffers.popLast() ?? []
        do throws(FragmentationError) {
            switch form {
            case .version1:
                let length = try Fragmenter.write(frames[index].encoded, sequence: number, to: &memory)
                frames[index].keep(LayerFrame.Cut(memory: memory, length: length), form)
            case .version2:
                let length = try Fragmenter.write(
                    frames[index].encoded, sequence: number, size: size,
                    isAfterDisposable: frames[index].isAfterDisposable, sealedBy: sealer, to: &memory)
                frames[index].keep(
                    LayerFrame.Cut(memory: memory, length: length, size: size, keyNumber: sealer.keyNumber), form)
                if size == .full { try addParity(index, number, share: parityShare, sealedBy: sealer) }
                guard sent[number] == nil else { return }
                sent.add(
                    frames[index].encoded, number: number, isAfterDisposable: frames[index].isAfterDisposable,
                    pushed: frames[index].pushed)
            }
        } catch {
            frames[index].isUnsendable = true
            throw error
        }
    }

    private mutating func assignNumber(_ index: Int) -> SequenceNumber {
        if let number = frames[index].number { return number }
        let first = frames[...index].lastIndex { $0.number != nil }.map { $0 + 1 } ?? 0
        for unnumbered in first...index where !frames[unnumbered].isDropped {
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
        var memory = freeBuffers.popLast() ?? []
        let cutter = try FrameCutter(
            frames[index].encoded, as: .version2, isAfterDisposable: frames[index].isAfterDisposable)
        let length = try cutter.writeParity(
            share: share, sequence: number, sealedBy: sealer, to: &memory)
        frames[index].parity = LayerFrame.Cut(memory: memory, length: length)
        frames[index].parityShare = share
    }

    /// A sender begins to send the frame. True for the first sender.
    mutating func begin(_ position: Int) -> Bool {
        guard contains(position), !frames[position - start].hasBegun else { return false }
        frames[position - start].hasBegun = true
        return true
    }

    // MARK: Removing frames

    /// Removes frames before `needed` (nil: all), except those that a joining viewer may begin with. Also removes
    /// frames that are too old or exceed the memory limit, needed or not. Returns how many of all these were sent to
    /// nobody.
    mutating func release(before needed: Int?, now: MediaTime) -> Int {
        var first = needed ?? end
        if let keyframe = keyframePosition, contains(keyframe),
            now - frames[keyframe - start].pushed <= Self.joinTime, bytes(from: keyframe) <= Self.joinBytes
        {
            first = min(first, keyframe)
        }
        // A sender this far behind needs a keyframe anyway. The newest frame always stays.
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

    /// Drops the frames from `position` on that no sender has begun, and returns how many. Later frames reuse their
    /// positions.
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

    /// Every sender has passed or skipped the frames before `position`. Returns how many of them were sent to nobody.
    mutating func drop(before position: Int) -> Int {
        var count = 0
        for index in frames.indices.prefix(max(0, position - start)) where frames[index].isWasted {
            frames[index].isDropped = true
            count += 1
        }
        return count
    }

    /// Removes all frames: nobody watches.
    mutating func removeAll() {
        _ = remove(frames.count)
        keyframePosition = nil
    }

    private mutating func recycle(_ index: Int) {
        keep(frames[index].plain)
        keep(frames[index].sealed)
        keep(frames[index].sealedMedium)
        keep(frames[index].sealedSmall)
        keep(frames[index].parity)
        (frames[index].plain, frames[index].sealed, frames[index].parity) = (nil, nil, nil)
        (frames[index].sealedMedium, frames[index].sealedSmall) = (nil, nil)
    }

    private mutating func keep(_ cut: LayerFrame.Cut?) {
        if freeBuffers.count < Self.mostFreeBuffers, let cut { freeBuffers.append(cut.memory) }
    }
}
