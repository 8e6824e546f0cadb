import BeamDesktop
import BeamHost
import BeamSession
import BeamTerminal
import Synchronization

/// Reads the file of settings and the paired devices again while a screen is shared (SIGHUP).
///
/// What says who is let in, and what is written and run, changes at once. The rest has made the host what it is, and takes
/// a new start, which the person is told.
final class ShareReload: Sendable {
    /// Names of options that are in force at once.
    private static let atOnce: Set<String> = [
        "accept", "trusted-only", "code", "log-level", "on-start", "on-join", "on-leave", "on-stop",
    ]

    private struct State {
        /// As last read.
        var settings: [String: [String]] = [:]
        var host: Host?
        /// How viewers without a code are let in, as a command has it here.
        var acceptance: (@Sendable (ShareCommand) -> Door.Acceptance)?
    }

    private let context: CommandContext
    private let state: Mutex<State>

    init(_ context: CommandContext) {
        self.context = context
        state = Mutex(State(settings: Self.values((try? Beamroom.joined()?.settings) ?? [])))
    }

    /// From now on there is what changes.
    func connect(_ host: Host, acceptance: @escaping @Sendable (ShareCommand) -> Door.Acceptance) {
        state.withLock { ($0.host, $0.acceptance) = (host, acceptance) }
    }

    /// Not on an event loop: it reads files.
    func perform() {
        guard let (host, acceptance) = state.withLock({ state in state.host.map { ($0, state.acceptance) } }) else {
            // The settings were read a moment ago.
            return
        }
        ServiceManager.current?.reloading()
        defer { ServiceManager.current?.ready("“\(host.description.name)” is shared") }
        host.reloadDevices()
        do {
            let joined = try Beamroom.joined()
            let changed = change(to: Self.values(joined?.settings ?? []))
            if let command = try joined?.parse() as? ShareCommand {
                apply(command, changed, host, acceptance?(command))
            }
            context.say(Self.words(changed))
        } catch {
            context.say(
                "Warning: The settings weren't read again, and those before stay in force. \(Self.reason(error))")
        }
    }

    private func apply(
        _ command: ShareCommand, _ changed: Set<String>, _ host: Host, _ acceptance: Door.Acceptance?
    ) {
        context.apply(commands: command.hooks.commands, logLevel: command.common.logLevel)
        if let acceptance, !changed.isDisjoint(with: ["accept", "trusted-only"]) {
            host.setPolicy(acceptance, takesNewViewers: !command.trustedOnly)
        }
        if changed.contains("code"), let code = command.code.code { host.setCode(code) }
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

    private static func words(_ changed: Set<String>) -> String {
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
