import BeamClock
import BeamMedia
import Synchronization

/// The sound of a recording, in step with its pictures, whose thread says where they are.
///
/// It follows them through pauses and delays, and begins again with them. What the recording has beyond its last
/// picture isn't played, and where its sound ends earlier there is none.
final class RecordedSound: SoundSource {
    private let schedule = SoundSchedule()
    /// Interrupts reading.
    private let control = SourceControl()
    private let player: Mutex<RecordedSoundPlayer?>

    /// Opens the file a second time, for its sound. Nil if it has none.
    ///
    /// - Throws: `unreadableFile`, if the sound can't be decoded.
    init?(path: String) throws(CaptureError) {
        guard let reader = try RecordedSoundReader(path: path, control: control) else { return nil }
        player = Mutex(RecordedSoundPlayer(reader))
    }

    /// To be called once.
    func run(deliver: (SoundBlock) -> Void) {
        let taken = player.withLock { player -> RecordedSoundPlayer? in
            defer { player = nil }
            return player
        }
        guard let taken else { return }
        while let position = schedule.waitForPosition() {
            switch taken.step(position, now: .now) {
            case .block(let block): deliver(block)
            case .wait(let time): schedule.wait(until: time, from: position)
            case .over: return
            }
        }
    }

    func setActive(_ isActive: Bool) { schedule.setActive(isActive) }

    func stop() {
        control.stop()
        schedule.stop()
    }

    /// Called by the pictures' thread, as soon as it knows when a picture is due.
    func follow(_ position: PicturePosition?) { schedule.publish(position) }
}

/// Decides which sound is due at a position of the pictures. Used by one thread.
final class RecordedSoundPlayer {
    /// How long before its time a block is delivered: it is known in advance, and that hides the network's delay.
    static let lead = Duration.milliseconds(30)
    /// Sound that is later than this is left out.
    private static let mostLate = Duration.milliseconds(100)
    /// To leave out more than this, the file is searched instead of decoded.
    private static let mostDecoded = Duration.seconds(1)

    private let reader: RecordedSoundReader
    private var blocks = SoundAssembler()
    /// Of the sound that is read; nil before the first position.
    private var loop: Int?
    private var offset = Duration.zero
    /// Sound before this isn't played: it is earlier than the loop's first picture, or too late.
    private var earliest = MediaTime.distantPast
    private var isAtEnd = false
    /// The reader's piece waits until what is before a gap is delivered.
    private var hasPiece = false

    init(_ reader: RecordedSoundReader) { self.reader = reader }

    enum Step {
        case block(SoundBlock)
        /// Nothing is due until then, or until the position changes.
        case wait(until: MediaTime)
        /// The file can't be read any more, or the sound was stopped.
        case over
    }

    func step(_ position: PicturePosition, now: MediaTime) -> Step {
        if position.loop == loop, position.offset != offset {
            blocks.shift(by: position.offset - offset)
            // What was cut may be heard now, unless it belongs before the first picture.
            earliest = position.start
            offset = position.offset
        }
        while true {
            if let start = blocks.isEmpty ? blocks.end : blocks.start, start + Self.mostLate < now {
                guard catchUp(position, now) else { return .over }
            }
            if let start = blocks.start, blocks.hasBlock {
                guard start <= position.limit else { return .wait(until: .distantFuture) }
                guard start - Self.lead <= now else { return .wait(until: start - Self.lead) }
                if let block = blocks.take() { return .block(block) }
            }
            if position.loop != loop, loop == nil || isAtEnd || hasReached(position.start) {
                guard beginLoop(position) else { return .over }
            }
            if isAtEnd || hasPiece {
                if let start = blocks.start, !blocks.isEmpty {
                    // The next loop may continue it.
                    if isAtEnd, start - Self.lead > now { return .wait(until: start - Self.lead) }
                    blocks.pad()
                    continue
                }
                if isAtEnd { return .wait(until: .distantFuture) }
            }
            guard read(position) else { return .over }
        }
    }

    /// Takes the next piece. False if the sound was stopped.
    private func read(_ position: PicturePosition) -> Bool {
        if !hasPiece {
            switch reader.next() {
            case .piece: break
            case .end:
                isAtEnd = true
                return true
            case .stopped: return false
            }
        }
        // The next loop's first picture ends this one.
        let end = position.loop == loop ? .distantFuture : max(earliest, position.start)
        let time = MediaTime(nanoseconds: reader.time) + offset
        hasPiece = !blocks.append(reader.samples, at: time, in: earliest..<end)
        return true
    }

    /// The sound is read up to `time`, within the rounding to samples.
    private func hasReached(_ time: MediaTime) -> Bool {
        !hasPiece && MediaTime(nanoseconds: reader.position) + offset + .microseconds(50) >= time
    }

    private func beginLoop(_ position: PicturePosition) -> Bool {
        if loop != nil {
            guard reader.rewind() else { return false }
        }
        loop = position.loop
        offset = position.offset
        earliest = position.start
        (isAtEnd, hasPiece) = (false, false)
        return true
    }

    /// Leaves out what is too late.
    private func catchUp(_ position: PicturePosition, _ now: MediaTime) -> Bool {
        blocks.removeAll()
        hasPiece = false
        if position.loop != loop {
            guard beginLoop(position) else { return false }
        }
        guard !isAtEnd else { return true }
        earliest = max(position.start, now)
        let wanted = now - offset
        if wanted - MediaTime(nanoseconds: reader.position) > Self.mostDecoded { reader.seek(to: wanted.nanoseconds) }
        return true
    }
}
