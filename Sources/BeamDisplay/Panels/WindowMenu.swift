/// The menu: its entries, which one is selected, and where it was opened.
struct WindowMenu: Hashable {
    struct Entry: Hashable {
        var command: WindowCommand
        var words: String
        /// The key that does the same.
        var key: String?
        /// False: it can't be used now, and is grey.
        var isEnabled = true
        /// Whether what it switches is on; nil: it switches nothing.
        var isOn: Bool?
        /// It is separated from the one above.
        var beginsGroup = false
    }

    /// A position in the window, in pixels.
    struct Point: Hashable {
        var x: Int
        var y: Int
    }

    private(set) var entries: [Entry] = []
    /// Nil: none, as long as neither the pointer nor a key has chosen one.
    private(set) var selected: WindowCommand?
    /// Where it was opened; nil: in the window's middle, by a key.
    let origin: Point?
    /// The first visible entry, where not all have room.
    private(set) var first = 0
    /// The wheel has scrolled it; otherwise the selection stays visible.
    private(set) var isScrolled = false

    init(_ entries: [Entry], at origin: Point?) {
        self.origin = origin
        update(entries)
        // Opened by a key, it is used by keys.
        if origin == nil { move(by: 1) }
    }

    /// Replaces the entries; the selection stays on its command.
    mutating func update(_ entries: [Entry]) {
        self.entries = entries
        if !entries.contains(where: { $0.command == selected && $0.isEnabled }) { selected = nil }
    }

    var selectedEntry: Entry? { entries.first { $0.command == selected } }

    private var selectedIndex: Int? { entries.firstIndex { $0.command == selected } }

    /// Selects what is under the pointer; nil or a grey entry: nothing.
    mutating func select(_ command: WindowCommand?) {
        selected = entries.first { $0.command == command && $0.isEnabled }?.command
    }

    /// Moves the selection over grey entries, and from one end to the other.
    mutating func move(by step: Int) {
        isScrolled = false
        let usable = entries.indices.filter { entries[$0].isEnabled }
        guard let last = usable.last, let first = usable.first else { return selected = nil }
        let next: Int
        if let index = selectedIndex {
            next =
                step > 0 ? usable.first { $0 > index } ?? first : usable.last { $0 < index } ?? last
        } else {
            next = step > 0 ? first : last
        }
        selected = entries[next].command
    }

    mutating func moveToEnd(_ isLast: Bool) {
        isScrolled = false
        selected = (isLast ? entries.last(where: \.isEnabled) : entries.first(where: \.isEnabled))?.command
    }

    /// Scrolls the entries, of which `count` have room.
    mutating func scroll(by step: Int, count: Int) {
        isScrolled = true
        first = max(0, min(first + step, entries.count - count))
    }

    /// Of the entries `count` have room: none of these rows stays empty, and the selection is visible if it wasn't scrolled
    /// away.
    mutating func fit(_ count: Int) {
        if !isScrolled, let index = selectedIndex { first = min(max(first, index - count + 1), index) }
        first = max(0, min(first, entries.count - count))
    }
}
