import BeamMedia

/// The transcript at the window's right, scrollable. Only visible lines are laid out.
@MainActor final class TranscriptView {
    /// Down is positive: towards newer lines.
    enum Scroll: Hashable {
        /// By this many lines of text.
        case lines(Double)
        /// By this many heights of the visible part.
        case pages(Double)
        case toBeginning
        case toEnd
    }

    private enum Position: Hashable {
        /// The last line is at the lower edge, also when lines are added.
        case end
        /// Line `number` is at the upper edge, `offset` pixels of it above the edge.
        case line(number: Int, offset: Double)
    }

    private struct Setting: Hashable {
        var area: PixelRect
        var scale: Double
    }

    var transcript: Transcript
    private var position = Position.line(number: 0, offset: 0)
    /// Applied when the panel is drawn next, because only then its size is known.
    private var pending: [Scroll] = []
    private var drawn: (setting: Setting, version: Int, position: Position, layer: Layer)?
    private var rows: [Int: TranscriptRow] = [:]
    /// The number of lines that aren't whole above the lower edge, as drawn last.
    private(set) var below = 0

    /// More than a person scrolls between two drawings.
    private static let mostPending = 64

    /// - Parameter isOfSource: one of several in a window, which keeps fewer lines.
    init(isOfSource: Bool = false) { transcript = Transcript(isOfSource: isOfSource) }

    var isAtEnd: Bool { position == .end && pending.isEmpty }

    func clear() {
        transcript.clear()
        rows = [:]
        pending = []
        position = .line(number: transcript.first, offset: 0)
    }

    func scroll(_ scroll: Scroll) {
        switch scroll {
        case .toBeginning, .toEnd: pending = [scroll]
        case .lines, .pages: if pending.count < Self.mostPending { pending.append(scroll) }
        }
    }

    /// The panel's rectangle: the right part of `area`, or all of a narrow one.
    static func rect(in area: PixelRect, scale: Double) -> PixelRect {
        let (narrowest, widest) = (Int(300 * scale), Int(560 * scale))
        guard area.width >= narrowest * 2 else { return area }
        let width = min(max(narrowest, area.width * 36 / 100), widest)
        return PixelRect(x: area.maxX - width, y: area.y, width: width, height: area.height)
    }

    func layer(in area: PixelRect, scale: Double) -> Layer {
        let setting = Setting(area: area, scale: scale)
        if let drawn, drawn.setting == setting, drawn.version == transcript.version, drawn.position == position,
            pending.isEmpty
        {
            return drawn.layer
        }
        if drawn?.setting != setting { rows = [:] }
        let rect = Self.rect(in: area, scale: scale)
        let frame = TranscriptFrame(transcript, size: rect.size, scale: scale)
        let body = frame.body
        var laidOut: [Int: TranscriptRow] = [:]
        func row(_ number: Int) -> TranscriptRow {
            let row =
                laidOut[number] ?? rows[number]
                ?? TranscriptRow(transcript[number], width: body.width, scale: scale)
            laidOut[number] = row
            return row
        }
        position = settled(position, height: body.height, row)
        let line = (Theme.Font.transcript.size * 1.3 * scale).rounded()
        for scroll in pending {
            switch scroll {
            case .toBeginning: position = .line(number: transcript.first, offset: 0)
            case .toEnd: position = .end
            case .lines(let count): move(by: count * line, height: body.height, row)
            case .pages(let count): move(by: count * max(line, body.height - 2 * line), height: body.height, row)
            }
            position = settled(position, height: body.height, row)
        }
        pending = []
        let visible = visibleRows(height: body.height, row)
        let whole = visible.last { $0.top + row($0.number).textHeight <= body.height }
        let read = whole.map { $0.number + 1 } ?? visible.first?.number ?? transcript.numbers.upperBound
        below = transcript.numbers.upperBound - read
        let bitmap = Bitmap(rect.size) { pen in
            frame.draw(
                on: pen, below: below,
                isAtEnd: position == .end, shown: visible.first.map { $0.number..<(visible.last?.number ?? 0) + 1 })
            pen.clip(to: body)
            for (number, top) in visible {
                row(number).draw(on: pen, x: body.x, y: (body.y + top).rounded(), width: body.width, scale: scale)
            }
        }
        // The layouts of lines that aren't visible any more aren't kept.
        let numbers = Set(visible.map(\.number))
        rows = laidOut.filter { numbers.contains($0.key) }
        let layer = Layer(bitmap: bitmap, x: rect.x, y: rect.y)
        drawn = (setting, transcript.version, position, layer)
        return layer
    }

    // MARK: - Position

    /// `position` within the lines that are there; the end if what follows fills no more than `height`.
    private func settled(_ position: Position, height: Double, _ row: (Int) -> TranscriptRow) -> Position {
        guard case .line(var number, var offset) = position else { return .end }
        let numbers = transcript.numbers
        // Lines have gone, or become lower because the panel has become wider.
        if number < numbers.lowerBound { (number, offset) = (numbers.lowerBound, 0) }
        guard numbers.contains(number) else { return .end }
        offset = min(offset, row(number).height - 1)
        var rest = -offset
        for next in number..<numbers.upperBound {
            rest += row(next).height
            if rest > height { return .line(number: number, offset: offset) }
        }
        return .end
    }

    /// The line at the upper edge.
    private func top(height: Double, _ row: (Int) -> TranscriptRow) -> (number: Int, offset: Double) {
        if case .line(let number, let offset) = position { return (number, offset) }
        var total = 0.0
        for number in transcript.numbers.reversed() {
            total += row(number).height
            if total >= height { return (number, total - height) }
        }
        return (transcript.first, 0)
    }

    private func move(by pixels: Double, height: Double, _ row: (Int) -> TranscriptRow) {
        let numbers = transcript.numbers
        guard !numbers.isEmpty else { return }
        var (number, offset) = top(height: height, row)
        offset += pixels
        while offset < 0, number > numbers.lowerBound {
            number -= 1
            offset += row(number).height
        }
        while number < numbers.upperBound, offset >= row(number).height {
            offset -= row(number).height
            number += 1
        }
        position = number < numbers.upperBound ? .line(number: number, offset: max(0, offset)) : .end
    }

    /// The lines in the visible part and the distances of their upper edges from its upper edge.
    private func visibleRows(height: Double, _ row: (Int) -> TranscriptRow) -> [(number: Int, top: Double)] {
        let (first, offset) = top(height: height, row)
        var visible: [(number: Int, top: Double)] = []
        var y = -offset
        for number in first..<max(first, transcript.numbers.upperBound) {
            guard y < height else { break }
            visible.append((number, y))
            y += row(number).height
        }
        return visible
    }
}
