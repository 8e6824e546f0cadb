import BeamBus

/// Keeps one advertisement registered at BlueZ. Used on the loop's thread only.
final class Advertiser {
    static let interface = "org.bluez.LEAdvertisement1"
    private static let manager = "org.bluez.LEAdvertisingManager1"
    private static let properties = "org.freedesktop.DBus.Properties"

    private struct Registration: Equatable {
        var payload: BluetoothPayload
        /// The adapter's object path.
        var adapter: String
    }

    private let bus: Bus
    private let bluez: BlueZ
    private let loop: BusLoop
    private lazy var task = AdapterTask<Registration>(
        loop, longestPause: .seconds(300),
        AdapterTask.Handlers(
            start: { [weak self] in self?.register($0, $1) }, stop: { [weak self] in self?.unregister($0, $1) }))
    private var adapter: String?
    private var number: UInt64 = 0
    /// Nil: nothing is advertised.
    var payload: BluetoothPayload? { didSet { update() } }

    init(_ loop: BusLoop, on bus: Bus, _ bluez: BlueZ) {
        self.loop = loop
        self.bus = bus
        self.bluez = bluez
    }

    /// BlueZ has an advertisement, or is about to.
    var isBusy: Bool { task.isBusy }

    func adaptersChanged() {
        let best = bluez.adapters.first(where: \.advertises)?.path
        let isOther = best != adapter
        adapter = best
        update()
        if isOther { task.endPause() }
    }

    /// BlueZ forgets the advertisements of those who lose it.
    func lost() {
        adapter = nil
        task.lost()
    }

    private func update() {
        task.wanted = payload.flatMap { payload in adapter.map { Registration(payload: payload, adapter: $0) } }
    }

    // A path of its own for each registration, so that BlueZ doesn't take one object for another.
    private var path: String { "/org/beamroom/advertisement\(number)" }

    private func register(_ registration: Registration, _ onAnswer: @escaping (Bool) -> Void) {
        number += 1
        bluez.service?.call(
            registration.adapter, Self.manager, "RegisterAdvertisement", [.path(path), .dictionary([])]
        ) { reply in
            if case .values = reply { onAnswer(true) } else { onAnswer(false) }
        }
    }

    private func unregister(_ registration: Registration, _ onAnswer: @escaping () -> Void) {
        bluez.service?.call(registration.adapter, Self.manager, "UnregisterAdvertisement", [.path(path)]) { _ in
            onAnswer()
        }
    }

    // MARK: The object that BlueZ reads

    func answer(_ call: BusMessage) -> BusAnswer {
        guard let registration = task.current, call.path == path, let owner = bluez.service?.owner, call.sender == owner
        else { return .unknown }
        switch (call.interface, call.member) {
        case (Self.properties, "GetAll"):
            return .values([.dictionary(Self.advertisement(registration.payload))])
        case (Self.properties, "Get"):
            let name = call.arguments()?.last?.text
            guard let property = Self.advertisement(registration.payload).first(where: { $0.key == name }) else {
                return .refused
            }
            return .values([.variant(property.value)])
        case (Self.interface, "Release"):
            task.ended()
            return .values([])
        default:
            return .refused
        }
    }

    /// The properties of org.bluez.LEAdvertisement1.
    ///
    /// BlueZ shows only discoverable devices to those who look for some, and only peripherals can be discoverable.
    /// There is no room for the UUID in a list of services, too.
    private static func advertisement(_ payload: BluetoothPayload) -> [(key: String, value: BusArgument)] {
        [
            ("Type", .text("peripheral")),
            ("Discoverable", .boolean(true)),
            ("ServiceData", .dictionary([(BluetoothPayload.serviceUUID, .bytes(payload.bytes))])),
        ]
    }
}
