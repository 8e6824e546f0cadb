import BeamMedia

/// What two members of a room of equals send each other, beside the log's batches, acknowledgements and partial captions
/// (`RoomMessage`), which are the same as between a host and its viewers.
enum MeshMessage: Hashable, Sendable {
    /// The first message from either side, once it knows that the other one belongs to the room.
    struct Greeting: Hashable, Sendable {
        var room: [UInt8]
        /// Milliseconds since the room began.
        var age: UInt64
        /// Of the sender's own log.
        var run: UInt64
        /// Entries before this time (milliseconds since the room began) were dropped; 0: none was.
        var completeSince: UInt64
        /// The newest entry of each author that the sender has.
        var has: [RoomAuthor: UInt32]
        /// Who belongs to the room, by what the sender knows.
        var statements: [MembershipStatement]
    }

    case greeting(Greeting)
    case statements([MembershipStatement])
    case statuses([MemberStatus])
    /// Nothing else was to be said.
    case alive
    /// A message of a viewer to the one who serves it, about what a member shares; and the answers.
    case toHost(Carried)
    case toViewer(Carried)
    /// The code for newcomers, to members only.
    case code(RoomCode)
    case errand(CodeErrand)
    case question(QuestionErrand)

    /// A message of the dialog of a viewer with a host, on the link of two members: what they say on a connection of their
    /// own outside rooms.
    struct Carried: Hashable, Sendable {
        /// Whose screen it is about. Another member may serve it on.
        var source: DeviceKey
        /// Chosen by the viewer: greater in each later dialog on the link.
        var dialog: UInt32
        /// Empty: the dialog ends.
        var message: [UInt8]

        /// The longest message: those that aren't of a room's log are short.
        static let longest = 4 << 10
    }
}

extension MeshMessage {
    var kind: SecureMessage.Kind {
        switch self {
        case .greeting: .meshGreeting
        case .statements: .meshStatements
        case .statuses: .meshStatuses
        case .alive: .meshAlive
        case .toHost: .meshToHost
        case .toViewer: .meshToViewer
        case .code: .meshCode
        case .errand: .meshErrand
        case .question: .meshQuestion
        }
    }

    /// The fields' bytes, without the kind.
    var fields: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .greeting(let greeting):
            bytes += greeting.room
            bytes.append(bigEndian: greeting.age)
            bytes.append(bigEndian: greeting.run)
            bytes.append(bigEndian: greeting.completeSince)
            bytes.append(greeting.has)
            Self.write(greeting.statements, to: &bytes)
        case .statements(let statements): Self.write(statements, to: &bytes)
        case .statuses(let statuses):
            bytes.append(UInt8(clamping: statuses.count))
            for status in statuses { bytes += status.bytes }
        case .alive: break
        case .code(let code): Self.write(code, to: &bytes)
        case .errand(let errand): Self.write(errand, to: &bytes)
        case .question(let errand): Self.write(errand, to: &bytes)
        case .toHost(let carried), .toViewer(let carried):
            bytes += carried.source.bytes
            bytes.append(bigEndian: carried.dialog)
            bytes += carried.message
        }
        return bytes
    }

    private static func write(_ statements: [MembershipStatement], to bytes: inout [UInt8]) {
        bytes.append(UInt8(clamping: statements.count))
        for statement in statements { bytes += statement.bytes }
    }

    /// Reads the fields; nil for another kind.
    init?(_ kind: SecureMessage.Kind, _ bytes: UnsafeRawBufferPointer) throws(SecureMessageError) {
        var reader = RoomReader(bytes, kind: kind)
        switch kind {
        case .meshGreeting:
            self = .greeting(
                Greeting(
                    room: try reader.raw(RoomMessage.idLength), age: try reader.integer(), run: try reader.integer(),
                    completeSince: try reader.integer(), has: try reader.numbers(),
                    statements: try reader.statements()))
        case .meshStatements: self = .statements(try reader.statements())
        case .meshStatuses:
            let count: UInt8 = try reader.integer()
            guard count <= MeshLimits.statusesPerMessage else { throw .value(kind: kind.rawValue, field: "count") }
            var statuses: [MemberStatus] = []
            for _ in 0..<count { statuses.append(try reader.read("status") { MemberStatus(&$0) }) }
            self = .statuses(statuses)
        case .meshAlive: self = .alive
        case .meshToHost: self = .toHost(try reader.carried())
        case .meshToViewer: self = .toViewer(try reader.carried())
        case .meshCode: self = .code(try reader.code(kind))
        case .meshErrand: self = .errand(try reader.errand(kind))
        case .meshQuestion: self = .question(try reader.question(kind))
        default: return nil
        }
    }
}

extension RoomReader {
    fileprivate mutating func carried() throws(SecureMessageError) -> MeshMessage.Carried {
        MeshMessage.Carried(
            source: try device(), dialog: try integer(), message: try rest(MeshMessage.Carried.longest))
    }

    fileprivate mutating func statements() throws(SecureMessageError) -> [MembershipStatement] {
        let count: UInt8 = try integer()
        var statements: [MembershipStatement] = []
        for _ in 0..<count { statements.append(try read("statement") { MembershipStatement(&$0) }) }
        return statements
    }
}
