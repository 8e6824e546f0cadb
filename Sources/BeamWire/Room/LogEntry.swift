import BeamMedia
import Crypto

/// An author of entries: a device, in one run of its program. A program that is restarted begins a log of its own.
package struct LogAuthor: Hashable, Sendable {
    package var device: DeviceKey
    /// Random.
    package var run: UInt64

    package init(device: DeviceKey, run: UInt64) {
        self.device = device
        self.run = run
    }
}

/// What one author has written, once: the unit of a room's log.
package struct LogEntry: Hashable, Sendable {
    /// What the body means. Others belong to later versions: they are kept and passed on.
    package enum Kind: UInt8, Sendable, CaseIterable {
        case caption = 1
        case note = 2
        case alert = 3
        /// From program to program; not a part of the transcript.
        case message = 4
        case shareBegan = 5
        case shareEnded = 6
        /// The name of a member, by the room's keeper.
        case member = 7
        /// A message that only its recipient can read, in a room of equals (`MeshSealing`).
        case sealed = 8
    }

    package var kind: UInt8
    /// Milliseconds since the room began, as its author knows it.
    package var milliseconds: UInt64
    /// The only device that gets the body; nil: all of them.
    package var recipient: DeviceKey?
    package var body: [UInt8]

    package var time: Duration { .milliseconds(Int64(clamping: milliseconds)) }

    /// The bytes that are sent, hashed and signed: u8 kind, u64 milliseconds, u8 1 and the recipient's device key or u8 0,
    /// the body.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 42)
        bytes.append(kind)
        bytes.append(bigEndian: milliseconds)
        bytes.append(recipient == nil ? 0 : 1)
        if let recipient { bytes += recipient.bytes }
        bytes += body
        return bytes
    }

    /// Nil if the bytes aren't an entry.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = BigEndianReader(bytes)
        guard let kind: UInt8 = reader.integer(), let milliseconds: UInt64 = reader.integer(),
            let isDirected: UInt8 = reader.integer(), isDirected <= 1
        else { return nil }
        if isDirected == 1 {
            guard let key = reader.bytes(DeviceKey.length).flatMap({ DeviceKey(Array($0)) }) else { return nil }
            recipient = key
        }
        guard reader.rest.count <= LogLimits.entryBody else { return nil }
        self.kind = kind
        self.milliseconds = milliseconds
        body = Array(reader.rest)
    }

    package init(kind: Kind, milliseconds: UInt64, recipient: DeviceKey? = nil, body: [UInt8]) {
        self.kind = kind.rawValue
        self.milliseconds = milliseconds
        self.recipient = recipient
        self.body = body
    }
}

/// An entry as it is kept and sent: whole, or only its digest for those who aren't to read it. Both prove the same chain.
package enum StoredEntry: Hashable, Sendable {
    case whole(LogEntry)
    case redacted(digest: [UInt8])

    package var digest: [UInt8] {
        switch self {
        case .whole(let entry): Array(SHA256.hash(data: entry.bytes))
        case .redacted(let digest): digest
        }
    }

    /// Bytes of memory, about.
    package var cost: Int {
        switch self {
        case .whole(let entry): entry.body.count + LogLimits.entryOverhead
        case .redacted: LogLimits.entryOverhead
        }
    }
}

/// The digests that link an author's entries: whoever signs one signs all before it.
package enum EntryChain {
    package static let length = 32

    /// Before the first entry. It binds the chain to its room and its author.
    package static func start(_ scope: LogScope, author: LogAuthor) -> [UInt8] {
        var bytes = scope.label("log") + author.device.bytes
        bytes.append(bigEndian: author.run)
        return Array(SHA256.hash(data: bytes))
    }

    package static func next(_ before: [UInt8], _ entry: StoredEntry) -> [UInt8] {
        Array(SHA256.hash(data: before + entry.digest))
    }

    /// A digest's first 8 bytes: enough to notice that two differ, not to prove it.
    package static func mark(_ digest: [UInt8]) -> UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// What is signed to vouch for everything up to the entry with this number. It names the room, the author and the run
    /// itself, so that nobody can show what was written elsewhere as the other side of a fork.
    package static func signed(_ digest: [UInt8], number: UInt32, of author: LogAuthor, in scope: LogScope) -> [UInt8] {
        var bytes = scope.label("entry") + author.device.bytes
        bytes.append(bigEndian: author.run)
        bytes += digest
        bytes.append(bigEndian: number)
        return bytes
    }
}
