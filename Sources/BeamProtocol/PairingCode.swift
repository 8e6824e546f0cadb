/// Six decimal digits.
public struct PairingCode: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// Nil for anything but six ASCII digits.
    public init?(_ text: String) {
        guard text.utf8.count == 6, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        description = text
    }

    /// In two groups of three, for people: `482 913`.
    public var spaced: String { "\(description.prefix(3)) \(description.suffix(3))" }

    init(digits: String) { description = digits }

    /// Six digits, evenly distributed.
    public static func random(using generator: inout some RandomNumberGenerator) -> PairingCode {
        PairingCode(digits: (0..<6).map { _ in String(Int.random(in: 0...9, using: &generator)) }.joined())
    }
}
