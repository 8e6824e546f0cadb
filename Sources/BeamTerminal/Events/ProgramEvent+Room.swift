import BeamHost
import BeamLog
import BeamNetwork
import BeamSession
import BeamWire

extension ProgramEvent {
    /// A room of equals: how it is entered, who is in it, and whose pictures come in which way.
    public enum Room: Sendable {
        /// One of several rooms of a name.
        public struct Candidate: Sendable {
            /// How many members are announced.
            var members: Int
            var address: Endpoint?
            /// Proved at its doors.
            var keys: [DeviceKey]
            /// The names of those of them who are known here.
            var known: [String]

            public init(members: Int, address: Endpoint?, keys: [DeviceKey], known: [String]) {
                (self.members, self.address, self.keys, self.known) = (members, address, keys, known)
            }
        }

        /// A member.
        public struct Member: Sendable {
            public let device: DeviceKey
            public let name: String

            public init(_ device: DeviceKey, _ name: String) { (self.device, self.name) = (device, name) }
        }

        public enum Change: Sendable, CaseIterable {
            case came, left, shares, sharesNoMore, paused, resumed
        }

        case whichRoom(name: String, [Candidate])
        /// `why`: in a word.
        case codeNotTaken(at: Endpoint, why: String)
        case refused(ViewerRefusal)
        case letIn(by: DeviceKey)
        /// `web`: where browsers come to watch what this device shares. `metricsPort`: where metrics are served.
        case ready(
            room: String, name: String, key: DeviceKey, port: UInt16, isProved: Bool, web: HostDescription.Web? = nil,
            metricsPort: UInt16? = nil)
        case nearRooms(room: String, near: [String])
        case otherRoom(name: String, members: Int, address: Endpoint?)
        /// Nil: its name isn't known.
        case moving(to: String?)
        case people([MeshPerson], own: DeviceKey)
        case changed(Member, Change)
        case shareBegan(HostDescription)
        case shareEnded(reason: String?)
        /// By this device.
        case putOut(Member, alsoLetIn: Bool)
        case notPutOut(name: String, reason: String)
        case putOutBy(String, Member)
        case wasPutOut(reason: String)
        /// This device doesn't belong to the room, or there is no place for it.
        case notIn(reason: String)
        /// Somebody whom this device has let in.
        case notAdmitted(DeviceKey, reason: String)
        case forked(Member)
        case otherVersion(DeviceKey)
        case violated(DeviceKey, reason: String)
        case linkRefused(by: Member, reason: String, seconds: Int)
        case relayAsked(Member, through: Member)
        case relayWithdrawn(Member)
        /// Nil: the pictures come directly.
        case relayed(Member, through: Member?)
        /// `own`: of what this device shares, and to how many viewers; `browsers`: how many are let in at this device.
        /// `report`: all of its figures, which only metrics have.
        case stats(
            here: Int, sharing: Int, own: StreamRate?, viewers: Int, browsers: Int? = nil, report: HostReport? = nil)
        case summary(seconds: Double)
    }
}

extension ProgramEvent.Room {
    var record: ProgramEvent.Record {
        switch self {
        case .whichRoom(let name, let rooms): .init("which-room", ["room": name, "rooms": rooms.map(\.fields)])
        case .codeNotTaken(let address, let why):
            .init("code-not-taken", ["address": address.description, "why": why])
        case .refused(let refusal):
            .init("refused", ["reason": refusal.reason, "by": refusal.isByHost ? "member" : "newcomer"])
        case .letIn(let device): .init("let-in", ["from": device])
        case .ready(let room, let name, let key, let port, let isProved, let web, let metricsPort):
            .init(
                "ready",
                [
                    "room": room, "name": name, "key": key, "port": Int(port), "proved": isProved,
                    "webPort": web.map { Int($0.port) }, "webMediaPort": web.map { Int($0.mediaPort) },
                    "metricsPort": metricsPort.map { Int($0) },
                ])
        case .nearRooms(let room, let near): .init("near-rooms", ["room": room, "rooms": near])
        case .otherRoom(let name, let members, let address):
            .init("other-room", ["room": name, "here": members, "address": address?.description])
        case .moving(let room): .init("moving", ["room": room])
        case .people(let people, let own): .init("people", ["people": people.map { Self.fields($0, own: own) }])
        case .changed(let member, let change):
            .init(change.name, member.fields.merging(["on": change.isOn]) { $1 })
        case .shareBegan(let facts): .init("own-share", facts.picture.merging(["on": true]) { $1 })
        case .shareEnded(let reason): .init("own-share", ["on": false, "reason": reason])
        case .putOut(let member, let alsoLetIn):
            .init("put-out", member.fields.merging(["alsoLetIn": alsoLetIn]) { $1 })
        case .notPutOut(let name, let reason):
            .init("error", ["what": "putOut", "name": name, "reason": reason])
        case .putOutBy(let author, let member): .init("put-out", member.fields.merging(["by": author]) { $1 })
        case .wasPutOut(let reason): .init("put-out", ["reason": reason])
        case .notIn(let reason): .init("refused", ["reason": reason])
        case .notAdmitted(let device, let reason): .init("refused", ["from": device, "reason": reason])
        case .forked(let member): .init("forked", member.fields)
        case .otherVersion(let device): .init("other-version", ["from": device])
        case .violated(let device, let reason): .init("violated", ["from": device, "reason": reason])
        case .linkRefused(let member, let reason, let seconds):
            .init("link-refused", member.fields.merging(["reason": reason, "seconds": seconds]) { $1 })
        case .relayAsked(let source, let relay): .init("relay-asked", source.fields(through: relay))
        case .relayWithdrawn(let source): .init("relay-withdrawn", source.fields)
        case .relayed(let source, let relay): .init("relayed", source.fields(through: relay))
        case .stats(let here, let sharing, let own, let viewers, let browsers, _):
            .init(
                "stats",
                [
                    "here": here, "sharing": sharing,
                    "own": own.map { $0.fields.merging(["viewers": viewers]) { $1 } }, "browsers": browsers,
                ])
        case .summary(let seconds): .init("summary", ["seconds": seconds])
        }
    }

    static func fields(_ person: MeshPerson, own: DeviceKey) -> [String: any EventField] {
        [
            "key": person.device, "name": PeerText.name(person.name), "here": person.isHere,
            "sharing": person.isSharing, "paused": person.isPaused, "own": person.device == own, "hops": person.hops,
        ]
    }
}

extension ProgramEvent.Room.Candidate {
    fileprivate var fields: [String: any EventField] {
        [
            "here": members, "address": address?.description, "keys": keys.map(\.hex).sorted(), "known": known,
        ]
    }
}

extension ProgramEvent.Room.Member {
    fileprivate var fields: [String: any EventField] { ["from": device, "name": name] }

    fileprivate func fields(through relay: Self?) -> [String: any EventField] {
        fields.merging(["through": relay?.device, "throughName": relay?.name]) { $1 }
    }
}

extension ProgramEvent.Room.Change {
    fileprivate var name: String {
        switch self {
        case .came: "member-joined"
        case .left: "member-left"
        case .shares: "share-began"
        case .sharesNoMore: "share-ended"
        case .paused, .resumed: "share-paused"
        }
    }

    /// Of `share-paused`.
    fileprivate var isOn: Bool? {
        switch self {
        case .paused: true
        case .resumed: false
        case .came, .left, .shares, .sharesNoMore: nil
        }
    }
}
