package enum ControlMessageError: Error, Hashable, CustomStringConvertible {
    case notJSON
    /// A known key has a value of another type, or out of range.
    case value(key: String)

    package var description: String {
        switch self {
        case .notJSON: "a line that isn't JSON"
        case .value(let key): "a line whose key “\(key)” has no proper value"
        }
    }
}

extension ControlMessage {
    /// Reads one line, without its `\n`.
    ///
    /// The message is told by the first of these keys that is present: on, ok, udpPort, hb, app, mediaSource. A key
    /// whose value is null counts as absent.
    package init(line: ArraySlice<UInt8>) throws(ControlMessageError) {
        // Blank lines are allowed.
        guard line.contains(where: { $0 != 0x20 && $0 != 0x09 }) else {
            self = .unknown
            return
        }
        let members: [String: JSONScanner.Member]?
        do throws(JSONScanner.Malformed) {
            members = try JSONScanner.object(line)
        } catch {
            throw .notJSON
        }
        self = try Self(Fields(members: members ?? [:]))
    }

    private init(_ fields: Fields) throws(ControlMessageError) {
        if let isOn = try fields.bool("on") {
            self = .broadcast(isOn)
        } else if let isAccepted = try fields.bool("ok") {
            self = .reply(
                Reply(
                    isAccepted: isAccepted, session: try fields.string("sessionID"),
                    mediaPort: try fields.port("udpPort"), message: try fields.string("message"),
                    deviceName: try fields.string("deviceName")))
        } else if let port = try fields.port("udpPort") {
            self = .mediaPort(port)
        } else if try fields.integer("hb") != nil {
            self = .heartbeat
        } else if let app = try fields.string("app") {
            self = .handshake(
                Handshake(
                    app: app, version: try fields.integer("ver"), role: try fields.string("role"),
                    code: try fields.string("code")))
        } else if let port = try fields.port("mediaSource") {
            self = .mediaSource(port)
        } else {
            self = .unknown
        }
    }

    /// A line's members by type. Nil: the key is absent or null.
    private struct Fields {
        var members: [String: JSONScanner.Member]

        func bool(_ key: String) throws(ControlMessageError) -> Bool? {
            switch members[key] {
            case nil, .null: nil
            case .bool(let value): value
            default: throw .value(key: key)
            }
        }

        func string(_ key: String) throws(ControlMessageError) -> String? {
            switch members[key] {
            case nil, .null: nil
            case .string(let value): value
            default: throw .value(key: key)
            }
        }

        func integer(_ key: String) throws(ControlMessageError) -> Int? {
            switch members[key] {
            case nil, .null: nil
            case .number(let value?): value
            default: throw .value(key: key)
            }
        }

        func port(_ key: String) throws(ControlMessageError) -> UInt16? {
            guard let value = try integer(key) else { return nil }
            guard let port = UInt16(exactly: value), port > 0 else { throw .value(key: key) }
            return port
        }
    }
}
