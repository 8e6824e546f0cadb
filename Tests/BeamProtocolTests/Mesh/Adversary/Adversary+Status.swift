import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Lies about who is here, where, and with whom.
extension Adversary {
    static var statusTricks: [Trick] {
        [
            Trick(name: "odd statuses", play: oddStatuses), Trick(name: "others' statuses", play: othersStatuses),
            Trick(name: "moves about", play: moveAbout), Trick(name: "is here twice", play: beHereTwice),
            Trick(name: "leaves and comes", play: leaveAndCome),
        ]
    }

    /// A status of one of its devices, newer than those before.
    func say(
        status number: UInt8, run: UInt64 = 7, links: [DeviceKey], flags: MemberStatus.Flags = [],
        addresses: [NetworkAddress] = [], counter: UInt64? = nil, received: [LogAuthor: UInt32] = [:],
        in room: inout MeshSimulation
    ) {
        self.counter += 1
        let status = MemberStatus(
            run: run, counter: counter ?? self.counter, flags: flags,
            sealingKey: [UInt8](repeating: number, count: MemberStatus.sealingKeyLength), addresses: addresses,
            links: links, received: received,
            name: one(of: ["", "member 1", "mеmber 2", "ghost"]) ?? "", room: room.room(index),
            signing: LogSigning.simulated(number).signing)
        tell(.mesh(.statuses([status])), in: &room)
    }

    private static func oddStatuses(_ own: Adversary, _ room: inout MeshSimulation) {
        let everybody = (0..<12).map { DeviceKey.made(UInt8($0)) }
        var received: [LogAuthor: UInt32] = [:]
        for member in room.members.prefix(6) { received[member.mesh.own] = own.extreme(near: 3) }
        own.say(
            status: own.anyKey(), run: own.extreme(near: 7), links: Array(everybody.prefix(own.upTo(12))),
            flags: .init(rawValue: UInt8(own.upTo(256))), addresses: own.anyAddresses(),
            counter: own.chance(1, in: 3) ? own.extreme(near: own.counter) : nil, received: received, in: &room)
    }

    func anyAddresses() -> [NetworkAddress] {
        let bits: [UInt32] = [0x7F00_0001, 0, 0xFFFF_FFFF, 0xE000_0001, 0xC000_0207, 0x0A00_0001]
        return (0..<upTo(MeshLimits.statusAddresses)).map { _ in
            NetworkAddress(ip: .v4(one(of: bits) ?? 0), port: max(1, extreme(near: 52345)))
        }
    }

    /// Of an honest member, signed by itself: a newer one that says that it leaves.
    private static func othersStatuses(_ own: Adversary, _ room: inout MeshSimulation) {
        guard let other = own.one(of: room.neighbours(own.index)) else { return }
        var status = MemberStatus(
            run: 1, counter: .max, flags: [.isLeaving],
            sealingKey: [UInt8](repeating: 1, count: MemberStatus.sealingKeyLength), addresses: [], links: [],
            received: [:], room: room.room(own.index), signing: LogSigning.simulated(own.number).signing)
        status.publicKey = LogSigning.simulated(room.members[other].number).signing.publicKey
        own.tell(.mesh(.statuses([status])), in: &room)
    }

    /// Ever new addresses, so that everybody dials.
    private static func moveAbout(_ own: Adversary, _ room: inout MeshSimulation) {
        for _ in 0..<20 {
            own.say(status: own.anyKey(), links: [], addresses: own.anyAddresses(), in: &room)
        }
    }

    private static func beHereTwice(_ own: Adversary, _ room: inout MeshSimulation) {
        own.say(status: own.number, run: own.random.next(), links: (0..<16).map { .made(UInt8($0)) }, in: &room)
    }

    private static func leaveAndCome(_ own: Adversary, _ room: inout MeshSimulation) {
        own.say(status: own.number, links: [], flags: [.isLeaving], in: &room)
        own.say(status: own.number, links: (0..<8).map { .made(UInt8($0)) }, flags: [.isSharing], in: &room)
    }
}
