/// Which of several sources is in focus, and whether it is shown alone. A pure value.
struct GridSelection: Hashable {
    enum Move: Hashable {
        case left, right, up, down, next, previous
    }

    /// The sources in the order in which they are shown.
    private(set) var sources: [Int] = []
    /// Nil only if there are no sources.
    private(set) var focus: Int?
    /// The source in focus is shown alone.
    private(set) var isAlone = false

    /// Several are there, and all are shown.
    var isGrid: Bool { sources.count > 1 && !isAlone }

    var focusIndex: Int? { focus.flatMap { sources.firstIndex(of: $0) } }

    /// Sources have come or gone. The focus stays on its source; if that has gone, the one that took its place gets it,
    /// and all are shown, so that nobody watches another source by mistake.
    mutating func set(_ sources: [Int]) {
        let place = focusIndex
        self.sources = sources
        guard let focus, sources.contains(focus) else {
            isAlone = false
            focus = sources.isEmpty ? nil : sources[min(place ?? 0, sources.count - 1)]
            return
        }
        if sources.count < 2 { isAlone = false }
    }

    mutating func focus(index: Int) {
        guard sources.indices.contains(index) else { return }
        focus = sources[index]
    }

    mutating func showAlone(index: Int) {
        guard sources.count > 1, sources.indices.contains(index) else { return }
        focus = sources[index]
        isAlone = true
    }

    mutating func showAll() { isAlone = false }

    /// Moves the focus: within the grid, or, while one source is shown alone, to the next one.
    ///
    /// - Parameter columns: of the grid.
    mutating func move(_ move: Move, columns: Int) {
        guard let index = focusIndex, sources.count > 1 else { return }
        let count = sources.count
        let target =
            switch move {
            case .left: index - 1
            case .right: index + 1
            case .up: isAlone ? index - 1 : index - columns
            case .down: isAlone ? index + 1 : index + columns
            case .next: (index + 1) % count
            case .previous: (index + count - 1) % count
            }
        // From above a gap in the last row to its last tile.
        let isOverGap = move == .down && !isAlone && target >= count && index / columns < (count - 1) / columns
        focus(index: isOverGap ? count - 1 : target)
    }
}
