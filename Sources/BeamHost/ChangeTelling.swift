import BeamMedia
import BeamWire

/// Says in a layer's frames which parts of the screen have changed since the frame before, where somebody takes exact
/// patches beside the frames. Used by the encode stage's thread only.
struct ChangeTelling {
    private let patches: PatchStage
    private var log = ChangeLog()
    /// The source's size, and when the screen looked like the picture that was coded last.
    private var screen: (size: PixelSize, time: MediaTime)?
    /// The last frame has said what changed.
    private(set) var hasSaid = false

    init(_ patches: PatchStage) { self.patches = patches }

    /// Takes what has changed in a new picture from the source, whether or not it will be coded.
    mutating func offered(_ picture: Picture) {
        if let said = picture.changes {
            log.add(said.changes, of: picture.size, at: picture.time)
        } else {
            log.add(picture.damage, of: picture.size, at: picture.time)
        }
    }

    /// The frames from now on show this picture.
    mutating func coding(_ picture: Picture) { screen = (picture.size, picture.time) }

    /// The last frame hasn't said what changed, but the next one of that size can.
    func couldSay(at size: PixelSize?) -> Bool { !hasSaid && screen?.size == size }

    /// Some viewer has lacked something since the last frame, and sees it by the next one, if not before.
    var isLacked: Bool { patches.isLacked }

    /// Since the last frame there are more than three quarters of the changes that a frame can name.
    var isFilling: Bool { log.isFilling }

    /// Puts into the frame what has changed, if somebody wants it and the frame has the screen's size.
    mutating func say(in frame: inout EncodedFrame, isWanted: Bool) {
        patches.frameMade()
        guard isWanted, let screen, screen.size == frame.unit.size else {
            if hasSaid { patches.framesSay(size: nil) }
            hasSaid = false
            return
        }
        let said = log.take(at: screen.time, of: screen.size, isContinued: hasSaid && !frame.isKeyframe)
        frame.unit = said.inserted(into: frame.unit)
        hasSaid = true
        patches.framesSay(size: screen.size)
    }
}
