import BeamMedia

/// What two members of a room send each other on their control connection, inside TLS.
package enum LogMessage: Hashable, Sendable {
    /// The first message of a connection, from either side; the keeper's comes first.
    package struct Greeting: Hashable, Sendable {
        package struct Flags: OptionSet, Hashable, Sendable {
            package var rawValue: UInt8

            package init(rawValue: UInt8) { self.rawValue = rawValue }

            /// The keeper takes notes from others.
            package static let takesNotes = Flags(rawValue: 1 << 0)
        }

        /// 16 random bytes: the room's ID.
        package var room: [UInt8]
        /// Milliseconds since the room began.
        package var age: UInt64
        /// Of the sender's own log.
        package var run: UInt64
        package var flags: Flags
        /// Entries before this time (milliseconds since the room began) were dropped; 0: none was.
        package var completeSince: UInt64
        /// The oldest of the sender's messages whose result it doesn't know; 0: there is none.
        package var unsettled: UInt32
        /// The newest entry of each author that the sender has.
        package var has: [LogAuthor: UInt32]

        package init(
            room: [UInt8], age: UInt64, run: UInt64, flags: Flags, completeSince: UInt64, unsettled: UInt32,
            has: [LogAuthor: UInt32]
        ) {
            self.room = room
            self.age = age
            self.run = run
            self.flags = flags
            self.completeSince = completeSince
            self.unsettled = unsettled
            self.has = has
        }
    }

    /// Entries of one or several authors, each one's in order.
    package struct Batch: Hashable, Sendable {
        package struct Section: Hashable, Sendable {
            package var publicKey: [UInt8]
            package var run: UInt64
            /// The number of the author's first entry in the batch.
            package var first: UInt32
            /// The chain's digest before that. Among equals it is always there; in a host's log only if the sender doesn't
            /// have what is before.
            package var startDigest: [UInt8]?
            /// Of the author's last entry in the batch.
            package var signature: [UInt8]

            package init(
                publicKey: [UInt8], run: UInt64, first: UInt32, startDigest: [UInt8]? = nil, signature: [UInt8]
            ) {
                self.publicKey = publicKey
                self.run = run
                self.first = first
                self.startDigest = startDigest
                self.signature = signature
            }
        }

        package struct Item: Hashable, Sendable {
            /// The place of its author's section.
            package var section: UInt8
            package var entry: StoredEntry

            package init(section: UInt8, entry: StoredEntry) {
                self.section = section
                self.entry = entry
            }
        }

        package var sections: [Section]
        /// In the order in which they came to the sender.
        package var items: [Item]

        package init(sections: [Section], items: [Item]) {
            self.sections = sections
            self.items = items
        }
    }

    /// What somebody is just saying. It isn't kept: the next one replaces it, and the next caption ends it.
    package struct Partial: Hashable, Sendable {
        package var publicKey: [UInt8]
        package var run: UInt64
        /// The number of its author's newest entry.
        package var after: UInt32
        /// Counts up.
        package var counter: UInt32
        /// A caption's body; empty: nothing is being said any more.
        package var body: [UInt8]
        package var signature: [UInt8]

        package init(publicKey: [UInt8], run: UInt64, after: UInt32, counter: UInt32, body: [UInt8], signature: [UInt8])
        {
            self.publicKey = publicKey
            self.run = run
            self.after = after
            self.counter = counter
            self.body = body
            self.signature = signature
        }

        /// What is signed.
        package static func signed(
            _ scope: LogScope, run: UInt64, after: UInt32, counter: UInt32, body: [UInt8]
        ) -> [UInt8] {
            var bytes = scope.label("partial")
            bytes.append(bigEndian: run)
            bytes.append(bigEndian: after)
            bytes.append(bigEndian: counter)
            return bytes + body
        }
    }

    /// What has become of a message, to its author.
    package struct Receipt: Hashable, Sendable {
        package enum Result: UInt8, Sendable {
            /// Every recipient has it.
            case delivered = 0
            /// Nobody is there to get it.
            case nobody = 1
            /// A recipient left before it got it.
            case left = 2
        }

        /// The entry's number in its author's log.
        package var number: UInt32
        package var result: Result
        /// How many have it.
        package var count: UInt32

        package init(number: UInt32, result: Result, count: UInt32) {
            self.number = number
            self.result = result
            self.count = count
        }
    }

    case greeting(Greeting)
    case batch(Batch)
    /// How many batches have come on this connection.
    case acknowledged(UInt32)
    case partial(Partial)
    case receipts([Receipt])
    /// The receiver of this writes more than is taken.
    case slowed(Bool)
}

extension LogMessage {
    static let idLength = 16

    package var kind: SecureMessage.Kind {
        switch self {
        case .greeting: .roomGreeting
        case .batch: .roomEntries
        case .acknowledged: .roomAcknowledged
        case .partial: .roomPartial
        case .receipts: .roomReceipts
        case .slowed: .roomSlowed
        }
    }

    /// The fields' bytes, without the kind.
    package var fields: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .greeting(let greeting):
            bytes += greeting.room
            bytes.append(bigEndian: greeting.age)
            bytes.append(bigEndian: greeting.run)
            bytes.append(greeting.flags.rawValue)
            bytes.append(bigEndian: greeting.completeSince)
            bytes.append(bigEndian: greeting.unsettled)
            bytes.append(greeting.has)
        case .batch(let batch): batch.write(to: &bytes)
        case .acknowledged(let count): bytes.append(bigEndian: count)
        case .partial(let partial):
            bytes += partial.publicKey
            bytes.append(bigEndian: partial.run)
            bytes.append(bigEndian: partial.after)
            bytes.append(bigEndian: partial.counter)
            bytes += partial.signature
            bytes += partial.body
        case .receipts(let receipts):
            bytes.append(bigEndian: UInt16(clamping: receipts.count))
            for receipt in receipts {
                bytes.append(bigEndian: receipt.number)
                bytes.append(receipt.result.rawValue)
                bytes.append(bigEndian: receipt.count)
            }
        case .slowed(let isSlowed): bytes.append(isSlowed ? 1 : 0)
        }
        return bytes
    }

    /// Reads the fields; nil for another kind.
    init?(_ kind: SecureMessage.Kind, _ bytes: UnsafeRawBufferPointer) throws(SecureMessageError) {
        var reader = LogReader(bytes, kind: kind)
        switch kind {
        case .roomGreeting:
            var greeting = Greeting(
                room: try reader.raw(Self.idLength), age: try reader.integer(), run: try reader.integer(),
                flags: Greeting.Flags(rawValue: try reader.integer()), completeSince: try reader.integer(),
                unsettled: try reader.integer(), has: [:])
            greeting.has = try reader.numbers()
            self = .greeting(greeting)
        case .roomEntries: self = .batch(try Batch(&reader))
        case .roomAcknowledged: self = .acknowledged(try reader.integer())
        case .roomPartial:
            self = .partial(
                Partial(
                    publicKey: try reader.raw(LogSigning.keyLength), run: try reader.integer(),
                    after: try reader.integer(), counter: try reader.integer(), body: [],
                    signature: try reader.raw(LogSigning.signatureLength)
                ).with(body: try reader.rest(LogLimits.entryBody)))
        case .roomReceipts:
            let count: UInt16 = try reader.integer()
            guard count <= LogLimits.keptReceipts else { throw .value(kind: kind.rawValue, field: "count") }
            var receipts: [Receipt] = []
            for _ in 0..<count {
                let number: UInt32 = try reader.integer()
                guard let result = Receipt.Result(rawValue: try reader.integer()) else {
                    throw .value(kind: kind.rawValue, field: "result")
                }
                receipts.append(Receipt(number: number, result: result, count: try reader.integer()))
            }
            self = .receipts(receipts)
        case .roomSlowed:
            let flag: UInt8 = try reader.integer()
            self = .slowed(flag != 0)
        default: return nil
        }
    }
}

extension LogMessage.Partial {
    /// Signed by this device.
    package init(_ body: [UInt8], after: UInt32, counter: UInt32, run: UInt64, scope: LogScope, signing: LogSigning) {
        self.init(
            publicKey: signing.publicKey, run: run, after: after, counter: counter, body: body,
            signature: signing.sign(Self.signed(scope, run: run, after: after, counter: counter, body: body)))
    }

    package func isSigned(in scope: LogScope, _ signing: LogSigning) -> Bool {
        let signed = Self.signed(scope, run: run, after: after, counter: counter, body: body)
        return signing.verify(signature, signed, publicKey)
    }

    fileprivate func with(body: [UInt8]) -> Self {
        var partial = self
        partial.body = body
        return partial
    }
}

extension LogMessage.Batch {
    fileprivate func write(to bytes: inout [UInt8]) {
        bytes.append(UInt8(clamping: sections.count))
        for section in sections {
            bytes += section.publicKey
            bytes.append(bigEndian: section.run)
            bytes.append(bigEndian: section.first)
            bytes.append(section.startDigest == nil ? 0 : 1)
            bytes += section.startDigest ?? []
            bytes += section.signature
        }
        bytes.append(bigEndian: UInt16(clamping: items.count))
        for item in items {
            bytes.append(item.section)
            switch item.entry {
            case .whole(let entry):
                let content = entry.bytes
                bytes.append(0)
                bytes.append(bigEndian: UInt32(content.count))
                bytes += content
            case .redacted(let digest):
                bytes.append(1)
                bytes += digest
            }
        }
    }

    fileprivate init(_ reader: inout LogReader) throws(SecureMessageError) {
        let kind = SecureMessage.Kind.roomEntries.rawValue
        let authors: UInt8 = try reader.integer()
        guard authors > 0, authors <= LogLimits.batchAuthors else { throw .value(kind: kind, field: "authors") }
        sections = []
        items = []
        for _ in 0..<authors {
            let key = try reader.raw(LogSigning.keyLength)
            let run: UInt64 = try reader.integer()
            let first: UInt32 = try reader.integer()
            guard first > 0 else { throw .value(kind: kind, field: "number") }
            let hasStart: UInt8 = try reader.integer()
            guard hasStart <= 1 else { throw .value(kind: kind, field: "flag") }
            sections.append(
                Section(
                    publicKey: key, run: run, first: first,
                    startDigest: hasStart == 1 ? try reader.raw(EntryChain.length) : nil,
                    signature: try reader.raw(LogSigning.signatureLength)))
        }
        let count: UInt16 = try reader.integer()
        guard count > 0, count <= LogLimits.batchEntries else { throw .value(kind: kind, field: "number of entries") }
        items.reserveCapacity(Int(count))
        for _ in 0..<count {
            let section: UInt8 = try reader.integer()
            guard section < authors else { throw .value(kind: kind, field: "author") }
            switch try reader.integer() as UInt8 {
            case 0:
                let length: UInt32 = try reader.integer()
                guard let entry = LogEntry(try reader.view(Int(length))) else {
                    throw .value(kind: kind, field: "entry")
                }
                items.append(Item(section: section, entry: .whole(entry)))
            case 1: items.append(Item(section: section, entry: .redacted(digest: try reader.raw(EntryChain.length))))
            default: throw .value(kind: kind, field: "flag")
            }
        }
        // Each author's signature costs the receiver time, so none is sent for nothing.
        guard Set(items.map(\.section)).count == sections.count else { throw .value(kind: kind, field: "authors") }
    }
}
