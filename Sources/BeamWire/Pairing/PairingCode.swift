/// Decimal digits that are typed or compared: six, or nine after many failed comparisons (`ComparisonGuard`).
public struct PairingCode: Hashable, Sendable, CustomStringConvertible {
    /// The number of digits.
    package enum Length: Int, Sendable, CaseIterable {
        case six = 6
        case nine = 9
    }

    public let description: String

    /// Nil for anything but six ASCII digits.
    public init?(_ text: String) {
        guard text.utf8.count == Length.six.rawValue, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        description = text
    }

    /// As a person types it: blanks, hyphens, dashes and dots between the digits don't count.
    public static func typed(_ text: String) -> PairingCode? {
        PairingCode(text.filter { !$0.isWhitespace && !separators.contains($0) })
    }

    private static let separators: Set<Character> = ["-", "‐", "‑", "‒", "–", "—", "−", ".", "·"]

    /// In groups of three, for people: `482 913`.
    public var spaced: String {
        stride(from: 0, to: description.utf8.count, by: 3)
            .map { String(description.dropFirst($0).prefix(3)) }.joined(separator: " ")
    }

    /// Digits that are compared: six or nine.
    package static func compared(_ text: String) -> PairingCode? {
        guard Length(rawValue: text.utf8.count) != nil, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return PairingCode(digits: text)
    }

    private init(digits: String) { description = digits }

    /// Six uniformly distributed digits.
    public static func random(using generator: inout some RandomNumberGenerator) -> PairingCode {
        let digits = (0..<Length.six.rawValue).map { _ in String(Int.random(in: 0...9, using: &generator)) }
        return PairingCode(digits: digits.joined())
    }

    /// The last digits of `number`. Of a uniformly distributed 64-bit number they are uniform but for less than 10⁻¹⁰.
    package init(number: UInt64, _ length: Length = .six) {
        let modulus: UInt64 =
            switch length {
            case .six: 1_000_000
            case .nine: 1_000_000_000
            }
        let digits = String(number % modulus)
        self.init(digits: String(repeating: "0", count: length.rawValue - digits.count) + digits)
    }
}
