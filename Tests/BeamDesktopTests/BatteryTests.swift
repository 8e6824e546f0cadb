import BeamBus
import Foundation
import Testing

@testable import BeamDesktop

struct BatteryAlarmTests {
    @Test func `Low below 15 percent, once, and fine above 20 percent`() {
        var alarm = BatteryAlarm()
        let levels = [50.0, 15, 14.99, 3, 15, 20, 20.01, 20, 15, 14, 100]
        let events = levels.map { alarm.hear(.level(percent: $0, isCharging: false)) }
        #expect(
            events == [
                nil, nil, .batteryLow(percent: 14), nil, nil, nil, .batteryFine, nil, nil, .batteryLow(percent: 14),
                .batteryFine,
            ])
    }

    @Test func `A battery that is being charged isn't low`() {
        var alarm = BatteryAlarm()
        #expect(alarm.hear(.level(percent: 5, isCharging: true)) == nil)
        #expect(alarm.hear(.level(percent: 5, isCharging: false)) == .batteryLow(percent: 5))
        #expect(alarm.hear(.level(percent: 5, isCharging: true)) == .batteryFine)
        #expect(alarm.hear(.level(percent: 4.5, isCharging: false)) == .batteryLow(percent: 4))
        #expect(alarm.hear(.noBattery) == .batteryFine)
        #expect(alarm.hear(.noBattery) == nil)
    }

    @Test func `Impossible levels are ignored`() {
        var alarm = BatteryAlarm()
        for percent in [-0.01, 100.01, .nan, .infinity, -.infinity] {
            #expect(alarm.hear(.level(percent: percent, isCharging: false)) == nil)
        }
        #expect(alarm.hear(.level(percent: 0, isCharging: false)) == .batteryLow(percent: 0))
        #expect(alarm.hear(.level(percent: .infinity, isCharging: false)) == nil)
        #expect(alarm.hear(.level(percent: .nan, isCharging: true)) == nil)
    }
}

/// The kernel's batteries, from a folder like its own.
struct PowerSupplyTests {
    private let supplies = FakeSupplies()

    private static let low: [String: String] = [
        "type": "Battery", "status": "Discharging", "energy_now": "5000000", "energy_full": "50000000",
    ]

    @Test func `One battery, by its energy`() throws {
        try supplies.add("AC", ["type": "Mains", "online": "0"])
        try supplies.add("BAT0", Self.low.merging(["capacity": "99"]) { $1 })
        #expect(supplies.reading == .level(percent: 10, isCharging: false))
    }

    @Test(arguments: [("Charging", true), ("Full", true), ("Not charging", false), ("Discharging", false)])
    func `Each status`(_ status: String, _ isCharging: Bool) throws {
        try supplies.add("BAT0", Self.low.merging(["status": status]) { $1 })
        #expect(supplies.reading == .level(percent: 10, isCharging: isCharging))
    }

    @Test(arguments: [nil, "Unknown", "", "charging"])
    func `A status that tells nothing`(_ status: String?) throws {
        var files = Self.low
        files["status"] = status
        try supplies.add("BAT0", files)
        #expect(supplies.reading == nil)
    }

    @Test func `Two batteries, by the energy of both`() throws {
        try supplies.add("BAT0", Self.low)
        try supplies.add(
            "BAT1",
            ["type": "Battery", "status": "Charging", "energy_now": "15000000", "energy_full": "150000000"])
        #expect(supplies.reading == .level(percent: 10, isCharging: true))
        // 5 of 50 Wh and 30 of 150 Wh.
        try supplies.add("BAT1", ["energy_now": "30000000", "status": "Unknown"])
        let reading = try #require(supplies.reading)
        guard case .level(let percent, false) = reading else { Issue.record("\(reading)"); return }
        #expect(abs(percent - 17.5) < 1e-9)
    }

    @Test func `Charge and voltage make energy`() throws {
        try supplies.add("BAT0", Self.low)
        // 4 of 10 Ah at 15 V: 60 of 150 Wh.
        try supplies.add(
            "BAT1",
            [
                "type": "Battery", "status": "Discharging", "charge_now": "4000000", "charge_full": "10000000",
                "voltage_now": "15000000",
            ])
        guard case .level(let percent, false) = supplies.reading else { Issue.record("no level"); return }
        #expect(abs(percent - 32.5) < 1e-9)
    }

    @Test func `A battery that tells no energy counts as much as another`() throws {
        try supplies.add("BAT0", Self.low)
        try supplies.add("BAT1", ["type": "Battery", "status": "Discharging", "capacity": "30", "scope": "System"])
        guard case .level(let percent, false) = supplies.reading else { Issue.record("no level"); return }
        #expect(abs(percent - 20) < 1e-9)
    }

    @Test(arguments: [
        ["energy_now": "-1"], ["energy_now": ""], ["energy_now": "x"], ["energy_full": "0"],
        ["energy_now": "60000000"], ["energy_now": "99999999999999999999"], ["energy_now": "1e3"],
        ["energy_now": String(repeating: "0", count: 100)],
    ])
    func `Impossible energies are ignored, in favour of the capacity`(_ garbage: [String: String]) throws {
        try supplies.add("BAT0", Self.low.merging(garbage) { $1 })
        #expect(supplies.reading == nil)
        try supplies.add("BAT0", ["capacity": "8"])
        #expect(supplies.reading == .level(percent: 8, isCharging: false))
        for capacity in ["101", "-1", "nan", "0x10", ""] {
            try supplies.add("BAT0", ["capacity": capacity])
            #expect(supplies.reading == nil)
        }
    }

    @Test func `Batteries of other devices, and bays without one, don't count`() throws {
        #expect(supplies.reading == .noBattery)
        try supplies.add("mouse", Self.low.merging(["scope": "Device"]) { $1 })
        try supplies.add("BAT1", Self.low.merging(["present": "0"]) { $1 })
        try supplies.add("UPS", Self.low.merging(["type": "UPS"]) { $1 })
        try supplies.add("empty", [:])
        #expect(supplies.reading == .noBattery)
        try supplies.add("BAT0", Self.low.merging(["present": "1"]) { $1 })
        #expect(supplies.reading == .level(percent: 10, isCharging: false))
    }

    @Test func `A folder that isn't there tells nothing, and a pipe doesn't stop the thread`() throws {
        #expect(PowerSupplies(folder: "/dev/null/none").read() == nil)
        try supplies.add("BAT0", Self.low.merging(["energy_now": ""]) { $1 })
        let pipe = supplies.folder.appending(path: "BAT0/capacity").path
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(supplies.reading == nil)
    }

    @Test func `The folder is read again and again`() throws {
        try supplies.add("BAT0", Self.low)
        let log = EventLog<DesktopEvent>()
        let watch = DesktopWatch(
            options: .init(
                buses: BusAddresses(system: nil, session: nil), powerSupplies: supplies.folder.path,
                powerSupplyInterval: .milliseconds(50))
        ) { log.add($0) }
        watch.start()
        log.wait(for: [.batteryLow(percent: 10)])
        try supplies.add("BAT0", ["status": "Charging"])
        log.wait(for: [.batteryLow(percent: 10), .batteryFine])
        try supplies.add("BAT0", ["status": "Discharging", "energy_now": "6000000"])
        log.wait(for: [.batteryLow(percent: 10), .batteryFine, .batteryLow(percent: 12)])
        watch.stop()
    }
}

/// UPower on a bus.
@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct UPowerTests {
    private let log = EventLog<DesktopEvent>()

    @Test func `Low, and fine again when it is charging or above 20 percent`() throws {
        let bus = try PrivateBus()
        try bus.run("upower(15.0)")
        let watch = DesktopWatch.started(system: bus, into: log)
        try bus.run("battery(Percentage=dbus.Double(14.9))")
        log.wait(for: [.batteryLow(percent: 14)])
        for percent in ["14.0", "19.0", "20.0"] { try bus.run("battery(Percentage=dbus.Double(\(percent)))") }
        try bus.run("battery(Percentage=dbus.Double(20.5))")
        log.wait(for: [.batteryLow(percent: 14), .batteryFine])
        try bus.run("battery(Percentage=dbus.Double(9.0))")
        log.wait(for: [.batteryLow(percent: 14), .batteryFine, .batteryLow(percent: 9)])
        try bus.run("battery(State=dbus.UInt32(1))")
        log.wait(for: [.batteryLow(percent: 14), .batteryFine, .batteryLow(percent: 9), .batteryFine])
        watch.stop()
    }

    @Test func `Garbage is ignored`() throws {
        let bus = try PrivateBus()
        try bus.run("upower(50.0)")
        let watch = DesktopWatch.started(system: bus, into: log)
        let garbage = [
            "Percentage=dbus.Double(-5)", "Percentage=dbus.Double(float('nan'))", "Percentage=dbus.String('5')",
            "Percentage=dbus.Double(5), State=dbus.UInt32(0)", "Percentage=dbus.Double(5), State=dbus.UInt32(99)",
            "Percentage=dbus.Double(5), State=dbus.UInt32(2), Type=dbus.UInt32(3)",
            "Percentage=dbus.Double(5), Type=dbus.UInt32(2), IsPresent=dbus.Boolean(False)",
            "Percentage=dbus.Double(5), IsPresent=dbus.String('yes')",
        ]
        for values in garbage { try bus.run("battery(\(values))") }
        try bus.run("battery(Percentage=dbus.Double(7), IsPresent=dbus.Boolean(True))")
        log.wait(for: [.batteryLow(percent: 7)])
        try bus.run("battery(Percentage=dbus.Double(1e300))")
        try bus.run("battery(Percentage=dbus.Double(6), IsPresent=dbus.Boolean(False))")
        log.wait(for: [.batteryLow(percent: 7), .batteryFine])
        watch.stop()
    }

    @Test func `What the properties mean`() {
        func reading(_ percent: BusValue?, _ state: BusValue?, _ type: BusValue?, _ isPresent: BusValue?)
            -> BatteryReading?
        {
            var properties: [String: BusValue] = [:]
            properties["Percentage"] = percent
            properties["State"] = state
            properties["Type"] = type
            properties["IsPresent"] = isPresent
            return UPower.reading(properties)
        }
        for (state, isCharging) in [(1, true), (2, false), (3, false), (4, true), (5, false), (6, false)]
            as [(UInt64, Bool)]
        {
            #expect(
                reading(.real(10), .unsigned(state), .unsigned(2), .boolean(true))
                    == .level(percent: 10, isCharging: isCharging))
        }
        #expect(reading(.real(0), .unsigned(0), .unsigned(2), .boolean(true)) == nil)
        #expect(reading(.real(10), .unsigned(2), .unsigned(1), .boolean(true)) == .noBattery)
        #expect(reading(nil, .unsigned(2), .unsigned(2), .boolean(true)) == nil)
        #expect(reading(.real(10), nil, .unsigned(2), .boolean(true)) == nil)
        #expect(reading(.real(10), .unsigned(2), nil, .boolean(true)) == nil)
        #expect(reading(.real(10), .unsigned(2), .unsigned(2), nil) == nil)
        #expect(reading(.real(.nan), .unsigned(2), .unsigned(2), .boolean(true)) == nil)
    }

    @Test func `Without UPower the kernel is asked, and UPower counts as soon as it is there`() throws {
        let bus = try PrivateBus()
        let supplies = FakeSupplies()
        try supplies.add("BAT0", ["type": "Battery", "status": "Discharging", "capacity": "12"])
        let watch = DesktopWatch(
            options: .init(
                buses: BusAddresses(system: bus.address, session: nil), powerSupplies: supplies.folder.path,
                powerSupplyInterval: .milliseconds(50))
        ) { [log] in log.add($0) }
        watch.start()
        log.wait(for: [.batteryLow(percent: 12)])
        try bus.run("upower(80.0)")
        log.wait(for: [.batteryLow(percent: 12), .batteryFine])
        // The kernel isn't asked any more.
        try supplies.add("BAT0", ["capacity": "11"])
        Thread.sleep(forTimeInterval: 0.5)
        #expect(log.all.count == 2)
        try bus.run("drop('org.freedesktop.UPower')")
        log.wait(for: [.batteryLow(percent: 12), .batteryFine, .batteryLow(percent: 11)])
        watch.stop()
    }
}

/// A folder like /sys/class/power_supply. Removed in `deinit`.
final class FakeSupplies {
    let folder = FileManager.default.temporaryDirectory.appending(path: "beam-power-\(UUID().uuidString.prefix(8))")

    init() { try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Adds a supply, or changes some of its files.
    func add(_ name: String, _ files: [String: String]) throws {
        let supply = folder.appending(path: name)
        try FileManager.default.createDirectory(at: supply, withIntermediateDirectories: true)
        for (file, text) in files {
            try (text + "\n").write(to: supply.appending(path: file), atomically: true, encoding: .utf8)
        }
    }

    var reading: BatteryReading? { PowerSupplies(folder: folder.path).read() }
}
