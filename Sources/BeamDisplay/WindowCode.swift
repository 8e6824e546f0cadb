/// A QR code to show in a window, and what it says in words.
public struct WindowCode: Sendable, Hashable {
    /// The code's squares.
    public struct Modules: Sendable, Hashable {
        /// The number in a row, and of rows.
        public var width: Int
        /// `width` × `width`, row by row.
        private var dark: [Bool]

        public init(width: Int, dark: [Bool]) {
            precondition(dark.count == width * width)
            (self.width, self.dark) = (width, dark)
        }

        /// Outside there is an empty margin.
        public func isDark(_ x: Int, _ y: Int) -> Bool {
            (0..<width).contains(x) && (0..<width).contains(y) && dark[y * width + x]
        }
    }

    /// Nil: it can't be made on this machine; the words are shown alone.
    public var modules: Modules?
    public var headline: String
    public var detail: String

    public init(modules: Modules?, headline: String, detail: String) {
        (self.modules, self.headline, self.detail) = (modules, headline, detail)
    }
}
