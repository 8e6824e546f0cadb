#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is wrong with a line.
enum ControlMessageError: Error, Hashable, CustomStringConvertible {
    case notJSON
    /// A known key has a value of another type, or out of range.
    case value(key: String)

    var description: String {
        switch self {
        case .notJSON: "a line that isn't JSON"
        case .value(let key): "a line whose key “\(key)” has no proper value"
        }
    }
}

extension ControlMessage {
    /// Reads one line, without its end.
    ///
    /// It is decoded once; where several messages' keys are there, the first of on, ok, udpPort, hb, app and
    /// mediaSource decides. A key whose value is null counts as absent.
    init(line: ArraySlice<UInt8>) throws(ControlMessageError) {
        // Only UTF-8, though the decoder would guess other encodings.
        guard line.first != 0, line.dropFirst().first != 0, String(validating: line, as: UTF8.self) != nil else {
            throw .notJSON
        }
        // Blank lines are nothing to complain of.
        guard line.contains(where: { $0 != 0x20 && $0 != 0x09 }) else {
            self = .unknown
            return
        }
        do {
            // The decoder refuses nesting deeper than 512 levels, which a thread's stack bears.
            self = try JSONDecoder().decode(DecodedLine.self, from: Data(line)).message
        } catch let error as ControlMessageError {
            throw error
        } catch {
            throw .notJSON
        }
    }
}

private struct DecodedLine: Decodable {
    var message: ControlMessage

    private enum Key: String, CodingKey {
        case on, ok, udpPort, hb, app, mediaSource
        case ver, role, code, sessionID, message, deviceName
    }

    private typealias Fields = KeyedDecodingContainer<Key>

    init(from decoder: any Decoder) throws {
        // JSON, but no object: none of ours.
        guard let fields = try? decoder.container(keyedBy: Key.self) else {
            message = .unknown
            return
        }
        if let isOn = try Self.value(Bool.self, .on, fields) {
            message = .broadcast(isOn)
        } else if let isAccepted = try Self.value(Bool.self, .ok, fields) {
            message = .reply(try Self.reply(isAccepted, fields))
        } else if let port = try Self.port(.udpPort, fields) {
            message = .mediaPort(port)
        } else if try Self.value(Int.self, .hb, fields) != nil {
            message = .heartbeat
        } else if let app = try Self.value(String.self, .app, fields) {
            message = .handshake(
                ControlMessage.Handshake(
                    app: app, version: try Self.value(Int.self, .ver, fields),
                    role: try Self.value(String.self, .role, fields), code: try Self.value(String.self, .code, fields)))
        } else if let port = try Self.port(.mediaSource, fields) {
            message = .mediaSource(port)
        } else {
            message = .unknown
        }
    }

    private static func reply(_ isAccepted: Bool, _ fields: Fields) throws -> ControlMessage.Reply {
        ControlMessage.Reply(
            isAccepted: isAccepted, session: try value(String.self, .sessionID, fields),
            mediaPort: try port(.udpPort, fields), message: try value(String.self, .message, fields),
            deviceName: try value(String.self, .deviceName, fields))
    }

    /// Nil when the key is absent or null.
    private static func value<Value: Decodable>(_ type: Value.Type, _ key: Key, _ fields: Fields) throws -> Value? {
        do {
            return try fields.decodeIfPresent(type, forKey: key)
        } catch {
            throw ControlMessageError.value(key: key.rawValue)
        }
    }

    private static func port(_ key: Key, _ fields: Fields) throws -> UInt16? {
        guard let port = try value(UInt16.self, key, fields) else { return nil }
        guard port > 0 else { throw ControlMessageError.value(key: key.rawValue) }
        return port
    }
}
