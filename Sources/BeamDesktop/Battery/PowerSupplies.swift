import Glibc

/// The machine's batteries by the kernel (Documentation/ABI/testing/sysfs-class-power), for machines without UPower.
struct PowerSupplies: Sendable {
    /// Entries read at most. Machines have a handful.
    private static let maxSupplies = 64

    /// The folder with a folder for each supply.
    let folder: String

    /// Nil if the folder can't be read, or tells too little.
    func read() -> BatteryReading? {
        guard let names = entries() else { return nil }
        let batteries = names.map { Supply(folder: "\(folder)/\($0)") }.filter(\.isBatteryOfTheMachine)
        guard !batteries.isEmpty else { return .noBattery }
        let levels = batteries.compactMap(\.level)
        guard let percent = Self.percent(levels), let isCharging = Self.isCharging(batteries.compactMap(\.status))
        else { return nil }
        return .level(percent: percent, isCharging: isCharging)
    }

    /// The energy in all batteries by what they hold when full; the mean of their levels if that isn't known of all.
    private static func percent(_ levels: [Level]) -> Double? {
        guard !levels.isEmpty else { return nil }
        let energies = levels.compactMap(\.fullEnergy)
        let weights = energies.count == levels.count ? energies : levels.map { _ in 1 }
        let total = weights.reduce(0, +)
        let percent = zip(levels, weights).reduce(0) { $0 + $1.0.percent * ($1.1 / total) }
        // Rounding may leave it above 100 by a hair.
        return percent.isFinite ? min(percent, 100) : nil
    }

    /// One battery is charged, or emptied, after the other. Nil if no status tells.
    private static func isCharging(_ statuses: [String]) -> Bool? {
        if statuses.contains("Charging") { return true }
        if statuses.contains("Discharging") || statuses.contains("Not charging") { return false }
        return statuses.contains("Full") ? true : nil
    }

    private func entries() -> [String]? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while names.count < Self.maxSupplies, let entry = Glibc.readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}

/// How full one battery is.
private struct Level {
    /// 0…100.
    var percent: Double
    /// What it holds when full, in µWh; nil if not known.
    var fullEnergy: Double?
}

/// One supply.
private struct Supply {
    /// More than any of the kernel's values.
    private static let maxBytes = 64

    let folder: String

    /// Batteries of mice and headsets have the scope `Device`. Those of the machine have `System`, or none.
    var isBatteryOfTheMachine: Bool {
        text("type") == "Battery" && [nil, "System"].contains(text("scope")) && text("present") != "0"
    }

    var status: String? { text("status") }

    var level: Level? {
        if let energy = level(now: "energy_now", full: "energy_full", factor: 1) { return energy }
        // In µAh; with µV, a million times the µWh.
        let voltage = number("voltage_min_design") ?? number("voltage_now")
        if let charge = level(now: "charge_now", full: "charge_full", factor: voltage.map { $0 / 1e6 }) {
            return charge
        }
        guard let percent = number("capacity"), percent <= 100 else { return nil }
        return Level(percent: percent, fullEnergy: nil)
    }

    private func level(now: String, full: String, factor: Double?) -> Level? {
        guard let now = number(now), let full = number(full), full > 0, now <= full else { return nil }
        let energy = factor.map { full * $0 } ?? 0
        return Level(percent: now / full * 100, fullEnergy: energy > 0 ? energy : nil)
    }

    /// A whole number, not negative.
    private func number(_ name: String) -> Double? {
        guard let text = text(name), let number = Int64(text), number >= 0 else { return nil }
        return Double(number)
    }

    /// The file's first line; nil if there is none, or if it is longer than the kernel's values.
    private func text(_ name: String) -> String? {
        // Without O_NONBLOCK, a pipe in the place of a file would keep the thread.
        let descriptor = open("\(folder)/\(name)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.maxBytes)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
