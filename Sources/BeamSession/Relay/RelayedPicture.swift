import BeamMedia
import BeamWire

/// What a relay makes of the frames and patches that it receives: the same bytes and the first host's times, so that
/// viewers see of each part what is newest, however many relays are between. A pure value.
public struct RelayedPicture: Sendable {
    /// The last frame's.
    private var last: (session: MediaTime, number: UInt32)?

    public init() {}

    /// The frame to pass on. The relay numbers its frames anew, so its viewers wouldn't notice that the host has left
    /// one out: this one says in its place that all may have changed.
    ///
    /// - Parameter now: counts as the time of capture where that isn't known (`EncodedFrame.init(relaying:now:)`).
    public mutating func frame(_ frame: ReceivedFrame, now: MediaTime) -> EncodedFrame {
        defer { last = (frame.session, frame.number) }
        var relayed = EncodedFrame(relaying: frame, now: now)
        let isNext = last.map { $0.session == frame.session && frame.number == $0.number &+ 1 } ?? false
        if !frame.isKeyframe, !isNext, let changes = FrameChanges(frame.unit) {
            let all = FrameChanges.all(of: frame.unit.size, at: changes.captureTime)
            relayed.unit = all.inserted(into: frame.unit)
        }
        return relayed
    }

    /// The patch to pass on; nil: it is of another session of the host than the last frame that was passed on.
    public func patch(_ patch: ReceivedPatch) -> ExactPatch? {
        guard let last, last.session == patch.session, let time = MediaTime(microseconds: patch.hostTime) else {
            return nil
        }
        return ExactPatch(
            content: patch.content, captureTime: time, pictureSize: patch.pictureSize, isRepair: patch.isRepair)
    }
}
