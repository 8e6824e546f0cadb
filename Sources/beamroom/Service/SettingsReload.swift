import ArgumentParser
import BeamDesktop
import BeamTerminal
import Synchronization

/// Reads the file of settings and the paired devices again while a command runs (SIGHUP).
///
/// Some options are in force at once. The rest has made what runs what it is, and takes a new start, which the person is
/// told.
final class SettingsReload: Sendable {
    /// What runs, and changes.
    struct Subject: Sendable {
        /// Names of options that are in force at once.
        var atOnce: Set<String>
        /// What the service does, as systemd shows it.
        var status: @Sendable () -> String
        var reloadDevices: @Sendable () -> Void
        /// Puts into force what can be: the command as it would be started now, and the names of options that aren't as
        /// they were.
        var apply: @Sendable (any ParsableCommand, Set<String>) -> Void
    }

    private struct State {
        /// As last read.
        var settings: [String: [String]] = [:]
        var subject: Subject?
    }

    private let context: CommandContext
    private let state: Mutex<State>

    init(_ context: CommandContext) {
        self.context = context
        state = Mutex(State(settings: Self.values((try? Beamroom.joined()?.settings) ?? [])))
    }

    /// From now on there is what changes.
    func connect(_ subject: Subject) { state.withLock { $0.subject = subject } }

    /// What a signal calls.
    var handler: @Sendable () -> Void { { [self] in perform() } }

    /// Not on an event loop: it reads files.
    private func perform() {
        // Nil: the settings were read a moment ago.
        guard let subject = state.withLock({ $0.subject }) else { return }
        ServiceManager.current?.reloading()
        defer { ServiceManager.current?.ready(subject.status()) }
        subject.reloadDevices()
        do {
            let joined = try Beamroom.joined()
            let changed = change(to: Self.values(joined?.settings ?? []))
            subject.apply(try Beamroom.command(joined), changed)
            context.say(Self.words(changed, atOnce: subject.atOnce))
        } catch {
            context.say(
                "Warning: The settings weren't read again, and those before stay in force. \(Self.reason(error))")
        }
    }

    /// The names of those that aren't as they were.
    private func change(to settings: [String: [String]]) -> Set<String> {
        state.withLock { state in
            defer { state.settings = settings }
            return Set(settings.keys).union(state.settings.keys).filter { settings[$0] != state.settings[$0] }
        }
    }

    private static func values(_ settings: [Setting]) -> [String: [String]] {
        Dictionary(settings.map { ($0.name, $0.values) }, uniquingKeysWith: { $1 })
    }

    private static func words(_ changed: Set<String>, atOnce: Set<String>) -> String {
        let (now, later) = (changed.intersection(atOnce).sorted(), changed.subtracting(atOnce).sorted())
        guard !changed.isEmpty else {
            return "The settings and the paired devices were read again: nothing has changed."
        }
        let parts = [
            now.isEmpty ? nil : "In force now: \(now.joined(separator: ", ")).",
            later.isEmpty ? nil : "From the next start on: \(later.joined(separator: ", ")).",
        ]
        return "The settings and the paired devices were read again. " + parts.compactMap { $0 }.joined(separator: " ")
    }

    private static func reason(_ error: any Error) -> String {
        (error as? SettingsError)?.description ?? Beamroom.message(for: error)
    }
}
