import ArgumentParser
import BeamLog
import BeamTerminal
import BeamTrust
import Foundation

/// `beamroom devices`.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "Lists, renames and removes paired devices, and lists who watches now.",
        subcommands: [List.self, Rename.self, Forget.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the paired devices, and who watches this machine now.")

        @Flag(help: "Write one JSON object a line on standard output.")
        var json = false

        func run() throws {
            let context = CommandContext(json: json)
            defer { context.close() }
            let devices: [RememberedDevice]
            let watching: [Guest]
            do {
                let store = try TrustStore()
                devices = try store.devices()
                watching = try store.watching().map(\.guest)
            } catch {
                return try context.conclude(.failed("\(error)"))
            }
            var rows: [[String]] = []
            for device in devices.sorted(by: { $0.name < $1.name }) {
                let isWatching = watching.contains { $0.identity == .device(device.key) }
                let roles = [
                    isWatching ? "watching now" : nil,
                    device.roles.contains(.viewer) ? "may watch" : nil,
                    device.roles.contains(.host) ? "may be watched from here" : nil,
                    device.roles.contains(.sender) ? "may show its screen here" : nil,
                    device.roles.contains(.receiver) ? "is a receiver for this screen" : nil,
                ].compactMap { $0 }
                context.events.write(.list(.device(device, isWatching: isWatching)))
                guard !json else { continue }
                let day = device.pairedAt.formatted(.iso8601.year().month().day())
                rows.append(
                    ["“\(Console.printable(device.name))”", "\(device.key)", day, roles.joined(separator: ", ")])
            }
            let guests = unremembered(watching, devices)
            for guest in guests {
                if let row = tell(guest, context) { rows.append(row) }
            }
            for line in CommonText.columns(rows) { Console.list(line) }
            if devices.isEmpty, guests.isEmpty {
                context.console.say(
                    "No device is paired with this one. `beamroom share` and `beamroom watch` pair devices.")
            }
        }

        /// Viewers that watch now and aren't remembered, each once, even if it watches several times.
        private func unremembered(_ watching: [Guest], _ devices: [RememberedDevice]) -> [Guest] {
            let known = Set(devices.map { Guest.Identity.device($0.key) })
            var seen = known
            return watching.filter { seen.insert($0.identity).inserted }.sorted { $0.shownName < $1.shownName }
        }

        /// Nil: it was told as JSON.
        private func tell(_ guest: Guest, _ context: CommandContext) -> [String]? {
            context.events.write(.list(.guest(guest)))
            guard !json else { return nil }
            let identity =
                switch guest.identity {
                case .device(let key): key.description
                case .address: "unencrypted"
                case .browser: "a browser"
                }
            return ["“\(Console.printable(guest.shownName))”", identity, "not remembered", "watching now"]
        }
    }

    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Changes the name of a paired device on this machine.")

        @Argument(help: ArgumentHelp("The device's name, or the first digits of its key.", valueName: "name"))
        var name: String
        @Argument(help: ArgumentHelp("Its new name.", valueName: "new name"))
        var newName: String
        @Flag(help: "Write one JSON object a line on standard output.")
        var json = false

        func run() throws {
            let context = CommandContext(json: json)
            defer { context.close() }
            do {
                let device = try TrustStore().rename(matching: name, to: newName)
                context.tell(
                    .list(.renamed(device, to: newName)), "“\(device.name)” is now called “\(newName)”.")
            } catch {
                try context.conclude(.failed("\(error)"))
            }
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forgets a device. If it is watching, its stream ends within a second.",
            discussion: "A viewer that isn't remembered is sent away and kept out until the host ends.")

        @Argument(
            help: ArgumentHelp(
                "The device's name, the first digits of its key, or the address of an unencrypted viewer.",
                valueName: "name"))
        var name: String
        @Flag(help: "Write one JSON object a line on standard output.")
        var json = false

        func run() throws {
            let context = CommandContext(json: json)
            defer { context.close() }
            do {
                let eviction = try TrustStore().forget(matching: name)
                context.tell(
                    .list(.forgotten(eviction)),
                    eviction.wasRemembered
                        ? "“\(eviction.name)” is forgotten."
                        : "“\(eviction.name)” is sent away and kept out until the host ends.")
            } catch {
                try context.conclude(.failed("\(error)"))
            }
        }
    }
}
