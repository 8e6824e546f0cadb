import BeamBus

/// The battery by UPower's composite device. Used on the loop's thread only.
final class UPower: BusServiceUser {
    private static let name = "org.freedesktop.UPower"
    private static let path = "/org/freedesktop/UPower/devices/DisplayDevice"
    private static let interface = "org.freedesktop.UPower.Device"

    /// Gets nil when UPower tells nothing (any more).
    private let hear: (BatteryReading?) -> Void
    private var service: BusService?

    init(on bus: Bus, hear: @escaping (BatteryReading?) -> Void) {
        self.hear = hear
        service = bus.service(
            Self.name,
            rules: ["interface='org.freedesktop.DBus.Properties',path='\(Self.path)',arg0='\(Self.interface)'"],
            user: self)
    }

    func serviceAppeared() { read() }
    func serviceIsMissing() { hear(nil) }
    func busIsLost() { hear(nil) }

    func serviceSignalled(_ signal: BusSignal) {
        guard signal.path == Self.path, signal.changedProperties?.interface == Self.interface else { return }
        read()
    }

    private func read() {
        service?.readProperties(Self.path, Self.interface) { [weak self] properties in
            self?.hear(properties.flatMap(Self.reading))
        }
    }

    /// What the properties of org.freedesktop.UPower.Device mean; nil if that isn't known.
    static func reading(_ properties: [String: BusValue]) -> BatteryReading? {
        guard let isPresent = properties["IsPresent"]?.boolean, let type = properties["Type"]?.unsigned else {
            return nil
        }
        // Types: 2 is a battery.
        guard isPresent, type == 2 else { return .noBattery }
        guard let percent = properties["Percentage"]?.real, (0...100).contains(percent),
            let state = properties["State"]?.unsigned
        else { return nil }
        switch state {
        // Charging, fully charged.
        case 1, 4: return .level(percent: percent, isCharging: true)
        // Discharging, empty, pending charge (on mains, but not charging), pending discharge.
        case 2, 3, 5, 6: return .level(percent: percent, isCharging: false)
        // 0: unknown, as before the first reading, with a percentage of 0.
        default: return nil
        }
    }
}
