import BeamDesktop
import BeamLog
import BeamNetwork
import Synchronization

/// What the desktop around the host says to its viewers: a locked screen, an empty battery; and the host's presence over
/// Bluetooth.
final class HostDesktop: Sendable {
    private let watch: DesktopWatch
    private let presence: BluetoothPresence?
    private let advertised: @Sendable () -> [String]
    private let port: UInt16
    private let key: [UInt8]
    private let onWatched: (@Sendable (Bool) -> Void)?
    /// As last said, and how often.
    private let audience = Mutex((isWatched: false, calls: 0))

    /// - Parameters:
    ///   - onLock: is told when the screen was locked or unlocked.
    ///   - write: writes to the room in which viewers read what happens here.
    init(
        _ options: HostOptions, _ port: UInt16, onLock: @escaping @Sendable (Bool) -> Void,
        write: @escaping @Sendable (LogInput) -> Void
    ) {
        watch = DesktopWatch { event in
            switch event {
            case .screenLocked(let isLocked):
                onLock(isLocked)
                write(.alert(isLocked ? .locked : .unlocked))
            case .batteryLow(let percent): write(.alert(.batteryLow(percent: percent)))
            case .batteryFine: write(.alert(.batteryFine))
            }
        }
        let bound = options.server.bindAddress
        advertised = { bound.map { [$0] } ?? LocalAddresses.list() }
        self.port = port
        onWatched = options.onWatched
        key = options.server.session.door.trust.own.bytes
        presence = options.isAnnounced && options.usesBluetooth && options.room == nil ? BluetoothPresence() : nil
    }

    /// This machine's addresses may have changed.
    func updateAddresses() { presence?.update(addresses: advertised(), port: port) }

    /// The machine stays awake while somebody watches, and the desktop quiet. Called once a second.
    func setWatched(_ isWatched: Bool) {
        let (isNew, isDue) = audience.withLock { audience in
            let isNew = audience.isWatched != isWatched
            defer { audience = (isWatched, isNew ? 1 : audience.calls + 1) }
            // Again now and then: a service that couldn't do it the first time may be able to later.
            return (isNew, isNew || isWatched && audience.calls % 60 == 0)
        }
        if isDue { watch.keepAwake(isWatched) }
        if isNew { onWatched?(isWatched) }
    }

    func start() {
        watch.start()
        presence?.advertise(addresses: advertised(), port: port, key: key)
    }

    func stop() {
        setWatched(false)
        watch.stop()
        presence?.stop()
    }
}
