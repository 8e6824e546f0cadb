import BeamMedia

/// What an entry says.
public enum LogContent: Sendable, Hashable {
    /// `speaker` is who says it, if the captioner told.
    case caption(text: String, speaker: String?)
    case note(String)
    case alert(LogAlert)
    /// From program to program: `json` is a valid JSON text in UTF-8 without line ends.
    case message(id: String, json: [UInt8])
    case shareBegan
    case shareEnded
    /// The keeper names a member.
    case member(DeviceKey, name: String)
}

/// What has happened to a share.
public enum LogAlert: Sendable, Hashable {
    case paused
    case resumed
    case locked
    case unlocked
    /// The battery is low and isn't being charged. In percent.
    case batteryLow(percent: Int)
    case batteryFine
    /// The host ends its share.
    case leaving
}

extension LogContent {
    package var kind: LogEntry.Kind {
        switch self {
        case .caption: .caption
        case .note: .note
        case .alert: .alert
        case .message: .message
        case .shareBegan: .shareBegan
        case .shareEnded: .shareEnded
        case .member: .member
        }
    }

    /// An entry's body. Texts are UTF-8; u16 lengths stand before the first of two.
    package var body: [UInt8] {
        switch self {
        case .caption(let text, let speaker): Self.pair(speaker ?? "", Array(text.utf8))
        case .note(let text): Array(text.utf8)
        case .alert(let alert): alert.body
        case .message(let id, let json): Self.pair(id, json)
        case .shareBegan, .shareEnded: []
        case .member(let device, let name): device.bytes + name.utf8
        }
    }

    private static func pair(_ first: String, _ second: [UInt8]) -> [UInt8] {
        let first = first.prefix(utf8: SecureMessage.longestText)
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt16(first.utf8.count))
        return bytes + first.utf8 + second
    }

    /// Nil for kinds of a later version, and for bodies that make no sense: their entries are kept, but mean nothing.
    package init?(_ entry: LogEntry) {
        guard let kind = LogEntry.Kind(rawValue: entry.kind) else { return nil }
        let content = entry.body.withUnsafeBytes { body -> LogContent? in
            var reader = BigEndianReader(body)
            switch kind {
            case .caption:
                guard let speaker = Self.text(reader.counted(by: UInt16.self)), let text = Self.text(reader.rest)
                else { return nil }
                return .caption(text: text, speaker: speaker.isEmpty ? nil : speaker)
            case .note:
                guard body.count <= LogLimits.note, let text = Self.text(body) else { return nil }
                return .note(text)
            case .alert: return LogAlert(&reader).map { .alert($0) }
            case .message:
                guard let id = Self.text(reader.counted(by: UInt16.self)), id.utf8.count <= LogLimits.messageID else {
                    return nil
                }
                return .message(id: id, json: Array(reader.rest))
            case .shareBegan: return .shareBegan
            case .shareEnded: return .shareEnded
            case .member:
                guard let key = reader.bytes(DeviceKey.length).flatMap({ DeviceKey(Array($0)) }),
                    let name = Self.text(reader.rest)
                else { return nil }
                return .member(key, name: name)
            case .sealed: return nil
            }
        }
        guard let content else { return nil }
        self = content
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }
}

extension LogAlert {
    private enum Code: UInt8 {
        case paused = 1
        case resumed = 2
        case locked = 3
        case unlocked = 4
        case batteryLow = 5
        case batteryFine = 6
        case leaving = 7
    }

    /// u8 code, u8 percent.
    fileprivate var body: [UInt8] {
        switch self {
        case .paused: [Code.paused.rawValue, 0]
        case .resumed: [Code.resumed.rawValue, 0]
        case .locked: [Code.locked.rawValue, 0]
        case .unlocked: [Code.unlocked.rawValue, 0]
        case .batteryLow(let percent): [Code.batteryLow.rawValue, UInt8(clamping: percent)]
        case .batteryFine: [Code.batteryFine.rawValue, 0]
        case .leaving: [Code.leaving.rawValue, 0]
        }
    }

    fileprivate init?(_ reader: inout BigEndianReader) {
        guard let code: UInt8 = reader.integer(), let percent: UInt8 = reader.integer() else { return nil }
        switch Code(rawValue: code) {
        case .paused: self = .paused
        case .resumed: self = .resumed
        case .locked: self = .locked
        case .unlocked: self = .unlocked
        case .batteryLow: self = .batteryLow(percent: min(100, Int(clamping: percent)))
        case .batteryFine: self = .batteryFine
        case .leaving: self = .leaving
        case nil: return nil
        }
    }
}
