import BeamBus
import CLateLibraries
import Synchronization

/// Advertises this host over Bluetooth LE, and finds other hosts that do, through BlueZ. For machines whose network
/// doesn't pass multicast.
///
/// Without a bus, BlueZ, an adapter or the permission to use it nothing happens, and it begins as soon as they are
/// there. All calls return at once, except `stop`.
///
/// An advertisement tells everybody nearby the address, the port and the first 4 bytes of the device key, in clear.
public final class BluetoothPresence: Sendable {
    private let bus: String?
    private let isLibraryThere: @Sendable () -> Bool
    private let onHost: @Sendable (BluetoothHost) -> Void
    /// The thread exists while something is wanted of it.
    private let state = Mutex(State())

    private struct State {
        var runner: BusRunner<BluetoothWork>?
        var key: [UInt8] = []
    }

    /// - Parameters:
    ///   - buses: the system bus is used.
    ///   - onHost: called while searching, on a thread of its own, one host at a time: once for each host during a
    ///     search, and again when it has changed. May call any function.
    public convenience init(
        buses: BusAddresses = .ofThisMachine, onHost: @escaping @Sendable (BluetoothHost) -> Void = { _ in }
    ) {
        self.init(buses: buses, isLibraryThere: { beam_load_libsystemd() == nil }, onHost: onHost)
    }

    init(
        buses: BusAddresses, isLibraryThere: @escaping @Sendable () -> Bool,
        onHost: @escaping @Sendable (BluetoothHost) -> Void
    ) {
        bus = buses.system
        self.isLibraryThere = isLibraryThere
        self.onHost = onHost
    }

    deinit { stop() }

    /// Advertises this host until `stop`.
    ///
    /// - Parameters:
    ///   - addresses: numeric, best first. The first IPv4 address that isn't loopback is advertised, a link-local one
    ///     only if there is no other. Without one, nothing is advertised until `update`.
    ///   - port: the TCP port of the control connection.
    ///   - key: the device key, of which the first 4 bytes are advertised. Must not be shorter.
    public func advertise(addresses: [String], port: UInt16, key: [UInt8]) {
        let prefix = Array(key.prefix(BluetoothPayload.keyPrefixBytes))
        state.withLock { $0.key = prefix }
        update(addresses: addresses, port: port)
    }

    /// Advertises other addresses or another port, after `advertise`. Without an IPv4 address, nothing is advertised.
    public func update(addresses: [String], port: UInt16) {
        perform { key in
            let payload = BluetoothPayload(addresses: addresses, port: port, key: key)
            return { $0.advertise(payload) }
        }
    }

    /// Looks for hosts, until `endSearch` or `stop`.
    public func search() { perform { _ in { $0.search(true) } } }

    /// Ends the search; no host is reported until the next one. A host that is being reported may still come.
    public func endSearch() { perform { _ in { $0.search(false) } } }

    /// Withdraws the advertisement and ends the search. Usually takes milliseconds, and at most 3 s. After this
    /// returns, no host is reported. Called from `onHost`, it doesn't wait.
    public func stop() { state.withLock { $0.runner.take() }?.stop() }

    private func perform(_ job: ([UInt8]) -> @Sendable (BluetoothWork) -> Void) {
        let (runner, key) = state.withLock { state in
            let runner =
                state.runner
                ?? BusRunner("bluetooth", isLibraryThere: isLibraryThere) { [bus, onHost] loop in
                    BluetoothWork(loop, bus: bus, onHost)
                }
            state.runner = runner
            return (runner, state.key)
        }
        runner.start()
        runner.perform(job(key))
    }
}

/// The presence's work; all on its thread.
private final class BluetoothWork: BusWork {
    private let loop: BusLoop
    private let bus: Bus?
    private let onHost: @Sendable (BluetoothHost) -> Void
    private var bluez: BlueZ?
    private var advertiser: Advertiser?
    private var searcher: Searcher?

    init(_ loop: BusLoop, bus address: String?, _ onHost: @escaping @Sendable (BluetoothHost) -> Void) {
        self.loop = loop
        self.onHost = onHost
        bus = loop.bus(at: address)
    }

    func begin() {
        guard let bus else { return }
        let bluez = BlueZ(on: bus) { [weak self] event in
            switch event {
            case .adapters:
                self?.advertiser?.adaptersChanged()
                self?.searcher?.adaptersChanged()
            case .lost:
                self?.advertiser?.lost()
                self?.searcher?.lost()
            case .device(let properties):
                self?.searcher?.heard(properties)
            }
        }
        let advertiser = Advertiser(loop, on: bus, bluez)
        bus.onCall = { [weak advertiser] call in advertiser?.answer(call) ?? .unknown }
        self.bluez = bluez
        self.advertiser = advertiser
        searcher = Searcher(loop, bluez) { [loop, onHost] host in
            if !loop.isStopping() { onHost(host) }
        }
    }

    func advertise(_ payload: BluetoothPayload?) { advertiser?.payload = payload }

    func search(_ isWanted: Bool) { searcher?.isWanted = isWanted }

    func end() {
        advertise(nil)
        search(false)
    }

    var hasEnded: Bool { advertiser?.isBusy != true && searcher?.isBusy != true }
}
