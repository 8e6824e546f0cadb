import BeamDisplay
import CLateLibraries
import CQREncode

/// A QR code (ISO/IEC 18004).
enum QRCode {
    /// Its modules, row by row; true: dark. Nil: libqrencode isn't installed, or `text` is too long.
    ///
    /// - Parameter text: up to 500 bytes of UTF-8.
    static func modules(_ text: String) -> WindowCode.Modules? {
        guard text.utf8.count <= 500, beam_load_libqrencode() == nil,
            let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L)
        else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        guard let data = code.pointee.data else { return nil }
        return WindowCode.Modules(width: width, dark: (0..<width * width).map { data[$0] & 1 == 1 })
    }

    /// In the characters of a terminal: two modules in each, one above the other. Nil: as for `modules`.
    static func lines(_ text: String) -> [String]? {
        guard let modules = modules(text) else { return nil }
        // Readers need an empty margin: half of the standard's four modules does.
        let (margin, light) = (2, "\u{1b}[30;107m")
        return stride(from: -margin, to: modules.width + margin, by: 2).map { y in
            let row = (-margin..<modules.width + margin).map { x in
                switch (modules.isDark(x, y), modules.isDark(x, y + 1)) {
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
