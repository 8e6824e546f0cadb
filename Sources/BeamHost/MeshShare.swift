import BeamNetwork
import Dispatch
import Synchronization

/// What a member of a room of equals shares: it begins and ends as often as the person likes.
///
/// Hosts are opened and stopped one after another on a thread of their own, because both wait for displays and encoders.
public final class MeshShare: Sendable {
    public enum Notice: Sendable {
        case began(HostDescription, warnings: [String])
        /// It couldn't begin; a sentence for a person.
        case failed(reason: String)
        /// `reason`: why it has ended by itself; nil: the person has ended it.
        case ended(reason: String?)
        case host(HostNotice)
    }

    private struct State {
        var host: Host?
        var isWanted = false
        var isStopped = false
        /// Counts the hosts, so that the end of an earlier one isn't taken for that of the present one.
        var number = 0
    }

    private let makeOptions: @Sendable (_ isWanted: @escaping @Sendable () -> Bool) throws -> HostOptions
    private let onNotice: @Sendable (Notice) -> Void
    private let queue = DispatchQueue(label: "beam-room-share")
    private let state = Mutex(State())

    /// - Parameters:
    ///   - options: called on the thread of its own whenever sharing begins; with `HostOptions.room`. It may take its time,
    ///     for a person to choose what is shared, as long as what it is given answers yes.
    ///   - onNotice: called on that thread and the hosts'.
    public init(
        _ options: @escaping @Sendable (_ isWanted: @escaping @Sendable () -> Bool) throws -> HostOptions,
        onNotice: @escaping @Sendable (Notice) -> Void
    ) {
        makeOptions = options
        self.onNotice = onNotice
    }

    /// Nil while nothing is shared.
    public var host: Host? { state.withLock { $0.host } }

    /// Whether something is shared, or is about to be.
    public var isOn: Bool { state.withLock { $0.isWanted } }

    /// Begins to share, or ends that. Returns at once.
    public func set(_ isOn: Bool) {
        let isNews = state.withLock { state in
            guard !state.isStopped, state.isWanted != isOn else { return false }
            state.isWanted = isOn
            return true
        }
        if isNews { queue.async { [self] in follow(because: nil) } }
    }

    public func toggle() { set(!isOn) }

    public func setPaused(_ isPaused: Bool) { host?.setPaused(isPaused) }

    public func togglePause() { if let host { host.setPaused(!host.isPaused) } }

    /// Ends sharing for good; returns when that is done. Before the room is left.
    public func stop() {
        state.withLock { state in
            state.isStopped = true
            state.isWanted = false
        }
        queue.sync { follow(because: nil) }
    }

    // MARK: On the queue

    private func follow(because reason: String?) {
        let (isWanted, host) = state.withLock { ($0.isWanted, $0.host) }
        if isWanted, host == nil { begin() }
        guard !isWanted, let host else { return }
        state.withLock { $0.host = nil }
        host.stop()
        onNotice(.ended(reason: reason))
    }

    private func begin() {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        do {
            let options = try makeOptions { [weak self] in self?.isOn == true }
            let host = try Host(options) { [weak self] notice in
                if case .ended(let reason, _, _) = notice { self?.hostEnded(number, reason) }
                self?.onNotice(.host(notice))
            }
            state.withLock { $0.host = host }
            onNotice(.began(host.description, warnings: host.warnings))
        } catch {
            state.withLock { $0.isWanted = false }
            onNotice(.failed(reason: "\(error)"))
        }
    }

    /// The source has gone, for example. Called on the host's threads, which can't stop it.
    private func hostEnded(_ number: Int, _ reason: String) {
        queue.async { [self] in
            let isCurrent = state.withLock { state in
                guard state.number == number, state.host != nil else { return false }
                state.isWanted = false
                return true
            }
            if isCurrent { follow(because: reason) }
        }
    }
}
