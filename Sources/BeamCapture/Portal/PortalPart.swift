import BeamMedia
import BeamPixels
import CBeamPortal
import Glibc

/// A stream with a copy of its last picture: the source needs its buffers back at once, because some have only two.
final class PortalPart {
    /// What came since the last time.
    struct Change {
        /// The picture has another size, or is the first.
        var isResized = false
        /// In the part's coordinates.
        var damage = DamageRegion()
    }

    let source: PortalStream
    private let stream: PipeWireStream
    private var life = StreamLife()
    private(set) var state = StreamState()
    private(set) var pointer = PortalPointer()
    /// The rectangle of the stream's picture that counts, before it is turned.
    private(set) var crop = PixelRect(x: 0, y: 0, width: 0, height: 0)
    /// Of the last picture, upright.
    private var uprightSize = PixelSize(width: 0, height: 0)
    private var memory: HeapMemory?
    private var scratch: HeapMemory?
    private var comparison = PictureComparison()
    private var likely = LikelyArea()
    /// A picture of which only the likely area was compared, and what had changed there.
    private var unfinished: (buffer: beam_buffer, picture: Plane, damage: DamageRegion)?
    private var repetition = PictureRepetition()
    /// The last picture lay in the graphics device's memory.
    private(set) var isInGraphicsMemory = false

    init(_ remote: PipeWireRemote, _ source: PortalStream, maxFrameRate: Double) throws(PortalTrouble) {
        self.source = source
        stream = try PipeWireStream(remote, source, maxFrameRate: maxFrameRate)
    }

    var hasPicture: Bool { memory != nil }

    /// Of the last picture, or as announced; nil: not known yet.
    var size: PixelSize? { hasPicture ? uprightSize : state.order == nil ? nil : state.size }

    /// Hears what the stream's state is. Not nil: the stream has ended.
    func hear(now: MediaTime) -> StreamLife.End? {
        state = stream.state
        return life.hear(state, now: now)
    }

    var deadline: MediaTime? { life.deadline }

    /// Takes the newest picture of those that have come, and the pointer of all.
    ///
    /// The rest of it may not be compared yet: `finish` has to be called before the connection's next turn.
    func take(now: MediaTime) -> Change {
        var newest: (buffer: beam_buffer, part: PixelRect, offset: Int)?
        while let buffer = stream.take() {
            pointer.read(buffer)
            guard case .picture(let part, let offset) = StreamPicture(buffer, size: state.size) else {
                stream.giveBack(buffer)
                continue
            }
            if let newest { stream.giveBack(newest.buffer) }
            newest = (buffer, part, offset)
        }
        guard let (buffer, part, offset) = newest else { return Change() }
        guard repetition.isWorthComparing(drawnAt: buffer.drawn_at, now: now) else {
            stream.giveBack(buffer)
            return Change()
        }
        stream.beginReading(buffer)
        let change = read(buffer, part, offset)
        if unfinished == nil { stream.endReading(buffer) }
        repetition.compared(differs: change.isResized || !change.damage.isEmpty)
        return change
    }

    /// Compares the rest of the picture that was taken, and returns what else has changed. Not empty: it has to be seen soon.
    func finish() -> DamageRegion {
        guard let (buffer, picture, damage) = unfinished else { return DamageRegion() }
        unfinished = nil
        let rest = compare(picture)
        stream.endReading(buffer)
        var all = damage
        all.formUnion(rest)
        likely.note(all, of: uprightSize)
        return rest
    }

    private func read(_ buffer: beam_buffer, _ part: PixelRect, _ offset: Int) -> Change {
        guard let pixels = buffer.pixels, let order = state.order else { return Change() }
        isInGraphicsMemory = buffer.graphics_memory >= 0
        let plane = Plane(base: UnsafeMutableRawPointer(mutating: pixels + offset), stride: Int(buffer.stride))
        let turn = OutputTurn(transform: Int32(truncatingIfNeeded: buffer.transform))
        crop = part
        pointer.setTurn(turn)
        let isPlain = order == .bgrx && turn == .none
        let size = turn.upright(part.size)
        let isResized = size != uprightSize || memory == nil
        if isResized {
            memory = HeapMemory(byteCount: size.area * 4)
            uprightSize = size
            likely = LikelyArea()
        }
        guard isPlain, let area = likely.rect else {
            // A picture of another size differs everywhere.
            let damage = compare(isPlain ? plane : upright(plane, part.size, order, turn))
            likely.note(damage, of: size)
            return Change(isResized: isResized, damage: damage)
        }
        var damage = compare(plane, within: DamageRegion(area))
        if likely.encloses(damage) {
            unfinished = (buffer, plane, damage)
        } else {
            damage.formUnion(compare(plane))
            likely.note(damage, of: size)
        }
        return Change(damage: damage)
    }

    /// Compares a picture with the one before, and keeps it.
    private func compare(_ picture: Plane, within area: DamageRegion? = nil) -> DamageRegion {
        guard let memory else { return DamageRegion() }
        return comparison.damage(
            of: picture, size: uprightSize, within: area,
            copyingTo: Plane(base: memory.base, stride: uprightSize.width * 4))
    }

    /// The pixels as an upright picture in BGRX.
    private func upright(
        _ plane: Plane, _ size: PixelSize, _ order: StreamState.Order, _ turn: OutputTurn
    ) -> Plane {
        let memory =
            scratch.flatMap { $0.byteCount == size.area * 4 ? $0 : nil } ?? HeapMemory(byteCount: size.area * 4)
        scratch = memory
        let walk = turn.walk(plane, size)
        let upright = turn.upright(size)
        let result = Plane(base: memory.base, stride: upright.width * 4)
        PixelCopy.copy(
            PixelRect(upright), from: walk.first, right: walk.right, down: walk.down, swapsRedAndBlue: order == .rgbx,
            to: result)
        return result
    }

    /// Copies the last picture's pixels into a frame.
    ///
    /// - Parameters:
    ///   - region: in the frame's coordinates.
    ///   - place: of the part in the frame; may extend beyond it.
    func copy(_ region: DamageRegion, to place: PixelRect, in frame: Frame) {
        guard let memory else { return }
        for rect in region.rects {
            let visible = rect.intersection(place).intersection(PixelRect(frame.size))
            guard !visible.isEmpty else { continue }
            let from = memory.base + (visible.y - place.y) * place.width * 4 + (visible.x - place.x) * 4
            for row in 0..<visible.height {
                memcpy(
                    frame.pixel(x: visible.x, y: visible.y + row), from + row * place.width * 4, visible.width * 4)
            }
        }
    }
}
