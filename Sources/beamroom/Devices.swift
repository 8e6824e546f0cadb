import ArgumentParser
import BeamTrust
import Foundation

/// `beamroom devices`.
struct Devices: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the devices that were paired with this one, renames and forgets them.",
        subcommands: [List.self, Rename.self, Forget.self], defaultSubcommand: List.self)

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the paired devices.")

        @Flag(help: "Write one JSON object a line on standard output.")
        var json = false

        func run() throws {
            let context = CommandContext(json: json)
            let devices: [RememberedDevice]
            do {
                devices = try TrustStore().devices()
            } catch {
                return try context.conclude(.failed("\(error)"))
            }
            for device in devices.sorted(by: { $0.name < $1.name }) {
                let roles = [
                    device.roles.contains(.viewer) ? "watches this machine" : nil,
                    device.roles.contains(.host) ? "is watched from here" : nil,
                ].compactMap { $0 }
                context.events.write(
                    "device",
                    [
                        "name": .string(device.name), "key": .string(device.key.description),
                        "roles": .array(device.roles.map(\.rawValue).sorted().map { .string($0) }),
                        "paired": .string(device.pairedAt.formatted(.iso8601)),
                    ])
                guard !json else { continue }
                let day = device.pairedAt.formatted(.iso8601.year().month().day())
                print("\(Console.printable(device.name))\t\(device.key)\t\(day)\t\(roles.joined(separator: ", "))")
            }
            if devices.isEmpty { context.console.say("No device is paired with this one.") }
        }
    }

    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Calls a paired device something else here, whatever it calls itself.")

        @Argument(help: ArgumentHelp("The device's name, or the first digits of its key.", valueName: "name"))
        var name: String
        @Argument(help: ArgumentHelp("What it is called from now on.", valueName: "new name"))
        var newName: String
        @Flag(help: "Write one JSON object a line on standard output.")
        var json = false

        func run() throws {
            let context = CommandContext(json: json)
            do {
                let device = try TrustStore().rename(matching: name, to: newName)
                context.events.write(
                    "renamed",
                    [
                        "name": .string(newName), "before": .string(device.name),
                        "key": .string(device.key.description),
                    ])
                context.console.say("“\(device.name)” is called “\(newName)” now.")
            } catch {
                try context.conclude(.failed("\(error)"))
            }
        }
    }

    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forgets a paired device; what it watches at the moment ends within a second.")

        @Argument(help: ArgumentHelp("The device's name, or the first digits of its key.", valueName: "name"))
        var name: String
        @Flag(help: "Write one JSON object a line on standard output.")
        var json = false

        func run() throws {
            let context = CommandContext(json: json)
            do {
                for device in try TrustStore().forget(matching: name) {
                    context.events.write(
                        "forgotten", ["name": .string(device.name), "key": .string(device.key.description)])
                    context.console.say("“\(device.name)” is forgotten.")
                }
            } catch {
                try context.conclude(.failed("\(error)"))
            }
        }
    }
}
