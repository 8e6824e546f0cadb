import BeamMedia

/// What two members of a room of equals send each other, beside the log's batches, acknowledgements and partial captions
/// (`LogMessage`), which are the same as between a host and its viewers.
package enum MeshMessage: Hashable, Sendable {
    /// The first message from either side, once it knows that the other one belongs to the room.
    package struct Greeting: Hashable, Sendable {
        package var room: [UInt8]
        /// Bits for later versions; 0 at present.
        package var features: UInt32 = 0
        /// Milliseconds since the room began.
        package var age: UInt64
        /// Of the sender's own log.
        package var run: UInt64
        /// Something is missing of what was written before this time (milliseconds since the room began); 0: nothing is;
        /// `unknown`: the sender doesn't know yet.
        package var completeSince: UInt64
        package static let unknown = UInt64.max
        /// The entries of each author that the sender has and passes on.
        package var has: [LogAuthor: KeptEntries]
        /// Who belongs to the room, by what the sender knows.
        package var statements: [MembershipStatement]

        package init(
            room: [UInt8], features: UInt32 = 0, age: UInt64, run: UInt64, completeSince: UInt64,
            has: [LogAuthor: KeptEntries], statements: [MembershipStatement]
        ) {
            self.room = room
            self.features = features
            self.age = age
            self.run = run
            self.completeSince = completeSince
            self.has = has
            self.statements = statements
        }
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
    case code(MeshCode)
    case errand(CodeErrand)
    case question(QuestionErrand)
    /// Entries weren't taken for now. At most `LogLimits.batchAuthors` at once, each author once.
    case held([HeldAuthor])
    /// An author has told different members different things.
    case forked(ForkProof)
    /// The peer's version can't meet this one in a room.
    case firstGreeting

    /// Of one author: what somebody has, and passes on.
    package struct KeptEntries: Hashable, Sendable {
        /// The numbers of the first and the last kept entry; the first isn't 0, and not after the last.
        package var first: UInt32
        package var last: UInt32
        /// The first 8 bytes of the chain's digest after the last one: two who have as many and differ exchange their last
        /// ones again.
        package var digest: UInt64

        package init(first: UInt32, last: UInt32, digest: UInt64) {
            self.first = first
            self.last = last
            self.digest = digest
        }
    }

    /// An author whose entries weren't taken for now: those after `after` are to be sent again, not before so many
    /// milliseconds have passed. Nobody is to blame.
    package struct HeldAuthor: Hashable, Sendable {
        package var author: LogAuthor
        package var after: UInt32
        package var milliseconds: UInt32

        package init(author: LogAuthor, after: UInt32, milliseconds: UInt32) {
            self.author = author
            self.after = after
            self.milliseconds = milliseconds
        }
    }
    /// The sender refuses the receiver's links for a while, and closes this one.
    case paused(MeshPause)

    /// A control message between a viewer and a host, tunnelled over a member link. Outside rooms it has a connection of
    /// its own.
    package struct Carried: Hashable, Sendable {
        /// Whose screen it is about. Another member may serve it on.
        package var source: DeviceKey
        /// Chosen by the viewer: greater in each later dialog on the link.
        package var dialog: UInt32
        /// Empty: the dialog ends.
        package var message: [UInt8]

        package init(source: DeviceKey, dialog: UInt32, message: [UInt8]) {
            self.source = source
            self.dialog = dialog
            self.message = message
        }

        /// The longest message: those that aren't of a room's log are short.
        package static let longest = 4 << 10
    }
}

extension MeshMessage {
    package var kind: SecureMessage.Kind {
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
        case .held: .meshHeld
        case .forked: .meshForked
        case .firstGreeting: .meshFirstGreeting
        case .paused: .meshPaused
        }
    }

    /// The fields' bytes, without the kind.
    package var fields: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .greeting(let greeting):
            bytes += greeting.room
            bytes.append(bigEndian: greeting.features)
            bytes.append(bigEndian: greeting.age)
            bytes.append(bigEndian: greeting.run)
            bytes.append(bigEndian: greeting.completeSince)
            Self.write(greeting.has, to: &bytes)
            Self.write(greeting.statements, to: &bytes)
        case .statements(let statements): Self.write(statements, to: &bytes)
        case .statuses(let statuses):
            bytes.append(UInt8(clamping: statuses.count))
            for status in statuses { bytes += status.bytes }
        case .alive, .firstGreeting: break
        case .held(let authors):
            bytes.append(UInt8(clamping: authors.count))
            for held in authors {
                bytes += held.author.device.bytes
                bytes.append(bigEndian: held.author.run)
                bytes.append(bigEndian: held.after)
                bytes.append(bigEndian: held.milliseconds)
            }
        case .forked(let proof): bytes += proof.bytes
        case .code(let code): Self.write(code, to: &bytes)
        case .errand(let errand): Self.write(errand, to: &bytes)
        case .question(let errand): Self.write(errand, to: &bytes)
        case .paused(let pause):
            bytes.append(pause.reason.rawValue)
            bytes.append(bigEndian: pause.milliseconds)
        case .toHost(let carried), .toViewer(let carried):
            bytes += carried.source.bytes
            bytes.append(bigEndian: carried.dialog)
            bytes += carried.message
        }
        return bytes
    }

    private static func write(_ has: [LogAuthor: KeptEntries], to bytes: inout [UInt8]) {
        bytes.append(bigEndian: UInt16(clamping: has.count))
        for (author, kept) in has {
            bytes += author.device.bytes
            bytes.append(bigEndian: author.run)
            bytes.append(bigEndian: kept.first)
            bytes.append(bigEndian: kept.last)
            bytes.append(bigEndian: kept.digest)
        }
    }

    private static func write(_ statements: [MembershipStatement], to bytes: inout [UInt8]) {
        bytes.append(UInt8(clamping: statements.count))
        for statement in statements { bytes += statement.bytes }
    }

    /// Reads the fields; nil for another kind.
    init?(_ kind: SecureMessage.Kind, _ bytes: UnsafeRawBufferPointer) throws(SecureMessageError) {
        var reader = LogReader(bytes, kind: kind)
        switch kind {
        case .meshGreeting:
            self = .greeting(
                Greeting(
                    room: try reader.raw(LogMessage.idLength), features: try reader.integer(),
                    age: try reader.integer(), run: try reader.integer(), completeSince: try reader.integer(),
                    has: try reader.kept(kind), statements: try reader.statements()))
        case .meshFirstGreeting: self = .firstGreeting
        case .meshHeld: self = .held(try reader.held(kind))
        case .meshForked: self = .forked(try reader.proof(kind))
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
        case .meshPaused:
            self = .paused(MeshPause(reason: try reader.integer(), milliseconds: try reader.integer()))
        default: return nil
        }
    }
}

extension LogReader {
    fileprivate mutating func carried() throws(SecureMessageError) -> MeshMessage.Carried {
        MeshMessage.Carried(
            source: try device(), dialog: try integer(), message: try rest(MeshMessage.Carried.longest))
    }

    /// What somebody has of each author.
    fileprivate mutating func kept(
        _ kind: SecureMessage.Kind
    ) throws(SecureMessageError) -> [LogAuthor: MeshMessage.KeptEntries] {
        let count: UInt16 = try integer()
        guard count <= LogLimits.authors else { throw .value(kind: kind.rawValue, field: "number of authors") }
        var kept: [LogAuthor: MeshMessage.KeptEntries] = [:]
        for _ in 0..<count {
            let author = LogAuthor(device: try device(), run: try integer())
            let (first, last): (UInt32, UInt32) = (try integer(), try integer())
            guard first > 0, first <= last else { throw .value(kind: kind.rawValue, field: "number") }
            kept[author] = MeshMessage.KeptEntries(first: first, last: last, digest: try integer())
        }
        return kept
    }

    fileprivate mutating func held(
        _ kind: SecureMessage.Kind
    ) throws(SecureMessageError) -> [MeshMessage.HeldAuthor] {
        let count: UInt8 = try integer()
        guard count <= LogLimits.batchAuthors else { throw .value(kind: kind.rawValue, field: "number of authors") }
        var held: [MeshMessage.HeldAuthor] = []
        for _ in 0..<count {
            held.append(
                MeshMessage.HeldAuthor(
                    author: LogAuthor(device: try device(), run: try integer()), after: try integer(),
                    milliseconds: try integer()))
        }
        return held
    }

    fileprivate mutating func statements() throws(SecureMessageError) -> [MembershipStatement] {
        let count: UInt8 = try integer()
        var statements: [MembershipStatement] = []
        for _ in 0..<count { statements.append(try read("statement") { MembershipStatement(&$0) }) }
        return statements
    }
}
