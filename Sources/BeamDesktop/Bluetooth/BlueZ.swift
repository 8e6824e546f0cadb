import BeamBus

/// BlueZ's adapters and devices. Used on the loop's thread only.
final class BlueZ: BusServiceUser {
    struct Adapter: Equatable {
        /// The object path.
        var path: String
        /// Whether it can advertise.
        var advertises: Bool
    }

    enum Event {
        /// `adapters` may have changed.
        case adapters
        /// BlueZ has removed everything that was asked of it.
        case lost
        /// A device that BlueZ knows or hears, with properties of org.bluez.Device1.
        case device([String: BusValue])
    }

    private static let objectManager = "org.freedesktop.DBus.ObjectManager"
    private static let adapterInterface = "org.bluez.Adapter1"
    private static let deviceInterface = "org.bluez.Device1"
    private static let advertisingInterface = "org.bluez.LEAdvertisingManager1"
    private static let deviceRule =
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',arg0='org.bluez.Device1'"

    private let hear: (Event) -> Void
    private(set) var service: BusService?
    /// Those that are switched on, by path.
    private(set) var adapters: [Adapter] = []
    private var isReading = false
    private var mustReadAgain = false
    /// Counts owners of the name, so that the answers of an earlier one are recognised.
    private var generation = 0

    /// Whether devices are reported. Their signals come often, so they aren't asked for otherwise.
    var wantsDevices = false {
        didSet {
            guard wantsDevices != oldValue else { return }
            service?.match(Self.deviceRule, isWanted: wantsDevices)
            if wantsDevices { read() }
        }
    }

    init(on bus: Bus, hear: @escaping (Event) -> Void) {
        self.hear = hear
        service = bus.service(
            "org.bluez",
            rules: [
                "interface='\(Self.objectManager)'",
                "interface='org.freedesktop.DBus.Properties',arg0='\(Self.adapterInterface)'",
            ], user: self)
    }

    func serviceAppeared() {
        forget()
        if wantsDevices { service?.match(Self.deviceRule) }
        read()
    }

    func serviceIsMissing() { forget() }
    func busIsLost() { forget() }

    func serviceSignalled(_ signal: BusSignal) {
        if let changed = signal.changedProperties {
            switch changed.interface {
            case Self.deviceInterface:
                if wantsDevices { hear(.device(changed.values)) }
            case Self.adapterInterface:
                if changed.values["Powered"] != nil || changed.others.contains("Powered") { read() }
            default: break
            }
        } else if signal.interface == Self.objectManager, signal.arguments.count == 2 {
            switch signal.member {
            case "InterfacesAdded":
                let interfaces = signal.arguments[1].entries ?? [:]
                if wantsDevices, let device = interfaces[Self.deviceInterface]?.entries { hear(.device(device)) }
                if interfaces.keys.contains(where: Self.isAboutAdapters) { read() }
            case "InterfacesRemoved":
                if (signal.arguments[1].list ?? []).compactMap(\.text).contains(where: Self.isAboutAdapters) { read() }
            default: break
            }
        }
    }

    private static func isAboutAdapters(_ interface: String) -> Bool {
        interface == adapterInterface || interface == advertisingInterface
    }

    private func forget() {
        generation += 1
        isReading = false
        mustReadAgain = false
        adapters = []
        hear(.lost)
    }

    /// Reads all objects. While that is under way, further reads become a single one after it.
    private func read() {
        guard service?.owner != nil else { return }
        guard !isReading else {
            mustReadAgain = true
            return
        }
        isReading = true
        let generation = generation
        service?.call("/", Self.objectManager, "GetManagedObjects") { [weak self] reply in
            guard let self, generation == self.generation else { return }
            isReading = false
            if case .values(let values) = reply, let objects = values.first?.entries { take(objects) }
            if mustReadAgain {
                mustReadAgain = false
                read()
            }
        }
    }

    private func take(_ objects: [String: BusValue]) {
        adapters = objects.sorted { $0.key < $1.key }.compactMap { path, interfaces in
            guard let interfaces = interfaces.entries,
                interfaces[Self.adapterInterface]?.entries?["Powered"]?.boolean == true
            else { return nil }
            return Adapter(path: path, advertises: interfaces[Self.advertisingInterface] != nil)
        }
        hear(.adapters)
        guard wantsDevices else { return }
        for interfaces in objects.values {
            if let device = interfaces.entries?[Self.deviceInterface]?.entries { hear(.device(device)) }
        }
    }
}
