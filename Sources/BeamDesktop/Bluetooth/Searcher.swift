import BeamBus
import BeamClock
import BeamMedia

/// Lets BlueZ look for devices while that is wanted, and picks out hosts. Used on the loop's thread only.
final class Searcher {
    private static let interface = "org.bluez.Adapter1"

    private let bluez: BlueZ
    private let loop: BusLoop
    private let onHost: (BluetoothHost) -> Void
    private lazy var task = AdapterTask<String>(
        loop, longestPause: .seconds(60),
        AdapterTask.Handlers(
            start: { [weak self] in self?.start($0, $1) }, stop: { [weak self] in self?.stop($0, $1) }))
    private var adapter: String?
    private var log = SightingLog()

    var isWanted = false {
        didSet {
            guard isWanted != oldValue else { return }
            log = SightingLog()
            bluez.wantsDevices = isWanted
            update()
        }
    }

    init(_ loop: BusLoop, _ bluez: BlueZ, onHost: @escaping (BluetoothHost) -> Void) {
        self.loop = loop
        self.bluez = bluez
        self.onHost = onHost
    }

    /// BlueZ is searching, or is about to.
    var isBusy: Bool { task.isBusy }

    func adaptersChanged() {
        let first = bluez.adapters.first?.path
        let isOther = first != adapter
        adapter = first
        update()
        if isOther { task.endPause() }
    }

    /// BlueZ ends the searches of those who lose it.
    func lost() {
        adapter = nil
        task.lost()
    }

    private func update() { task.wanted = isWanted ? adapter : nil }

    /// - Parameter properties: of org.bluez.Device1.
    func heard(_ properties: [String: BusValue]) {
        guard isWanted, let data = properties["ServiceData"]?.entries else { return }
        for (uuid, value) in data where uuid.lowercased() == BluetoothPayload.serviceUUID {
            guard let host = value.bytes.flatMap(BluetoothPayload.host), log.see(host, now: .now) else { continue }
            onHost(host)
        }
    }

    /// BlueZ can filter by UUIDs, but looks for them only in lists of services, and the advertisement has no room for
    /// such a list. So the filter names the transport alone. Repeated data is wanted because a host's address changes.
    private func start(_ adapter: String, _ onAnswer: @escaping (Bool) -> Void) {
        let filter: [(key: String, value: BusArgument)] = [
            ("Transport", .text("le")), ("DuplicateData", .boolean(true)),
        ]
        bluez.service?.call(adapter, Self.interface, "SetDiscoveryFilter", [.dictionary(filter)])
        bluez.service?.call(adapter, Self.interface, "StartDiscovery") { reply in
            if case .values = reply { onAnswer(true) } else { onAnswer(false) }
        }
    }

    private func stop(_ adapter: String, _ onAnswer: @escaping () -> Void) {
        bluez.service?.call(adapter, Self.interface, "StopDiscovery") { _ in onAnswer() }
    }
}
