import BeamMedia

/// What a battery is known to be like.
enum BatteryReading: Equatable {
    /// - Parameter percent: of the energy when full, 0…100.
    case level(percent: Double, isCharging: Bool)
    case noBattery
}

/// Decides when the battery is low, and when no longer. Between the thresholds nothing changes, so that a level that
/// wavers isn't reported over and over.
struct BatteryAlarm {
    /// In percent.
    static let low = 15.0
    static let fine = 20.0

    private var isLow = false

    mutating func hear(_ reading: BatteryReading) -> DesktopEvent? {
        switch reading {
        case .level(let percent, let isCharging):
            guard (0...100).contains(percent) else { return nil }
            if isLow {
                guard isCharging || percent > Self.fine else { return nil }
                isLow = false
                return .batteryFine
            }
            guard percent < Self.low, !isCharging else { return nil }
            isLow = true
            return .batteryLow(percent: Int(clamping: percent))
        case .noBattery:
            guard isLow else { return nil }
            isLow = false
            return .batteryFine
        }
    }
}
