extension FixedWidthInteger {
    /// The whole part of `value`, where this type can't hold it the nearest value that it holds, and 0 for what is no number.
    ///
    /// `Int(_: Double)` traps on infinities, on what is no number and on what doesn't fit: it has no place where anything that a
    /// peer says goes into the value.
    @inlinable
    public init(clamping value: Double) {
        // 2⁶³ and 2⁶⁴ are what the largest 64-bit values become as a Double: whatever is below fits.
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
    /// So many seconds in whole nanoseconds, clamped to what 64 bits hold (292 years); zero for what is no number.
    @inlinable
    public static func seconds(clamping seconds: Double) -> Duration {
        .nanoseconds(Int64(clamping: seconds * 1e9))
    }
}
