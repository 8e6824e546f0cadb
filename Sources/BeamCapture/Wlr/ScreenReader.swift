import BeamMedia
import BeamPixels

/// Turns what a compositor has written into pictures: finds what has changed, cuts the shared part out and turns it upright.
struct ScreenReader {
    /// A frame of an output, and what is shared of it.
    struct Screen: Equatable {
        var size: PixelSize
        var turn: OutputTurn
        /// In upright pixels, not empty.
        var part: PixelRect
        var isSwapped: Bool

        /// The part of the raw frame.
        fileprivate var rawPart: PixelRect { turn.raw(part, of: size) }
    }

    let screen: Screen
    /// Buffers for pictures of the shared part.
    let frames: FrameStore
    private var comparison = PictureComparison()

    init(_ screen: Screen) {
        self.screen = screen
        frames = FrameStore(size: screen.part.size)
    }

    /// Brings `frame`, a free buffer of `frames`, up to date with a frame of the compositor if something has changed.
    ///
    /// - Parameters:
    ///   - plane: the frame's pixels.
    ///   - hint: where it may have changed since the last call; nil: anywhere.
    ///   - isWanted: `frame` is needed even if nothing has changed.
    /// - Returns: what has changed since the last call, in the picture.
    mutating func read(
        _ plane: Plane, within hint: DamageRegion?, into frame: Frame, isWanted: Bool
    ) -> DamageRegion {
        let part = screen.rawPart
        let source = Plane(base: plane.base + part.y * plane.stride + 4 * part.x, stride: plane.stride)
        var inside: DamageRegion?
        if let hint {
            inside = DamageRegion()
            for rect in hint.rects { inside?.insert(rect.intersection(part).moved(by: -part.x, -part.y)) }
        }
        let isPlain = screen.turn == .none && !screen.isSwapped
        let output = Plane(base: frame.pixel(x: 0, y: 0), stride: frame.stride)
        let changed = comparison.damage(
            of: source, size: part.size, within: inside, copyingTo: isPlain ? output : nil)
        guard isWanted || !changed.isEmpty else { return changed }
        var damage = DamageRegion()
        for rect in changed.rects { damage.insert(screen.turn.upright(rect, of: part.size)) }
        // What is copied already isn't copied again.
        let missing = frame.stale
        frames.markStale(damage)
        let walk = screen.turn.walk(source, part.size)
        for rect in (isPlain ? missing : frame.stale).rects {
            PixelCopy.copy(
                rect, from: walk.first, right: walk.right, down: walk.down, swapsRedAndBlue: screen.isSwapped,
                to: output)
        }
        frame.stale = DamageRegion()
        return damage
    }
}
