/// Colours, sizes and fonts of everything except the picture. Sizes are in pixels at 96 dpi.
enum Theme {
    struct Colour {
        var red: Double
        var green: Double
        var blue: Double
        var alpha = 1.0

        func opacity(_ alpha: Double) -> Colour { Colour(red: red, green: green, blue: blue, alpha: alpha) }
    }

    static let text = Colour(red: 0.94, green: 0.95, blue: 0.97)
    static let muted = Colour(red: 0.62, green: 0.66, blue: 0.72)
    static let accent = Colour(red: 0.36, green: 0.62, blue: 0.98)
    static let warning = Colour(red: 0.98, green: 0.68, blue: 0.22)
    /// Opaque enough that `muted` text has a contrast of 4.5 (WCAG 2.1, 1.4.3) over a white picture.
    static let panel = Colour(red: 0.06, green: 0.07, blue: 0.10, alpha: 0.92)
    /// Over text that is still there.
    static let opaquePanel = Colour(red: 0.06, green: 0.07, blue: 0.10, alpha: 0.97)
    /// Under captions: lets some of the picture through.
    static let plate = Colour(red: 0.03, green: 0.04, blue: 0.06, alpha: 0.80)
    /// Captions that may still change. Its contrast on `plate` is 4.5 over a white picture.
    static let partial = Colour(red: 0.66, green: 0.69, blue: 0.74)
    static let speaker = Colour(red: 0.98, green: 0.86, blue: 0.55)
    /// `accent`, lighter, for text on `plate`.
    static let accentOnPlate = Colour(red: 0.56, green: 0.76, blue: 1.0)
    static let tile = Colour(red: 1, green: 1, blue: 1, alpha: 0.07)
    /// A tile of a grid without a picture.
    static let card = Colour(red: 1, green: 1, blue: 1, alpha: 0.05)
    /// The name of a tile that isn't in focus.
    static let name = Colour(red: 0.80, green: 0.83, blue: 0.87)
    /// Entries of the menu that can't be used now.
    static let disabled = Colour(red: 0.40, green: 0.43, blue: 0.48)
    /// The button that Enter presses. `text` has a contrast of 5.7 on it.
    static let button = Colour(red: 0.13, green: 0.36, blue: 0.72)
    /// Around the menu, and between its groups.
    static let menuLine = Colour(red: 1, green: 1, blue: 1, alpha: 0.16)
    static let boxBorder = Colour(red: 1, green: 1, blue: 1, alpha: 0.28)

    /// Opacity of the black over the last picture under a message.
    static let dimming = 0.55

    enum Font {
        case headline, detail, code, digit, row, rowDetail, small, statistics, caption, transcript, note, notice
        case tileName, tileKey, tileState, menu, button, field

        var size: Double {
            switch self {
            case .headline: 26
            case .detail: 16
            case .code: 52
            case .digit: 38
            case .row: 17
            case .rowDetail: 13
            case .small: 13
            case .statistics: 13
            case .caption: 24
            case .transcript: 15
            case .note: 17
            case .notice: 15
            case .tileName: 14
            case .tileKey: 13
            case .tileState: 16
            case .menu: 14
            case .button: 15
            case .field: 16
            }
        }

        /// Text that is lower than this can't be read, in pixels.
        static let leastSize = 8.0

        /// In whole pixels.
        func pixels(_ scale: Double) -> Double { max(Self.leastSize, (size * scale).rounded()) }

        var isBold: Bool { [.headline, .code, .digit].contains(self) }
        var family: String { "Sans" }
    }
}
