import BeamMedia

/// State of a note that a person writes in the window.
struct NoteEntry: Hashable {
    /// In bytes of UTF-8.
    static let longest = 2000

    private let limit: Int

    /// - Parameter limit: in bytes of UTF-8; for texts other than notes.
    init(limit: Int = Self.longest) { self.limit = limit }

    /// The text before and after the cursor.
    private(set) var before = ""
    private(set) var after = ""
    /// What an input method is composing at the cursor: not part of the text yet.
    private(set) var composed = ""
    /// The cursor within `composed`, in bytes.
    private(set) var composedCursor = 0

    var isEmpty: Bool { before.isEmpty && after.isEmpty }
    var bytes: Int { before.utf8.count + after.utf8.count }

    /// The note as it is sent: without blanks at both ends; nil if nothing is left.
    var note: String? {
        let text = VisibleText.cleaned(before + after, joiners: .kept)
        return text.isEmpty ? nil : text
    }

    /// Inserts typed or pasted text at the cursor: as many whole characters as there is room for. Control characters
    /// become blanks.
    mutating func insert(_ text: String) {
        endComposing()
        // More than is ever taken, so that a clipboard of megabytes costs nothing.
        for character in VisibleText.typed(VisibleText.start(of: text, bytes: 4 * limit).text) {
            let size = character.utf8.count
            guard bytes + size <= limit else { break }
            before.append(character)
        }
    }

    /// - Parameters:
    ///   - text: what the input method shows at the cursor; empty: it shows nothing any more.
    ///   - cursor: in characters of `text`.
    mutating func compose(_ text: String, cursor: Int) {
        composed = VisibleText.typed(text.prefix(256))
        composedCursor = composed.prefix(max(0, cursor)).utf8.count
    }

    mutating func endComposing() {
        composed = ""
        composedCursor = 0
    }

    /// A joiner after a letter goes alone: it was a key of its own.
    mutating func deleteBackward() {
        if let last = before.unicodeScalars.last, ShownText.kind(last) == .joiner {
            before.unicodeScalars.removeLast()
        } else {
            _ = before.popLast()
        }
    }

    mutating func deleteForward() {
        if !after.isEmpty { after.removeFirst() }
    }

    /// Moves the cursor by a character, towards the text's beginning or end.
    mutating func move(towardsBeginning: Bool) {
        if towardsBeginning {
            if let character = before.popLast() { after = String(character) + after }
        } else if !after.isEmpty {
            before.append(after.removeFirst())
        }
    }

    mutating func moveToBeginning() { (before, after) = ("", before + after) }
    mutating func moveToEnd() { (before, after) = (before + after, "") }
}
