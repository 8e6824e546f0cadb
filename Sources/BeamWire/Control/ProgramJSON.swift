/// JSON texts (RFC 8259) that programs exchange by way of this one: checked, and passed on as they are.
public enum ProgramJSON {
    /// Not JSON, or nested deeper than 32 levels.
    public struct Malformed: Error, CustomStringConvertible {
        public var description: String { "it isn't JSON, or is nested deeper than \(JSONScanner.depthLimit) levels" }
    }

    /// The members of the object in `text`, each value as it stands there; nil for another value than an object.
    public static func members(_ text: [UInt8]) throws(Malformed) -> [String: [UInt8]]? {
        do throws(JSONScanner.Malformed) {
            return try JSONScanner.texts(text[...])?.mapValues { oneLine($0) }
        } catch {
            throw Malformed()
        }
    }

    /// A JSON string's characters; nil for another value.
    public static func string(_ text: [UInt8]) -> String? {
        guard let members = try? JSONScanner.object((Array("{\"a\":".utf8) + text + [UInt8(ascii: "}")])[...]),
            case .string(let string) = members["a"]
        else { return nil }
        return string
    }

    public static func isValid(_ text: [UInt8]) -> Bool {
        do throws(JSONScanner.Malformed) {
            _ = try JSONScanner.object(text[...])
            return true
        } catch {
            return false
        }
    }

    /// Without line ends, which in valid JSON are white space only: an event is one line.
    public static func oneLine(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
    }
}
