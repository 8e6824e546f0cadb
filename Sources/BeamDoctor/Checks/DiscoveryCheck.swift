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
        return finding(sightings.state.withLock { $0 })
    }

    static func finding(_ seen: Seen) -> Finding {
        if let problem = seen.problem { return Finding("discovery", .broken, problem) }
        guard seen.hasAnswered else {
            return Finding(
                "discovery", .broken,
                "Avahi hasn't answered for \(Int(patience)) s, so hosts aren't found. Start it anew: `sudo systemctl restart avahi-daemon`."
            )
        }
        let names = seen.names
        return Finding(
            "discovery", .good,
            names.isEmpty
                ? "Avahi answers. No host is on this network at present."
                : "Avahi answers, and \(names.count == 1 ? "1 host is" : "\(names.count) hosts are") on this network.")
    }

    struct Seen {
        var names: Set<String> = []
        var problem: String?
        /// Avahi has said anything at all.
        var hasAnswered = false
    }

    /// Written by the thread of discovery, read by the check's.
    private final class Sightings: Sendable {
        let state = Mutex(Seen())
        let done = DispatchSemaphore(value: 0)

        func note(_ event: BrowserEvent) {
            state.withLock { $0.hasAnswered = true }
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
