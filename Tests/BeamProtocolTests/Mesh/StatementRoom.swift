@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Statements of simulated devices in one room. Device 1 has founded it.
struct StatementRoom {
    let nonce = [UInt8](repeating: 7, count: MembershipStatement.nonceLength)
    let id: [UInt8]
    var time: UInt64 = 0

    init() { id = MembershipStatement.room(founder: .made(1), nonce: nonce) }

    mutating func say(
        _ content: MembershipStatement.Content, by number: UInt8, in stay: MembershipStatement?, at time: UInt64? = nil
    ) -> MembershipStatement {
        self.time += 1000
        return MembershipStatement(
            content, stay: stay.map(name) ?? .founder, milliseconds: time ?? self.time, room: id,
            signing: LogSigning.simulated(number).signing)
    }

    func name(_ statement: MembershipStatement) -> MembershipStatement.ID { statement.id(room: id) }

    mutating func found() -> MembershipStatement {
        say(.founded(nonce: nonce, room: "study", name: "one"), by: 1, in: nil)
    }

    /// - Parameter stay: the admission of the author; nil: it is the founder.
    mutating func admit(
        _ number: UInt8, by author: UInt8 = 1, in stay: MembershipStatement? = nil, at time: UInt64? = nil
    ) -> MembershipStatement {
        let key = LogSigning.simulated(number).signing.publicKey
        return say(.admitted(publicKey: key, name: "member \(number)"), by: author, in: stay, at: time)
    }

    mutating func putOut(
        _ stays: [MembershipStatement], by author: UInt8 = 1, in stay: MembershipStatement? = nil,
        last: [UInt64: UInt32] = [:]
    ) -> MembershipStatement {
        say(
            .putOut(stays.map { MembershipStatement.Ending(stay: name($0), last: last) }), by: author, in: stay)
    }

    func membership(
        _ statements: [MembershipStatement] = [], capacity: Int = MeshLimits.statements
    ) throws -> Membership {
        var membership = Membership(room: id, signing: LogSigning.simulated(1).signing, capacity: capacity)
        for statement in statements { _ = try membership.add(statement) }
        return membership
    }

    /// As members pass them on: again and again what others lack, one at a time in this order, until nothing changes.
    func gathered(_ statements: [MembershipStatement], capacity: Int = MeshLimits.statements) throws -> Membership {
        var membership = try membership(capacity: capacity)
        var before: [MembershipStatement]
        repeat {
            before = membership.statements
            for statement in statements { _ = try? membership.add(statement) }
        } while membership.statements != before
        return membership
    }
}

extension Membership {
    var devices: [DeviceKey] { people.map(\.device) }
}
