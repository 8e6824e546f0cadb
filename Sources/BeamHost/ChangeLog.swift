import BeamMedia
import BeamWire

/// Which parts of the screen changed when, for what frames say of it (`FrameChanges`).
///
/// Keeps the last changes one by one, and of those before only when the last of them was. A value without a clock.
struct ChangeLog {
    /// The most changes that are kept: one less than a frame may name, which names the whole picture, too, for all the
    /// changes before them.
    private static let most = FrameChanges.most - 1

    private var size: PixelSize?
    /// In the order of their times.
    private var changes: [FrameChanges.Change] = []
    /// How many of them came after the last frame was made; nil: more than are kept, or nothing is known of it.
    private var sinceFrame: Int?
    /// When anything changed last before those that are kept.
    private var floor: UInt64 = 0

    /// The next frame should come soon, while it can still name each change. For those that it can't name it says that
    /// anything may have changed.
    var isFilling: Bool { sinceFrame.map { $0 > Self.most / 2 } ?? true }

    /// The screen has changed in `damage`, and looks like this since `time`.
    mutating func add(_ damage: DamageRegion, of size: PixelSize, at time: MediaTime) {
        let changes = damage.clipped(to: PixelRect(size)).rects.map {
            FrameChanges.Change(
                rect: ExactTiles.pixels(of: ExactTiles.touched(by: $0), in: size), time: time.microseconds)
        }
        add(changes, of: size, at: time)
    }

    /// The screen has changed in these parts, the last one last, and looks like this since `time`.
    mutating func add(_ added: [FrameChanges.Change], of size: PixelSize, at time: MediaTime) {
        guard size == self.size else {
            self.size = size
            (changes, sinceFrame, floor) = ([], nil, time.microseconds)
            return
        }
        for change in added {
            if let same = changes.lastIndex(where: { $0.rect == change.rect }) {
                // As a caret that blinks.
                changes.remove(at: same)
                if let count = sinceFrame, same >= changes.count + 1 - count { sinceFrame = count - 1 }
            }
            changes.append(change)
            sinceFrame = sinceFrame.map { $0 + 1 }
        }
        let excess = changes.count - Self.most
        guard excess > 0 else { return }
        floor = changes[excess - 1].time
        changes.removeFirst(excess)
        if let count = sinceFrame, count > changes.count { sinceFrame = nil }
    }

    /// What the frame of a picture that was captured at `time` says.
    ///
    /// - Parameter isContinued: whoever gets it has the frame before, so that it names only what has changed since.
    mutating func take(at time: MediaTime, of size: PixelSize, isContinued: Bool) -> FrameChanges {
        let time = time.microseconds
        guard size == self.size else { return .all(of: size, at: time) }
        defer { sinceFrame = 0 }
        var said = FrameChanges(captureTime: time, changes: [])
        if isContinued, let sinceFrame {
            said.changes = Array(changes.suffix(sinceFrame))
        } else {
            said.changes = [FrameChanges.Change(rect: PixelRect(size), time: floor)] + changes
        }
        // A change after the picture was captured is named with the picture's time: the frame can't show it.
        for index in said.changes.indices { said.changes[index].time = min(said.changes[index].time, time) }
        return said
    }
}
