extension FixedWidthInteger {
    /// The whole part of `value`, where this type can't hold it the nearest value that it holds, and 0 for what is no number.
    ///
    /// `Int(_: Double)` traps on infinities, on what is no number and on what doesn't fit: it has no place where anything that a
    /// peer says goes into the value.
    public init(clamping value: Double) {
        if let exact = Self(exactly: value.rounded(.towardZero)) {
            self = exact
        } else if value.isNaN {
            self = 0
        } else {
            self = value < 0 ? .min : .max
        }
    }
}

extension Duration {
    /// So many seconds in whole nanoseconds, clamped to what 64 bits hold (292 years); zero for what is no number.
    public static func seconds(clamping seconds: Double) -> Duration {
        .nanoseconds(Int64(clamping: seconds * 1e9))
    }
}
