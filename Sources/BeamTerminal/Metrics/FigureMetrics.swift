import BeamHost
import BeamMedia
import BeamMetrics
import BeamViewer
import Synchronization

/// The figures of `--json`'s `stats` as metrics, and where they are served (`--metrics`).
///
/// It gets the events that programs get (`EventWriter`), so both say the same. What isn't in the newest `stats` any more,
/// such as a viewer that has left, is gone from the metrics, too.
public final class FigureMetrics: Sendable {
    /// One of several hosts that are watched.
    struct Part: Hashable {
        /// As it is called here; not unique in a room.
        var name: String
        /// Unique: a device's key, or the name on the command line.
        var id: String
    }

    /// What the lock protects. `MetricSet` isn't for two threads.
    private struct State: ~Copyable {
        let process: MetricSet
        var host: HostMetrics?
        /// By part; nil: the only host that is watched.
        var watched: [Part?: (set: MetricSet, number: Int, isFresh: Bool)] = [:]
        var room: MetricSet?
        var server: MetricsServer?
    }

    private let registry = MetricsRegistry(FigureFamilies.all)
    private let processFigures = ProcessFigures()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - command: for example `share`.
    ///   - commit: of the program; nil: it isn't known.
    public init(command: String, version: String, commit: String?) {
        MetricSet(registry, labels: [("version", version), ("commit", commit ?? ""), ("command", command)])
            .set("beamroom_build_info", 1)
        state = Mutex(State(process: MetricSet(registry)))
    }

    // MARK: Serving

    /// The port that is served; nil: none.
    var port: UInt16? { state.withLock { $0.server?.address.port } }

    /// Serves the metrics; returns where.
    func open(_ address: MetricsAddress) throws(MetricsError) -> MetricsAddress {
        let server = try MetricsServer(address) { [weak self] in self?.text ?? "" }
        state.withLock { $0.server = server }
        return server.address
    }

    func close() {
        let server = state.withLock { state in
            defer { state.server = nil }
            return state.server
        }
        // It may be asking for the text.
        server?.shutdown()
    }

    /// Everything in Prometheus' format.
    var text: String {
        state.withLock { processFigures.record(into: $0.process) }
        return registry.text
    }

    // MARK: Figures

    /// An event that programs are told, too. `part`: of which one of several hosts.
    func note(_ event: ProgramEvent, of part: Part?) {
        switch event {
        case .share(.stats(let report, _, _)): state.withLock { share(report, &$0) }
        case .watch(.stats(let report)): state.withLock { watch(report, part, &$0) }
        case .room(.stats(let here, let sharing, _, _, let browsers, let report)):
            state.withLock { state in
                room(here: here, sharing: sharing, browsers: browsers, &state)
                share(report, &state)
                sweep(&state)
            }
        case .receiver(.waiting):
            state.withLock { state in
                for watched in state.watched.values { watched.set.end() }
                state.watched = [:]
            }
        default: break
        }
    }

    /// Nil: nothing is shared any more.
    private func share(_ report: HostReport?, _ state: inout State) {
        guard let report else {
            state.host?.end()
            state.host = nil
            return
        }
        let host = state.host ?? HostMetrics(registry)
        state.host = host
        host.note(report)
    }

    private func watch(_ report: ViewerReport, _ part: Part?, _ state: inout State) {
        let (set, number, _) = state.watched[part] ?? newPart(part, state.watched)
        state.watched[part] = (set, number, true)
        set.note(report)
    }

    private func newPart(
        _ part: Part?, _ others: [Part?: (set: MetricSet, number: Int, isFresh: Bool)]
    ) -> (set: MetricSet, number: Int, isFresh: Bool) {
        guard let part else { return (MetricSet(registry), 1, true) }
        let taken = Set(others.filter { $0.key?.name == part.name }.map(\.value.number))
        let number = TwinNumber.free(taken)
        return (MetricSet(registry, labels: [("host", part.name), ("number", String(number))]), number, true)
    }

    private func room(here: Int, sharing: Int, browsers: Int?, _ state: inout State) {
        let set = state.room ?? MetricSet(registry)
        state.room = set
        set.set("beamroom_room_members", Double(here))
        set.set("beamroom_room_sharing_members", Double(sharing))
        set.set("beamroom_room_browsers", browsers.map(Double.init))
    }

    /// Forgets whom this device watches no more: of those no `stats` have come since the room's last ones.
    private func sweep(_ state: inout State) {
        for (part, watched) in state.watched {
            if watched.isFresh {
                state.watched[part]?.isFresh = false
            } else {
                watched.set.end()
                state.watched[part] = nil
            }
        }
    }
}

/// Keeps those of one name apart: the label `number`.
enum TwinNumber {
    /// The smallest number that none of the others has. It stays theirs, so that counters don't change their owner.
    static func free(_ taken: Set<Int>) -> Int { (1...taken.count + 1).first { !taken.contains($0) } ?? 1 }
}
