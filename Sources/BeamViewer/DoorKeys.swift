import BeamIdentity
import BeamNetwork
import BeamSession
import BeamSockets
import BeamWire
import Dispatch
import Synchronization

/// The keys at the doors of rooms, proved by TLS. Nobody is asked anything there, and nothing is told but this device's
/// own key, which TLS needs.
public enum DoorKeys {
    /// Connects to all doors at the same time. Waits until all have answered, or for `time`. Not on the main thread of a
    /// window.
    public static func find(
        at doors: [Endpoint], as identity: LocalIdentity, within time: Duration
    ) -> [Endpoint: DeviceKey] {
        let loop = NetworkLoop()
        // No other device is what is looked for, so every one is refused, and named.
        let trust = ViewerTrust(
            own: identity.deviceKey, name: "", instance: 0, required: [identity.deviceKey], pairs: false,
            remembersNewHosts: false)
        let answers = Answers()
        let clients = doors.map { door in
            ViewerClient(
                identity: identity, session: ViewerSession.Configuration(trust: trust),
                handlers: ViewerClient.Handlers(
                    onEvent: { event in
                        if case .mistrusted(.otherKey(let other)) = event { answers.note(other.key, at: door) }
                    }, locate: { [door] }), options: ViewerClient.Options(loop: loop))
        }
        for client in clients { client.begin() }
        answers.wait(for: doors.count, within: time)
        for client in clients { client.shutdown() }
        loop.shutdown()
        return answers.keys
    }

    private final class Answers: Sendable {
        private let found = Mutex<[Endpoint: DeviceKey]>([:])
        private let hasAnswered = DispatchSemaphore(value: 0)

        var keys: [Endpoint: DeviceKey] { found.withLock { $0 } }

        func note(_ key: DeviceKey, at door: Endpoint) {
            let isFirst = found.withLock { $0.updateValue(key, forKey: door) == nil }
            if isFirst { hasAnswered.signal() }
        }

        func wait(for count: Int, within time: Duration) {
            let end = DispatchTime.now() + time.inSeconds
            for _ in 0..<count where hasAnswered.wait(timeout: end) == .timedOut { return }
        }
    }
}
