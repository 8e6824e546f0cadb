import BeamMedia
import BeamSession
import BeamTrust
import BeamWeb
import BeamWire
import Synchronization

/// Gateways by which browsers watch: a sink of the stream, beside the network's and the browsers' own. Each has a connection,
/// a mountpoint and a demand of its own.
final class GatewaySink: FrameSink {
    private struct Member: Sendable {
        let gateway: WebGateway
        let consumer: EncoderDemand.Consumer
    }

    private let members: [Member]
    private let records: GatewayRecords
    private let ready: Doors

    /// What the gateways want of the sound together.
    private final class Sound: Sendable {
        private let demands = Mutex<[Int: SoundDemand]>([:])
        private let wish: SoundWish

        init(_ wish: SoundWish) { self.wish = wish }

        func set(_ demand: SoundDemand, of gateway: Int) {
            // Told under the lock: of two gateways at a time the later one has the last word.
            demands.withLock { demands in
                demands[gateway] = demand
                wish.set(demands.values.reduce(SoundDemand()) { $0.union($1) })
            }
        }
    }

    /// The gateways by which browsers can watch now.
    private final class Doors: Sendable {
        private let doors = Mutex<[Int: GatewayDoor]>([:])
        private let onChange: @Sendable ([GatewayDoor]) -> Void

        init(_ onChange: @escaping @Sendable ([GatewayDoor]) -> Void) { self.onChange = onChange }

        func handle(_ event: GatewayEvent, _ door: GatewayDoor, of gateway: Int) {
            switch event {
            case .ready: set(door, of: gateway)
            case .problem: set(nil, of: gateway)
            case .viewers: break
            }
        }

        var all: [GatewayDoor] { doors.withLock { Self.inOrder($0) } }

        private static func inOrder(_ doors: [Int: GatewayDoor]) -> [GatewayDoor] {
            doors.sorted { $0.key < $1.key }.map(\.value)
        }

        private func set(_ door: GatewayDoor?, of gateway: Int) {
            // Told under the lock: of two gateways at a time the later one has the last word.
            doors.withLock { doors in
                doors[gateway] = door
                onChange(Self.inOrder(doors))
            }
        }
    }

    /// Begins to connect to all of them.
    ///
    /// - Parameter onChange: told those by which browsers can watch.
    init(
        _ options: HostGateways, stream: BrowserStream.Configuration, _ wanted: EncoderDemand, sound: SoundWish,
        store: TrustStore, onChange: @escaping @Sendable ([GatewayDoor]) -> Void,
        _ onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws {
        let records = GatewayRecords(store)
        self.records = records
        let sound = Sound(sound)
        let doors = Doors(onChange)
        ready = doors
        var random = SystemRandomNumberGenerator()
        var members: [Member] = []
        do {
            for (index, address) in options.addresses.enumerated() {
                let consumer = wanted.addConsumer()
                let name = address.description
                let point = GatewayMountpoint(random: &random)
                let door = GatewayDoor(address, point, options.credentials)
                let leftovers = try records.begin(point, at: name)
                let gateway = try WebGateway(
                    WebGateway.Options(
                        address: address, credentials: options.credentials, certificate: options.certificate,
                        mountpoint: point, leftovers: leftovers, stream: stream),
                    handlers: WebGateway.Handlers(
                        requestKeyframe: { consumer.requestKeyframe(layer: $0) },
                        onDemand: { consumer.set($0, layer: $1) },
                        onSoundDemand: { sound.set($0, of: index) },
                        onEvent: { event in
                            doors.handle(event, door, of: index)
                            onNotice(.gateway(name, event))
                        },
                        onCleared: { records.forget($0) }))
                members.append(Member(gateway: gateway, consumer: consumer))
            }
        } catch {
            Self.end(members)
            records.finish()
            throw error
        }
        self.members = members
    }

    func open() {}

    func push(_ frame: EncodedFrame) {
        for member in members where member.consumer.takes(frame) { member.gateway.submit(frame) }
    }

    func push(_ sound: EncodedSound) {
        for member in members { member.gateway.submit(sound) }
    }

    /// Ends the streams of all who watch at the gateways; returns after 2 s at the latest, however many don't answer.
    func close() {
        Self.end(members)
        records.finish()
    }

    private static func end(_ members: [Member]) {
        for member in members { member.gateway.beginShutdown() }
        for member in members { member.gateway.shutdown() }
    }

    /// Those by which browsers can watch now.
    var doors: [GatewayDoor] { ready.all }

    var figures: [GatewayFigures] { members.map(\.gateway.figures) }
}

/// What the gateways have got of this host, in the private store, written on a thread of its own.
private final class GatewayRecords: Sendable {
    private let store: TrustStore
    private let queue: TrustQueue
    private let run = HostRun.current

    init(_ store: TrustStore) {
        self.store = store
        queue = TrustQueue(store)
    }

    /// Keeps the mountpoint before anybody can make it. Returns those that killed hosts have left there.
    func begin(_ point: GatewayMountpoint, at gateway: String) throws(TrustStoreError) -> [GatewayMountpoint] {
        let abandoned = try store.abandonedMountpoints(at: gateway)
        if let run { try store.keepMountpoint(point, at: gateway, of: run) }
        return abandoned
    }

    /// A record that stays does no harm: the next host asks the gateway in vain.
    func forget(_ point: GatewayMountpoint) {
        _ = queue.perform { store in try? store.forgetMountpoint(point) }
    }

    /// Waits until everything is written.
    func finish() { _ = queue.finish() }
}
