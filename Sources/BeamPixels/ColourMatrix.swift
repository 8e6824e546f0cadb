import BeamMedia

/// The conversion from YCbCr to RGB as a 3 × 3 matrix and three offsets. The pixel kernels and the OpenGL shader both
/// take their coefficients from here.
///
/// Samples are normalised: 0…1 for bytes 0…255, as in an OpenGL `UNSIGNED_BYTE` texture. `rgb = rows × (y, cb, cr) +
/// offsets`, row by row, then clamped to 0…1.
public struct ColourMatrix: Hashable, Sendable {
    /// Three factors: for Y, Cb and Cr.
    public struct Row: Hashable, Sendable {
        public var y: Double
        public var cb: Double
        public var cr: Double
    }

    public let red: Row
    public let green: Row
    public let blue: Row
    /// Added to red, green and blue: −`row` × the code values of black.
    public let offsets: (red: Double, green: Double, blue: Double)

    /// The luma weights of red and blue: ITU-R BT.709-6 item 3.2, BT.601-7 item 2.5.1, BT.2020-2 table 4
    /// (non-constant luminance).
    static func lumaWeights(_ matrix: ColourDescription.Matrix) -> (red: Double, green: Double, blue: Double) {
        let (red, blue) =
            switch matrix {
            case .bt709: (0.2126, 0.0722)
            case .bt601: (0.299, 0.114)
            case .bt2020: (0.2627, 0.0593)
            }
        return (red, 1 - red - blue, blue)
    }

    /// The code value of black, and the ranges of luma (black to white) and chroma in code values (ITU-T H.273 clause
    /// 8.3, 8 bits).
    static func quantisation(isFullRange: Bool) -> (black: Double, lumaSpan: Double, chromaSpan: Double) {
        isFullRange ? (0, 255, 255) : (16, 219, 224)
    }

    public init(_ colour: ColourDescription) {
        let weight = Self.lumaWeights(colour.matrix)
        let (black, lumaSpan, chromaSpan) = Self.quantisation(isFullRange: colour.isFullRange)
        let luma = 255 / lumaSpan
        let chroma = 255 / chromaSpan
        let red = Row(y: luma, cb: 0, cr: 2 * (1 - weight.red) * chroma)
        let green = Row(
            y: luma,
            cb: -2 * (1 - weight.blue) * weight.blue / weight.green * chroma,
            cr: -2 * (1 - weight.red) * weight.red / weight.green * chroma)
        let blue = Row(y: luma, cb: 2 * (1 - weight.blue) * chroma, cr: 0)
        func offset(_ row: Row) -> Double { -(row.y * black + (row.cb + row.cr) * 128) / 255 }
        self.red = red
        self.green = green
        self.blue = blue
        offsets = (offset(red), offset(green), offset(blue))
    }

    /// The nine factors row by row: red's for Y, Cb, Cr, then green's, then blue's.
    public var rowMajor: [Double] { [red, green, blue].flatMap { [$0.y, $0.cb, $0.cr] } }

    /// The nine factors column by column, as `glUniformMatrix3fv` takes them without transposing.
    public var columnMajor: [Double] {
        [red.y, green.y, blue.y, red.cb, green.cb, blue.cb, red.cr, green.cr, blue.cr]
    }

    public static func == (a: ColourMatrix, b: ColourMatrix) -> Bool {
        a.rowMajor == b.rowMajor && a.offsets == b.offsets
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(rowMajor) }
}
