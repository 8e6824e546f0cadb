import BeamDiscovery
import Dispatch
import Synchronization

/// Whether hosts find each other by themselves.
enum DiscoveryCheck {
    /// Avahi reports at once whether it is there, and all hosts of the network within some seconds.
    private static let patience = 5.0

    static func finding() -> Finding {
        let sightings = Sightings()
        let browser = ServiceBrowser(type: ServiceType.control) { sightings.note($0) }
        _ = sightings.done.wait(timeout: .now() + patience)
        browser.stop()
        let (names, problem) = sightings.state.withLock { ($0.names, $0.problem) }
        if let problem { return Finding("discovery", .broken, problem) }
        return Finding(
            "discovery", .good,
            names.isEmpty
                ? "Avahi answers. No host is on this network at present."
                : "Avahi answers, and \(names.count == 1 ? "1 host is" : "\(names.count) hosts are") on this network.")
    }

    /// Written by the thread of discovery, read by the check's.
    private final class Sightings: Sendable {
        let state = Mutex<(names: Set<String>, problem: String?)>(([], nil))
        let done = DispatchSemaphore(value: 0)

        func note(_ event: BrowserEvent) {
            switch event {
            case .found(let host): state.withLock { _ = $0.names.insert(host.name) }
            case .lost(let name): state.withLock { _ = $0.names.remove(name) }
            case .available: state.withLock { $0.problem = nil }
            case .unavailable(let reason):
                state.withLock { $0.problem = reason }
                done.signal()
            case .settled: done.signal()
            }
        }
    }
}
