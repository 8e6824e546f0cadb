import BeamMedia

extension SecureMessage {
    /// A host's reason for `bye` if there is no other.
    package static let hostEnded = "The host has ended"

    /// A receiver's reason: it gets the picture, by another connection.
    package static let screenShown = "The screen is shown"

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
        case .join: writer.kind(.join)
        case .session(let session):
            writer.kind(.session)
            writer.raw(session.id)
            writer.integer(session.mediaPort)
            writer.bool(session.isBroadcasting)
            writer.key(session.viewerKey)
            writer.key(session.mediaKey)
        case .codeShare(let share): writer.fixed(.codeShare, share)
        case .codeConfirm(let tag): writer.fixed(.codeConfirm, tag)
        case .codeWait(let milliseconds): writer.integer(.codeWait, milliseconds)
        case .compareCommit(let commitment): writer.fixed(.compareCommit, commitment)
        case .compareNonce(let nonce, let digits):
            writer.fixed(.compareNonce, nonce)
            writer.integer(digits)
        case .compareReveal(let nonce): writer.fixed(.compareReveal, nonce)
        case .paired(let isRemembered): writer.bool(.paired, isRemembered)
        case .mediaKey(let key):
            writer.kind(.mediaKey)
            writer.key(key)
        case .mediaKeyReady(let number): writer.integer(.mediaKeyReady, number)
        case .mediaPort(let port): writer.integer(.mediaPort, port)
        case .broadcast(let isOn): writer.bool(.broadcast, isOn)
        case .sourceVisibility(let visibility):
            writer.kind(.sourceVisible)
            writer.bool(visibility == .visible)
            writer.integer(HiddenReason(visibility).rawValue)
        case .shownSize(let width, let height):
            writer.integer(.shownSize, width)
            writer.integer(height)
        case .fullSize(let width, let height):
            writer.integer(.fullSize, width)
            writer.integer(height)
        case .qualityWanted(let wish): writer.wish(wish)
        case .soundWanted(let isWanted): writer.bool(.soundWanted, isWanted)
        case .patchTakers(let takers): writer.integer(.patchTakers, takers.rawValue)
        case .ping(let value): writer.integer(.ping, value)
        case .pong(let value, let clock):
            writer.integer(.pong, value)
            writer.integer(clock)
        case .refused(let refusal, let reason):
            writer.integer(.refused, refusal.rawValue)
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
        case .screenOffered(let port): writer.integer(.screenOffered, port)
        case .screenAwaited: writer.kind(.screenAwaited)
        case .unknown(let kind): writer.integer(kind)
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
        case .qualityWanted: self = .qualityWanted(try reader.wish())
        case .soundWanted: self = .soundWanted(try reader.bool())
        case .patchTakers:
            self = .patchTakers(PatchTakers(rawValue: try reader.integer()).intersection(.all))
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
        case .screenOffered: self = .screenOffered(port: try reader.port())
        case .screenAwaited: self = .screenAwaited
        }
    }
}

extension QualityWish {
    /// A message has frames a second in hundredths, so that 29.97 is one of its values.
    fileprivate static let framesUnit = 100.0
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

    mutating func integer(_ kind: SecureMessage.Kind, _ value: some FixedWidthInteger) {
        self.kind(kind)
        integer(value)
    }

    mutating func bool(_ kind: SecureMessage.Kind, _ value: Bool) {
        self.kind(kind)
        bool(value)
    }

    /// A text that is too long is cut.
    mutating func text(_ value: String) {
        let text = value.withoutControls.prefix(utf8: SecureMessage.longestText)
        integer(UInt16(text.utf8.count))
        bytes += text.utf8
    }

    /// 0 stands for what isn't limited.
    mutating func wish(_ wish: QualityWish) {
        kind(.qualityWanted)
        integer(UInt16(clamping: wish.maxSize ?? 0))
        integer(UInt32(clamping: wish.bitRate ?? 0))
        integer(UInt16(clamping: ((wish.frameRate ?? 0) * QualityWish.framesUnit).rounded()))
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

    /// Any numbers may come: `QualityWish` bounds them.
    mutating func wish() throws(SecureMessageError) -> QualityWish {
        let (size, rate, frames): (UInt16, UInt32, UInt16) = (try integer(), try integer(), try integer())
        return QualityWish(
            maxSize: size == 0 ? nil : Int(size), bitRate: rate == 0 ? nil : Int(rate),
            frameRate: frames == 0 ? nil : Double(frames) / QualityWish.framesUnit)
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
    case locked = 3
    case consent = 4
    case hostLost = 5
    case hostEnded = 6

    init(_ visibility: SourceVisibility) {
        switch visibility {
        case .visible, .windowHidden: self = .window
        case .monitorOff: self = .monitor
        case .regionOutside: self = .region
        case .screenLocked: self = .locked
        case .consentAwaited: self = .consent
        case .hostLost: self = .hostLost
        case .hostEnded: self = .hostEnded
        }
    }

    var visibility: SourceVisibility {
        switch self {
        case .window: .windowHidden
        case .monitor: .monitorOff
        case .region: .regionOutside
        case .locked: .screenLocked
        case .consent: .consentAwaited
        case .hostLost: .hostLost
        case .hostEnded: .hostEnded
        }
    }
}
