import BeamMedia

/// A message of version 2's control plane, inside TLS: one byte for its kind, then its fields.
///
/// `MessageFraming` adds the length. Bytes behind the known fields belong to a later version and are ignored.
package enum SecureMessage: Hashable, Sendable {
    /// The viewer's first message.
    package struct Hello: Hashable, Sendable {
        package static let version: UInt16 = 2

        /// Optional abilities of a viewer.
        package struct Features: OptionSet, Hashable, Sendable {
            package var rawValue: UInt32

            package init(rawValue: UInt32) { self.rawValue = rawValue }

            /// It decodes 4:4:4 (H.264's High 4:4:4 Predictive profile).
            package static let fullChroma = Features(rawValue: 1 << 0)
            /// It acknowledges probes of the path's MTU, and takes frames that are cut to shorter datagrams.
            package static let probes = Features(rawValue: 1 << 1)
            /// It takes part in a log of the first form. Viewers before 2026-11-26 say only this; their words aren't taken.
            package static let firstWords = Features(rawValue: 1 << 2)
            /// It takes sound.
            package static let sound = Features(rawValue: 1 << 4)
            /// It says how large pictures may be for it (`bounds`).
            package static let bounds = Features(rawValue: 1 << 5)
            /// It proves its code against the host's code of a moment ago first, and takes `Refusal.replacedCode`.
            package static let replacedCodes = Features(rawValue: 1 << 8)
            /// It can enter a room of equals of the second form.
            package static let equals = Features(rawValue: 1 << 9)
            /// It takes part in the host's log.
            package static let words = Features(rawValue: 1 << 10)
        }

        package var version = Self.version
        package var features: Features = []
        /// Identifies one run of a viewer among others on the same device.
        package var instance: UInt64
        package var name: String
        /// The largest pictures that it takes; nil without that feature.
        package var bounds: PictureBounds?

        package init(
            version: UInt16 = Self.version, features: Features = [], instance: UInt64, name: String,
            bounds: PictureBounds? = nil
        ) {
            self.version = version
            self.features = bounds == nil ? features.subtracting(.bounds) : features.union(.bounds)
            self.instance = instance
            self.name = name
            self.bounds = bounds
        }
    }

    package struct Welcome: Hashable, Sendable {
        /// The ways in which an unknown viewer may be admitted.
        package struct Methods: OptionSet, Hashable, Sendable {
            package var rawValue: UInt8

            package init(rawValue: UInt8) { self.rawValue = rawValue }

            /// It types the code that the host shows.
            package static let code = Methods(rawValue: 1 << 0)
            /// Both sides show digits, and the host's person compares them.
            package static let compare = Methods(rawValue: 1 << 1)
            /// Everybody is admitted.
            package static let open = Methods(rawValue: 1 << 2)
        }

        /// Optional abilities of a host.
        package struct Features: OptionSet, Hashable, Sendable {
            package var rawValue: UInt32

            package init(rawValue: UInt32) { self.rawValue = rawValue }

            /// It keeps a log of the first form, as hosts before 2026-11-26 did.
            package static let firstWords = Features(rawValue: 1 << 2)
            /// It may send smaller pictures to a viewer that says in which size it shows them.
            package static let shownSize = Features(rawValue: 1 << 3)
            /// It may send sound.
            package static let sound = Features(rawValue: 1 << 4)
            /// It is a member of a room of equals of the second form.
            package static let equals = Features(rawValue: 1 << 9)
            /// It keeps a log: captions, notes, alerts, messages.
            package static let words = Features(rawValue: 1 << 10)
        }

        package var version = Hello.version
        package var features: Features = []
        /// The host knows this viewer.
        package var isTrusted: Bool
        package var methods: Methods
        /// 32 bytes, random for each connection; bound by a pairing.
        package var nonce: [UInt8]
        package var name: String

        package init(
            version: UInt16 = Hello.version, features: Features = [], isTrusted: Bool, methods: Methods, nonce: [UInt8],
            name: String
        ) {
            self.version = version
            self.features = features
            self.isTrusted = isTrusted
            self.methods = methods
            self.nonce = nonce
            self.name = name
        }
    }

    package struct Session: Hashable, Sendable {
        /// 16 bytes: a UUID (RFC 9562).
        package var id: [UInt8]
        package var mediaPort: UInt16
        package var isBroadcasting: Bool
        /// Seals the viewer's datagrams.
        package var viewerKey: SealingKey
        package var mediaKey: SealingKey

        package init(id: [UInt8], mediaPort: UInt16, isBroadcasting: Bool, viewerKey: SealingKey, mediaKey: SealingKey)
        {
            self.id = id
            self.mediaPort = mediaPort
            self.isBroadcasting = isBroadcasting
            self.viewerKey = viewerKey
            self.mediaKey = mediaKey
        }
    }

    /// Why a host refuses.
    package enum Refusal: UInt16, Sendable {
        case other = 0
        case declined = 1
        /// The host admits no unknown viewer, or not in this way.
        case notTrusted = 2
        case wrongCode = 3
        /// The host is busy: retry later.
        case busy = 4
        case unanswered = 5
        /// The viewer was forgotten by `devices forget`.
        case forgotten = 6
        /// The code was used, and there is no new one. Hosts before 2026-11-23 say `notTrusted`.
        case usedCode = 7
        /// The code was replaced a moment ago: the new one is to be typed. Only for viewers that know it (`Features`).
        case replacedCode = 8
        /// The person at the host has sent this device away; no code lets it in at present. Hosts before 2026-11-25 say
        /// `forgotten`, and older viewers read `other`.
        case sentAway = 9
        /// The two versions of the program can't meet in a room. Older viewers read `other`.
        case otherVersion = 10
    }

    case hello(Hello)
    case welcome(Welcome)
    case join
    case session(Session)
    /// CPace's Ya and Yb: 32 bytes.
    case codeShare([UInt8])
    /// CPace's Ta and Tb: 64 bytes.
    case codeConfirm([UInt8])
    /// Too many wrong codes: don't retry for this many milliseconds.
    case codeWait(UInt32)
    /// 32 bytes: the viewer asks to compare digits.
    case compareCommit([UInt8])
    /// 32 bytes, and the number of digits; sent when the host's person has agreed.
    case compareNonce([UInt8], digits: UInt8)
    /// 32 bytes.
    case compareReveal([UInt8])
    case paired(isRemembered: Bool)
    case mediaKey(SealingKey)
    case mediaKeyReady(UInt16)
    case mediaPort(UInt16)
    case broadcast(Bool)
    /// Whether what the host shares can be seen there. While it can't, viewers keep the last picture.
    case sourceVisibility(SourceVisibility)
    /// The largest width and height in pixels in which the viewer shows the picture; 0 and 0: any.
    case shownSize(width: UInt16, height: UInt16)
    /// The full picture's size, of which the viewer gets a smaller one because of its bounds; 0 and 0: it gets all of it.
    case fullSize(width: UInt16, height: UInt16)
    /// Whether the viewer wants sound at present; it does at first if it has that feature.
    case soundWanted(Bool)
    case ping(UInt64)
    /// The ping's own value, and the host's monotonic clock in µs.
    case pong(UInt64, clock: UInt64)
    case refused(Refusal, String)
    case bye(String)
    /// The room's log, if both have that feature.
    case room(LogMessage)
    /// Between members of a room of equals.
    case mesh(MeshMessage)
    /// A kind of a later version: skipped.
    case unknown(UInt8)
}

package enum SecureMessageError: Error, Hashable, CustomStringConvertible {
    case empty
    case truncated(kind: UInt8)
    case value(kind: UInt8, field: String)

    package var description: String {
        switch self {
        case .empty: "an empty message"
        case .truncated(let kind): "a message of kind \(kind) that ends too early"
        case .value(let kind, let field): "a message of kind \(kind) whose \(field) is invalid"
        }
    }
}

extension SecureMessage {
    /// A host's reason for `bye` if there is no other.
    package static let hostEnded = "The host has ended"

    /// The longest name or reason in bytes of UTF-8.
    package static let longestText = 255
    /// The lengths of fields in bytes.
    private static let shareLength = 32
    private static let confirmationLength = 64
    private static let sessionLength = 16

    /// The message's bytes, without the length prefix.
    package var bytes: [UInt8] {
        var writer = FieldWriter()
        switch self {
        case .hello(let hello):
            writer.kind(.hello)
            writer.integer(hello.version)
            writer.integer(hello.features.rawValue)
            writer.integer(hello.instance)
            writer.text(hello.name)
            if let bounds = hello.bounds {
                writer.integer(UInt16(clamping: bounds.sides.width))
                writer.integer(UInt16(clamping: bounds.sides.height))
                writer.integer(UInt32(clamping: bounds.area))
            }
        case .welcome(let welcome):
            writer.kind(.welcome)
            writer.integer(welcome.version)
            writer.integer(welcome.features.rawValue)
            writer.bool(welcome.isTrusted)
            writer.integer(welcome.methods.rawValue)
            writer.raw(welcome.nonce)
            writer.text(welcome.name)
        case .join:
            writer.kind(.join)
        case .session(let session):
            writer.kind(.session)
            writer.raw(session.id)
            writer.integer(session.mediaPort)
            writer.bool(session.isBroadcasting)
            writer.key(session.viewerKey)
            writer.key(session.mediaKey)
        case .codeShare(let share): writer.fixed(.codeShare, share)
        case .codeConfirm(let tag): writer.fixed(.codeConfirm, tag)
        case .codeWait(let milliseconds):
            writer.kind(.codeWait)
            writer.integer(milliseconds)
        case .compareCommit(let commitment): writer.fixed(.compareCommit, commitment)
        case .compareNonce(let nonce, let digits):
            writer.fixed(.compareNonce, nonce)
            writer.integer(digits)
        case .compareReveal(let nonce): writer.fixed(.compareReveal, nonce)
        case .paired(let isRemembered):
            writer.kind(.paired)
            writer.bool(isRemembered)
        case .mediaKey(let key):
            writer.kind(.mediaKey)
            writer.key(key)
        case .mediaKeyReady(let number):
            writer.kind(.mediaKeyReady)
            writer.integer(number)
        case .mediaPort(let port):
            writer.kind(.mediaPort)
            writer.integer(port)
        case .broadcast(let isOn):
            writer.kind(.broadcast)
            writer.bool(isOn)
        case .sourceVisibility(let visibility):
            writer.kind(.sourceVisible)
            writer.bool(visibility == .visible)
            writer.integer(HiddenReason(visibility).rawValue)
        case .shownSize(let width, let height):
            writer.kind(.shownSize)
            writer.integer(width)
            writer.integer(height)
        case .fullSize(let width, let height):
            writer.kind(.fullSize)
            writer.integer(width)
            writer.integer(height)
        case .soundWanted(let isWanted):
            writer.kind(.soundWanted)
            writer.bool(isWanted)
        case .ping(let value):
            writer.kind(.ping)
            writer.integer(value)
        case .pong(let value, let clock):
            writer.kind(.pong)
            writer.integer(value)
            writer.integer(clock)
        case .refused(let refusal, let reason):
            writer.kind(.refused)
            writer.integer(refusal.rawValue)
            writer.text(reason)
        case .bye(let reason):
            writer.kind(.bye)
            writer.text(reason)
        case .room(let message):
            writer.kind(message.kind)
            writer.raw(message.fields)
        case .mesh(let message):
            writer.kind(message.kind)
            writer.raw(message.fields)
        case .unknown(let kind):
            writer.integer(kind)
        }
        return writer.bytes
    }

    /// Reads one message.
    package init(_ bytes: [UInt8]) throws(SecureMessageError) {
        let message = bytes.withUnsafeBytes { bytes in
            Result { () throws(SecureMessageError) in try SecureMessage(bytes) }
        }
        self = try message.get()
    }

    private init(_ bytes: UnsafeRawBufferPointer) throws(SecureMessageError) {
        var fields = BigEndianReader(bytes)
        guard let number: UInt8 = fields.integer() else { throw .empty }
        guard let kind = Kind(rawValue: number) else {
            self = .unknown(number)
            return
        }
        var reader = FieldReader(fields, kind: kind)
        switch kind {
        case .hello:
            let version: UInt16 = try reader.integer()
            let features = Hello.Features(rawValue: try reader.integer())
            let (instance, name): (UInt64, String) = (try reader.integer(), try reader.text())
            self = .hello(
                Hello(
                    version: version, features: features, instance: instance, name: name,
                    bounds: features.contains(.bounds) ? try reader.bounds() : nil))
        case .welcome:
            let version: UInt16 = try reader.integer()
            self = .welcome(
                Welcome(
                    version: version, features: Welcome.Features(rawValue: try reader.integer()),
                    isTrusted: try reader.bool(), methods: Welcome.Methods(rawValue: try reader.integer()),
                    nonce: try reader.raw(PairingContext.nonceLength), name: try reader.text()))
        case .join: self = .join
        case .session:
            self = .session(
                Session(
                    id: try reader.raw(Self.sessionLength), mediaPort: try reader.port(),
                    isBroadcasting: try reader.bool(), viewerKey: try reader.key(), mediaKey: try reader.key()))
        case .codeShare: self = .codeShare(try reader.raw(Self.shareLength))
        case .codeConfirm: self = .codeConfirm(try reader.raw(Self.confirmationLength))
        case .codeWait: self = .codeWait(try reader.integer())
        case .compareCommit: self = .compareCommit(try reader.raw(Self.shareLength))
        case .compareNonce: self = .compareNonce(try reader.raw(Self.shareLength), digits: try reader.integer())
        case .compareReveal: self = .compareReveal(try reader.raw(Self.shareLength))
        case .paired: self = .paired(isRemembered: try reader.bool())
        case .mediaKey: self = .mediaKey(try reader.key())
        case .mediaKeyReady: self = .mediaKeyReady(try reader.integer())
        case .mediaPort: self = .mediaPort(try reader.port())
        case .broadcast: self = .broadcast(try reader.bool())
        case .sourceVisible:
            let isVisible = try reader.bool()
            // Older programs know no reason but the first.
            let reason = (try? reader.integer() as UInt8).flatMap(HiddenReason.init) ?? .window
            self = .sourceVisibility(isVisible ? .visible : reason.visibility)
        case .shownSize: self = .shownSize(width: try reader.integer(), height: try reader.integer())
        case .fullSize: self = .fullSize(width: try reader.integer(), height: try reader.integer())
        case .soundWanted: self = .soundWanted(try reader.bool())
        case .ping: self = .ping(try reader.integer())
        case .pong: self = .pong(try reader.integer(), clock: try reader.integer())
        case .refused:
            let code: UInt16 = try reader.integer()
            self = .refused(Refusal(rawValue: code) ?? .other, try reader.text())
        case .bye: self = .bye(try reader.text())
        case .roomGreeting, .roomEntries, .roomAcknowledged, .roomPartial, .roomReceipts, .roomSlowed:
            guard let message = try LogMessage(kind, fields.rest) else {
                self = .unknown(number)
                return
            }
            self = .room(message)
        case .meshGreeting, .meshFirstGreeting, .meshStatements, .meshStatuses, .meshAlive, .meshToHost, .meshToViewer,
            .meshCode, .meshErrand, .meshQuestion, .meshHeld, .meshForked, .meshPaused:
            guard let message = try MeshMessage(kind, fields.rest) else {
                self = .unknown(number)
                return
            }
            self = .mesh(message)
        }
    }
}

/// Appends a message's fields.
private struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func kind(_ kind: SecureMessage.Kind) { bytes.append(kind.rawValue) }
    mutating func bool(_ value: Bool) { bytes.append(value ? 1 : 0) }
    mutating func raw(_ value: [UInt8]) { bytes += value }

    mutating func fixed(_ kind: SecureMessage.Kind, _ value: [UInt8]) {
        bytes.append(kind.rawValue)
        bytes += value
    }

    mutating func integer(_ value: some FixedWidthInteger) { bytes.append(bigEndian: value) }

    /// A text that is too long is cut.
    mutating func text(_ value: String) {
        let text = value.withoutControls.prefix(utf8: SecureMessage.longestText)
        integer(UInt16(text.utf8.count))
        bytes += text.utf8
    }

    mutating func key(_ key: SealingKey) {
        integer(key.number)
        bytes += key.key
        bytes += key.salt
    }
}

/// Reads a message's fields.
private struct FieldReader {
    private var bytes: BigEndianReader
    private let kind: UInt8

    init(_ bytes: BigEndianReader, kind: SecureMessage.Kind) {
        self.bytes = bytes
        self.kind = kind.rawValue
    }

    mutating func raw(_ count: Int) throws(SecureMessageError) -> [UInt8] {
        guard let field = bytes.bytes(count) else { throw .truncated(kind: kind) }
        return Array(field)
    }

    mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>() throws(SecureMessageError) -> Value {
        guard let value: Value = bytes.integer() else { throw .truncated(kind: kind) }
        return value
    }

    mutating func bool() throws(SecureMessageError) -> Bool {
        switch try integer() as UInt8 {
        case 0: false
        case 1: true
        default: throw .value(kind: kind, field: "flag")
        }
    }

    /// Of pictures: none of the three numbers is 0.
    mutating func bounds() throws(SecureMessageError) -> PictureBounds {
        let (width, height): (UInt16, UInt16) = (try integer(), try integer())
        let area: UInt32 = try integer()
        guard width > 0, height > 0, area > 0 else { throw .value(kind: kind, field: "bounds") }
        return PictureBounds(sides: PixelSize(width: Int(width), height: Int(height)), area: Int(area))
    }

    mutating func port() throws(SecureMessageError) -> UInt16 {
        let port: UInt16 = try integer()
        guard port != 0 else { throw .value(kind: kind, field: "port") }
        return port
    }

    /// UTF-8 without control characters, because it is shown to people.
    mutating func text() throws(SecureMessageError) -> String {
        let length: UInt16 = try integer()
        guard length <= SecureMessage.longestText else { throw .value(kind: kind, field: "text") }
        let bytes = try raw(Int(length))
        guard let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .value(kind: kind, field: "text") }
        return text
    }

    mutating func key() throws(SecureMessageError) -> SealingKey {
        let number: UInt16 = try integer()
        guard
            let key = SealingKey(
                number: number, key: try raw(SealingKey.keyLength), salt: try raw(SealingKey.saltLength))
        else { throw .value(kind: kind, field: "key") }
        return key
    }
}

extension String {
    /// The longest prefix of whole characters that has at most `limit` bytes of UTF-8.
    package func prefix(utf8 limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var text = self
        while text.utf8.count > limit { text.removeLast() }
        return text
    }

    /// Without control characters, as a message's text has to be.
    var withoutControls: String {
        var scalars = String.UnicodeScalarView()
        for scalar in unicodeScalars where scalar.properties.generalCategory != .control { scalars.append(scalar) }
        return String(scalars)
    }
}

/// Why what is shared can't be seen, as the message says it.
private enum HiddenReason: UInt8 {
    case window = 0
    case monitor = 1
    case region = 2

    init(_ visibility: SourceVisibility) {
        switch visibility {
        case .visible, .windowHidden: self = .window
        case .monitorOff: self = .monitor
        case .regionOutside: self = .region
        }
    }

    var visibility: SourceVisibility {
        switch self {
        case .window: .windowHidden
        case .monitor: .monitorOff
        case .region: .regionOutside
        }
    }
}
