import ArgumentParser
import BeamDiscovery
import BeamTerminal
import BeamViewer
import BeamWire
import Foundation
import Synchronization

/// `beamroom hosts`.
struct HostsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hosts", abstract: "Lists the hosts on this network, the receivers, and the rooms.")

    @Option(
        help: ArgumentHelp("How long to search. 0 lists the hosts that answer at once.", valueName: "seconds"))
    var wait = 2.0
    @Flag(help: "Write one JSON object a line on standard output.")
    var json = false

    /// With `--wait 0`, in seconds: until all that Avahi knows is resolved.
    private static let longestLook = 5.0

    func validate() throws {
        guard wait >= 0, wait <= 3600 else { throw ValidationError("--wait takes a number of seconds from 0 to 3600.") }
    }

    func run() throws {
        let context = CommandContext(json: json)
        defer { context.close() }
        if !json { context.endWithReader() }
        let endings = EndingSources(context.latch, timeLimit: wait > 0 ? wait : Self.longestLook)
        defer { withExtendedLifetime(endings) {} }
        let hosts = HostList()
        let receivers = HostList()
        let isOneLook = wait == 0
        let rooms = MeshPresence()
        rooms.start()
        let latch = context.latch
        let settled = Mutex(0)
        let browsers = [(ServiceType.control, hosts), (ServiceType.receiver, receivers)].map { type, list in
            ServiceBrowser(type: type) { event in
                switch event {
                case .found(let host): list.add(host)
                case .lost(let name): list.remove(name)
                case .unavailable(let reason):
                    list.setProblem(reason)
                    if isOneLook { latch.end(.done) }
                case .available: list.setProblem(nil)
                case .settled:
                    let count = settled.withLock { count in
                        count += 1
                        return count
                    }
                    if isOneLook, count >= 2 { latch.end(.done) }
                }
            }
        }
        _ = context.latch.wait()
        for browser in browsers { browser.stop() }
        let found = isOneLook ? rooms.rooms(within: .seconds(Self.longestLook)) : rooms.found
        rooms.stop()
        try list(hosts, receivers, found, context)
    }

    private func list(
        _ hosts: HostList, _ receivers: HostList, _ rooms: [MeshPresence.Found], _ context: CommandContext
    ) throws {
        guard StandardStreams.hasReader else { return }
        if let problem = hosts.problem {
            return try context.conclude(.failed(problem))
        }
        for host in hosts.sorted {
            context.events.write(.list(.host(host)))
            if !json {
                let place = host.addresses.first ?? host.hostName
                Console.list("\(PeerText.name(host.name))\t\(Console.printable(place))\t\(host.port)")
            }
        }
        for receiver in receivers.sorted {
            context.events.write(.list(.receiver(receiver)))
            if !json {
                let (name, place) = (PeerText.name(receiver.name), receiver.addresses.first ?? receiver.hostName)
                Console.list(
                    "\(name)\t\(Console.printable(place))\t\(receiver.port)\treceiver: beamroom share --to "
                        + CommonText.shellWord(name))
            }
        }
        for room in rooms {
            guard let door = room.doors.first else { continue }
            let people = room.standing?.members ?? 1
            context.events.write(.list(.room(name: room.room, members: people, doors: room.doors)))
            if !json {
                // How it is entered takes the place of what a host doesn't have.
                Console.list(
                    "\(room.room)\t\(Console.printable(door.host))\t\(door.port)\troom, "
                        + "\(CommonText.count(people, "person", "people")): beamroom room \(CommonText.shellWord(room.room))"
                )
            }
        }
        if hosts.sorted.isEmpty, receivers.sorted.isEmpty, rooms.isEmpty {
            let time = wait > 0 ? " in \(CommonText.number(wait)) s" : ""
            context.console.say(
                "No host, no receiver and no room was found\(time). Run `beamroom share` on the machine that you want to watch."
            )
        }
    }
}

/// The hosts found so far. The discovery thread writes, the main thread reads; the `Mutex` guards both.
private final class HostList: Sendable {
    private struct State {
        var hosts: [String: DiscoveredHost] = [:]
        var problem: String?
    }

    private let state = Mutex(State())

    var sorted: [DiscoveredHost] { state.withLock { $0.hosts.values.sorted { $0.name < $1.name } } }
    var problem: String? { state.withLock { $0.problem } }

    func add(_ host: DiscoveredHost) { state.withLock { $0.hosts[host.name] = host } }
    func remove(_ name: String) { state.withLock { _ = $0.hosts.removeValue(forKey: name) } }
    func setProblem(_ problem: String?) { state.withLock { $0.problem = problem } }
}
