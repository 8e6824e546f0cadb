import BeamDiscovery
import BeamDisplay
import BeamIdentity
import BeamLog
import BeamMedia
import BeamNetwork
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire
import Dispatch
import Foundation
import Synchronization

/// How this device comes into its room: as one of those that are kept, by being let in by a member, or by making it.
public struct MeetingEntry: Sendable {
    /// How the room begins, and whether the others in it are those that the person means.
    struct Entrance {
        var beginning: MeshServer.Beginning
        /// Whether it is the room that the person means.
        var proof = MeetingProof.given
        /// The room was found on the network.
        var isFound = false
    }

    /// The door of a room that was found on the network.
    struct FoundRoom {
        var name: String
        var mark: MeshMark?
        var doors: [Endpoint]
        /// If it doesn't let this device in, that isn't the end: there is another room.
        var isOptional = false
    }

    /// How one member is asked.
    struct Knock {
        /// As it was found; nil: the person has named the address.
        var room: FoundRoom?
        /// How long to try to reach it; nil: until it is there or the person gives up.
        var patience: Duration?
        /// One of several doors at which the code is tried, so that the person isn't asked: how long it may take.
        var trial: Duration?
    }

    let context: CommandContext
    let store: TrustStore
    /// Nil: discovery isn't used.
    let presence: MeshPresence?
    /// This device's name, for the member that lets it in.
    let deviceName: String
    let code: PairingCode?
    /// Nil: no window.
    let window: WindowOptions?
    let terminal: TerminalQuestions
    /// Those with whom this device was in a room of this name.
    let acquaintances: @Sendable (_ room: String) -> [DeviceKey: String]

    /// - Parameters:
    ///   - presence: discovery; nil: it isn't used.
    ///   - deviceName: this device's name, for the member that lets it in.
    ///   - window: nil: none.
    public init(
        _ context: CommandContext, _ store: TrustStore, presence: MeshPresence?, deviceName: String, code: PairingCode?,
        window: WindowOptions?, terminal: TerminalQuestions,
        acquaintances: @escaping @Sendable (_ room: String) -> [DeviceKey: String]
    ) {
        (self.context, self.store, self.presence, self.deviceName) = (context, store, presence, deviceName)
        (self.code, self.window, self.terminal, self.acquaintances) = (code, window, terminal, acquaintances)
    }

    /// How long a member that was found is tried before another one is.
    static let patience = Duration.seconds(5)
    /// After a member that was found has been missing from discovery for so long, the room is sought anew.
    static let absence = Duration.seconds(2)

    /// Finds or enters the room. Waits for the network and the person, on the main thread.
    ///
    /// - Parameters:
    ///   - wanted: the room's name; nil: the only one, or one named after `machine`.
    ///   - address: of a member; nil: the room is sought.
    ///   - avoiding: rooms that don't let this device in.
    /// - Returns: nil if the program is to end.
    func find(
        _ wanted: String?, at address: Endpoint?, machine: String, within time: Duration,
        avoiding avoided: Set<MeshMark?> = []
    ) throws -> Entrance? {
        if let address { return try enter(at: address) }
        let kept = usable(try store.rooms(), wanted)
        if let wanted, let known = Self.remembered(wanted, in: kept) { return known }
        while context.latch.current == nil {
            let found = announced(within: time, but: avoided, named: wanted)
            guard context.latch.current == nil else { return nil }
            let name: String
            if let wanted {
                name = wanted
            } else {
                let names = Self.distinct(found.map(\.room))
                guard names.count < 2 else {
                    context.latch.end(
                        .failed(
                            "Several rooms are on this network: \(names.map { "“\($0)”" }.joined(separator: ", ")). "
                                + "Name one: `beamroom room NAME`."))
                    return nil
                }
                name = names.first ?? "Room of \(machine)"
                if let known = Self.remembered(name, in: kept) { return known }
            }
            // Of one name, the room that stays comes first.
            let rooms = found.filter { DeviceNames.areSame($0.room, name) }
            guard !rooms.isEmpty else {
                // One that has proved nothing is taken up if there is no other.
                guard let known = kept.first(where: { DeviceNames.areSame($0.room.name, name) }) else {
                    return Entrance(beginning: .found(name: name))
                }
                return Entrance(beginning: .resume(known.room(at: Date())), proof: .none(door: nil))
            }
            let answer: Outcome
            if code != nil, !canAsk || rooms.count > 1 || rooms[0].doors.count > 1 {
                answer = try tryCode(rooms.map { FoundRoom($0) }) {
                    announced(within: .zero, but: avoided, named: name)
                        .filter { DeviceNames.areSame($0.room, name) }.map { FoundRoom($0) }
                }
                if case .declined = answer { endWithoutCode(name) }
            } else {
                guard let chosen = try choose(rooms, name, kept) else { return nil }
                if let remembered = chosen.remembered, code == nil {
                    return Entrance(beginning: .resume(remembered), proof: .none(door: nil))
                }
                answer = try enter(
                    FoundRoom(name: chosen.found.room, mark: chosen.found.standing?.mark, doors: chosen.doors))
            }
            // Its members have gone to another one, for example.
            guard case .gone = answer else { return answer.entrance }
        }
        return nil
    }

    /// The rooms that can be resumed. Says so if the one that is wanted can't.
    private func usable(_ rooms: [KnownRoom], _ wanted: String?) -> [KnownRoom] {
        let kept = rooms.filter { !$0.room.isOfOlderForm }
        if let wanted, !kept.contains(where: { DeviceNames.areSame($0.room.name, wanted) }),
            let older = rooms.first(where: { DeviceNames.areSame($0.room.name, wanted) })
        {
            context.say(
                "“\(PeerText.name(older.room.name))” was kept by an older BeamRoom and can't be resumed: it is made anew, "
                    + "or entered by its code. Nothing else is lost.")
        }
        return kept
    }

    /// Somebody can be asked something.
    var canAsk: Bool { window != nil || TerminalQuestions.hasPerson }

    /// The room of this name that has proved itself at an earlier time.
    private static func remembered(_ name: String, in kept: [KnownRoom]) -> Entrance? {
        kept.first { $0.isProved && DeviceNames.areSame($0.room.name, name) }
            .map { Entrance(beginning: .resume($0.room(at: Date()))) }
    }

    /// The rooms of the network that may be entered.
    private func announced(
        within time: Duration, but avoided: Set<MeshMark?>, named wanted: String?
    ) -> [MeshPresence.Found] {
        (presence?.rooms(within: time) ?? []).filter { room in
            // One without a mark is known by its name alone.
            guard let standing = room.standing else {
                return !(avoided.contains(nil) && wanted.map { DeviceNames.areSame(room.room, $0) } ?? true)
            }
            return !avoided.contains(standing.mark)
        }
    }

    /// Asks at an address that the person has named. One of numbers says which machine is meant; a name may be answered by
    /// anybody on the network.
    private func enter(at endpoint: Endpoint) throws -> Entrance? {
        let isNumeric = !HostNameResolver.resolves(endpoint.host)
        let doors = numeric(endpoint)
        for (index, door) in doors.enumerated() {
            let knock = Knock(patience: index == doors.count - 1 ? nil : Self.patience)
            switch try ask(at: door, knock) {
            case .letIn(let device, let proof):
                return Entrance(
                    beginning: .enter(through: device, at: door), proof: isNumeric ? .given : proof)
            case .notReached: continue
            case .gone, .declined, .answered, .ended: return nil
            }
        }
        return nil
    }

    /// Those with whom this device is in a room of this name, by what it keeps; nobody who was put out of one, and nobody
    /// from a room that has proved nothing. Nil: in any room.
    public static func acquaintances(in room: String?, store: TrustStore, own: LocalIdentity) -> [DeviceKey: String] {
        // Without the list everybody is asked about.
        let kept = ((try? store.rooms()) ?? []).filter { known in
            known.isProved && room.map { DeviceNames.areSame(known.room.name, $0) } ?? true
        }
        var members: [DeviceKey: String] = [:]
        var putOut: Set<DeviceKey> = []
        for people in kept.map({ $0.room.people(own.roomSigning) }) {
            members.merge(people.members) { newer, _ in newer }
            putOut.formUnion(people.putOut)
        }
        return members.filter { $0.key != own.deviceKey && !putOut.contains($0.key) }
    }

    /// A `.local` name is resolved by Avahi: the system's own resolver does so only with nss-mdns. Waits for the network.
    private func numeric(_ endpoint: Endpoint) -> [Endpoint] {
        guard HostNameResolver.resolves(endpoint.host) else { return [endpoint] }
        let addresses = HostNameResolver.addresses(of: endpoint.host, within: Self.resolvingTime)
        return addresses.isEmpty ? [endpoint] : addresses.map { Endpoint(host: $0, port: endpoint.port) }
    }

    private static let resolvingTime = Duration.seconds(3)

    /// Without names that differ only in case.
    private static func distinct(_ names: [String]) -> [String] {
        names.reduce(into: []) { names, name in
            if !names.contains(where: { DeviceNames.areSame($0, name) }) { names.append(name) }
        }
    }
}

extension MeetingEntry.FoundRoom {
    init(_ found: MeshPresence.Found) {
        self.init(name: found.room, mark: found.standing?.mark, doors: found.doors)
    }
}
