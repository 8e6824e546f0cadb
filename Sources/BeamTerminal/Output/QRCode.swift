import CLateLibraries
import CQREncode

/// A QR code (ISO/IEC 18004) in the characters of a terminal: two modules in each, one above the other.
enum QRCode {
    /// Nil: libqrencode isn't installed, or `text` is too long.
    ///
    /// - Parameter text: up to 500 bytes of UTF-8.
    static func lines(_ text: String) -> [String]? {
        guard text.utf8.count <= 500, beam_load_libqrencode() == nil,
            let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L)
        else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        guard let data = code.pointee.data else { return nil }
        /// Whether the module is dark. Readers need an empty margin: half of the standard's four modules does.
        func isDark(_ x: Int, _ y: Int) -> Bool {
            guard (0..<width).contains(x), (0..<width).contains(y) else { return false }
            return data[y * width + x] & 1 == 1
        }
        let (margin, light) = (2, "\u{1b}[30;107m")
        return stride(from: -margin, to: width + margin, by: 2).map { y in
            let row = (-margin..<width + margin).map { x in
                switch (isDark(x, y), isDark(x, y + 1)) {
                case (false, false): " "
                case (true, false): "▀"
                case (false, true): "▄"
                case (true, true): "█"
                }
            }
            // Black on white, whatever the terminal's colours are.
            return light + row.joined() + "\u{1b}[0m"
        }
    }
}
