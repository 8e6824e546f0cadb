extension FixedWidthInteger {
    /// The whole part of `value`, clamped to this type's range; 0 for NaN.
    ///
    /// Use this for values that depend on a peer's input: `Int(_: Double)` traps on infinities, NaN and values out of
    /// range.
    @inlinable
    public init(clamping value: Double) {
        // `Double(Self.max)` rounds up to 2⁶³ or 2⁶⁴ for 64-bit types, so every smaller value fits.
        if value >= Double(Self.max) {
            self = .max
        } else if value <= Double(Self.min) {
            self = .min
        } else {
            self = value.isNaN ? 0 : Self(value)
        }
    }
}

extension Duration {
    /// `seconds` in whole nanoseconds, clamped to 64 bits (292 years); zero for NaN.
    @inlinable
    public static func seconds(clamping seconds: Double) -> Duration {
        .nanoseconds(Int64(clamping: seconds * 1e9))
    }
}
