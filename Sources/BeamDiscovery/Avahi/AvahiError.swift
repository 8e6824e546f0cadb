import CAvahi

/// An Avahi error code.
struct AvahiError: Error, Equatable, CustomStringConvertible {
    var code: Int32

    static let disconnected = AvahiError(AVAHI_ERR_DISCONNECTED)
    static let collision = AvahiError(AVAHI_ERR_COLLISION)
    static let badState = AvahiError(AVAHI_ERR_BAD_STATE)

    init(code: Int32) { self.code = code }

    private init(_ constant: Int) { self.init(code: Int32(truncatingIfNeeded: constant)) }

    /// Part of a sentence.
    var description: String { String(cString: avahi_strerror(code)) }
}

extension Int {
    /// A constant of an anonymous C enum as the `int` that Avahi's functions take.
    var rawCode: Int32 { Int32(truncatingIfNeeded: self) }
}
