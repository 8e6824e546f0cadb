/// The six digits by which an unknown viewer is paired; valid for one pairing.
public struct HostCode: Sendable {
    /// The digits to type; nil: no code is accepted.
    public private(set) var current: PairingCode?
    /// A new code follows when this one has been used.
    private let isRenewed: Bool
    /// A code has let in a viewer, or was replaced.
    private(set) var hasBeenReplaced = false
    /// The code was used, and no other has followed.
    var wasUsed: Bool { current == nil && hasBeenReplaced }

    private init(_ code: PairingCode?, isRenewed: Bool) {
        current = code
        self.isRenewed = isRenewed
    }

    /// No code is accepted.
    public static var none: HostCode { HostCode(nil, isRenewed: false) }

    /// A random code, replaced each time it has been used.
    public static func random() -> HostCode {
        var generator = SystemRandomNumberGenerator()
        return HostCode(.random(using: &generator), isRenewed: true)
    }

    /// A given code. `isRenewed`: random ones follow it; otherwise none does until `replace`.
    public init(given code: PairingCode, isRenewed: Bool) { self.init(code, isRenewed: isRenewed) }

    /// The code was used.
    mutating func used(random: inout some RandomNumberGenerator) {
        current = isRenewed ? .random(using: &random) : nil
        hasBeenReplaced = true
    }

    mutating func replace(_ code: PairingCode) {
        current = code
        hasBeenReplaced = true
    }
}
