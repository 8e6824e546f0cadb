/// The six digits by which somebody new is let in: good for one success.
public struct HostCode: Sendable {
    /// What has to be typed; nil: nothing helps.
    public private(set) var current: PairingCode?
    /// A new one follows when this one has served.
    private let isRenewed: Bool

    private init(_ code: PairingCode?, isRenewed: Bool) {
        current = code
        self.isRenewed = isRenewed
    }

    /// Nobody new comes in by a code.
    public static var none: HostCode { HostCode(nil, isRenewed: false) }

    /// A fresh one each time.
    public static func random() -> HostCode {
        var generator = SystemRandomNumberGenerator()
        return HostCode(.random(using: &generator), isRenewed: true)
    }

    /// This one first. `isRenewed`: then a fresh one each time; otherwise none, until `replace`.
    public init(given code: PairingCode, isRenewed: Bool) { self.init(code, isRenewed: isRenewed) }

    /// It has served.
    mutating func used(random: inout some RandomNumberGenerator) {
        current = isRenewed ? .random(using: &random) : nil
    }

    mutating func replace(_ code: PairingCode) { current = code }
}
