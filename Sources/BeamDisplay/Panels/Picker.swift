import BeamMedia

/// The entries of a list, its selection and its scroll position, and perhaps a line for an address.
struct Picker: Hashable {
    var title = ""
    /// What is said where none of the entries is there.
    var words: String?
    /// Below the list; nil: no address is taken.
    var field: AddressField?
    private(set) var entries: [PickerEntry] = []
    private(set) var selected = 0
    /// The first visible entry.
    private(set) var first = 0

    /// Replaces the entries. The selection stays on its entry if that is still there.
    mutating func update(_ entries: [PickerEntry]) {
        let old = self.entries.indices.contains(selected) ? self.entries[selected] : nil
        self.entries = entries
        selected = old.flatMap { entries.firstIndex(of: $0) } ?? min(selected, max(0, entries.count - 1))
        first = min(first, max(0, entries.count - 1))
    }

    mutating func select(_ index: Int) {
        guard !entries.isEmpty else { return }
        selected = min(max(0, index), entries.count - 1)
    }

    /// Scrolls so that the selection is among the `count` visible entries and no row is left empty.
    mutating func scroll(toFit count: Int) {
        first = min(max(first, selected - count + 1), selected)
        first = max(0, min(first, entries.count - count))
    }

    var isTyping: Bool { field?.isFocused == true }

    /// The entry that the key `digit` (1…9) selects; the digit is shown beside it.
    func entry(forDigit digit: Int) -> Int? {
        let index = first + digit - 1
        return digit >= 1 && entries.indices.contains(index) ? index : nil
    }
}
