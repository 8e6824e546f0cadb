/// Reads JSON (RFC 8259) from an unauthenticated peer: one pass, bounded depth, no object model.
///
/// The protocol's messages are flat objects of a few keys. Foundation's decoder traps on 513 opening brackets (in Swift
/// 6.3), so any peer could end the host with it.
package struct JSONScanner {
    /// A member's value.
    package enum Member: Hashable, Sendable {
        case null
        case bool(Bool)
        /// Nil for a number that isn't whole or doesn't fit into `Int`.
        case number(Int?)
        case string(String)
        /// An array or object: its syntax was checked, its content dropped.
        case nested
    }

    /// Not JSON, or nested too deep.
    package struct Malformed: Error {}

    private var bytes: ArraySlice<UInt8>
    /// The deepest nesting of arrays and objects.
    static let depthLimit = 32

    /// The members of the object in `text`; nil if it is another JSON value. Of members with the same name the last
    /// counts.
    package static func object(_ text: ArraySlice<UInt8>) throws(Malformed) -> [String: Member]? {
        guard String(validating: text, as: UTF8.self) != nil else { throw Malformed() }
        var scanner = JSONScanner(bytes: text)
        scanner.skipSpace()
        var members: [String: Member]?
        if scanner.bytes.first == UInt8(ascii: "{") {
            var found: [String: Member] = [:]
            try scanner.object(depth: 1) { found[$0] = $1 }
            members = found
        } else {
            _ = try scanner.value(depth: 0)
        }
        scanner.skipSpace()
        guard scanner.bytes.isEmpty else { throw Malformed() }
        return members
    }

    /// The texts of the object's values; nil if `text` is another JSON value. Of members with the same name the last counts.
    package static func texts(_ text: ArraySlice<UInt8>) throws(Malformed) -> [String: ArraySlice<UInt8>]? {
        guard try object(text) != nil else { return nil }
        var scanner = JSONScanner(bytes: text)
        scanner.skipSpace()
        var found: [String: ArraySlice<UInt8>] = [:]
        try scanner.take("{")
        scanner.skipSpace()
        guard !scanner.takeIfPresent("}") else { return found }
        repeat {
            scanner.skipSpace()
            let name = try scanner.string()
            scanner.skipSpace()
            try scanner.take(":")
            scanner.skipSpace()
            let start = scanner.bytes.startIndex
            _ = try scanner.value(depth: 1)
            found[name] = text[start..<scanner.bytes.startIndex]
            scanner.skipSpace()
        } while scanner.takeIfPresent(",")
        return found
    }

    /// The strings of the array in `text`, at most `limit`; nil if it is another JSON value, or has another element.
    package static func strings(_ text: ArraySlice<UInt8>, atMost limit: Int) throws(Malformed) -> [String]? {
        guard String(validating: text, as: UTF8.self) != nil else { throw Malformed() }
        var scanner = JSONScanner(bytes: text)
        scanner.skipSpace()
        guard scanner.takeIfPresent("[") else { return nil }
        var found: [String] = []
        scanner.skipSpace()
        if !scanner.takeIfPresent("]") {
            repeat {
                scanner.skipSpace()
                guard found.count < limit, scanner.bytes.first == UInt8(ascii: "\"") else { return nil }
                found.append(try scanner.string())
                scanner.skipSpace()
            } while scanner.takeIfPresent(",")
            try scanner.take("]")
        }
        scanner.skipSpace()
        guard scanner.bytes.isEmpty else { throw Malformed() }
        return found
    }

    /// The texts of the array's elements in `text`, at most `limit`; nil if it is another JSON value, or has more.
    package static func elements(
        _ text: ArraySlice<UInt8>, atMost limit: Int
    ) throws(Malformed) -> [ArraySlice<UInt8>]? {
        guard String(validating: text, as: UTF8.self) != nil else { throw Malformed() }
        var scanner = JSONScanner(bytes: text)
        scanner.skipSpace()
        guard scanner.takeIfPresent("[") else { return nil }
        var found: [ArraySlice<UInt8>] = []
        scanner.skipSpace()
        if !scanner.takeIfPresent("]") {
            repeat {
                scanner.skipSpace()
                guard found.count < limit else { return nil }
                let start = scanner.bytes.startIndex
                _ = try scanner.value(depth: 1)
                found.append(text[start..<scanner.bytes.startIndex])
                scanner.skipSpace()
            } while scanner.takeIfPresent(",")
            try scanner.take("]")
        }
        scanner.skipSpace()
        guard scanner.bytes.isEmpty else { throw Malformed() }
        return found
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Malformed) -> Member {
        guard let first = bytes.first else { throw Malformed() }
        switch first {
        case UInt8(ascii: "{"):
            try object(depth: depth + 1) { _, _ in }
            return .nested
        case UInt8(ascii: "["):
            try array(depth: depth + 1)
            return .nested
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object(
        depth: Int, member: (String, Member) -> Void
    ) throws(Malformed) {
        guard depth <= Self.depthLimit else { throw Malformed() }
        try take("{")
        skipSpace()
        if takeIfPresent("}") { return }
        repeat {
            skipSpace()
            let name = try string()
            skipSpace()
            try take(":")
            skipSpace()
            member(name, try value(depth: depth))
            skipSpace()
        } while takeIfPresent(",")
        try take("}")
    }

    private mutating func array(depth: Int) throws(Malformed) {
        guard depth <= Self.depthLimit else { throw Malformed() }
        try take("[")
        skipSpace()
        if takeIfPresent("]") { return }
        repeat {
            skipSpace()
            _ = try value(depth: depth)
            skipSpace()
        } while takeIfPresent(",")
        try take("]")
    }

    private mutating func word(_ word: StaticString, _ value: Member) throws(Malformed) -> Member {
        let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes.starts(with: expected) else { throw Malformed() }
        bytes.removeFirst(expected.count)
        return value
    }

    /// `-? (0 | [1-9] [0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    private mutating func number() throws(Malformed) -> Int? {
        let start = bytes
        _ = takeIfPresent("-")
        if !takeIfPresent("0") { try digits() }
        var isWhole = true
        if takeIfPresent(".") {
            isWhole = false
            try digits()
        }
        if takeIfPresent("e") || takeIfPresent("E") {
            isWhole = false
            if !takeIfPresent("+") { _ = takeIfPresent("-") }
            try digits()
        }
        let text = String(decoding: start[..<bytes.startIndex], as: UTF8.self)
        return isWhole ? Int(text) : Double(text).flatMap { Int(exactly: $0) }
    }

    private mutating func digits() throws(Malformed) {
        let count = bytes.prefix { (0x30...0x39).contains($0) }.count
        guard count > 0 else { throw Malformed() }
        bytes.removeFirst(count)
    }

    // MARK: Strings

    private mutating func string() throws(Malformed) -> String {
        try take("\"")
        var text: [UInt8] = []
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: String(try escape()).utf8)
            case 0..<0x20: throw Malformed()
            default: text.append(byte)
            }
        }
        throw Malformed()
    }

    /// What follows a backslash.
    private mutating func escape() throws(Malformed) -> Unicode.Scalar {
        switch bytes.popFirst() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try codeUnit()
            guard UTF16.isLeadSurrogate(unit) else {
                guard let scalar = Unicode.Scalar(unit) else { throw Malformed() }
                return scalar
            }
            try take("\\")
            try take("u")
            let trail = try codeUnit()
            guard UTF16.isTrailSurrogate(trail) else { throw Malformed() }
            let bits = UInt32(unit & 0x3FF) << 10 | UInt32(trail & 0x3FF)
            guard let scalar = Unicode.Scalar(0x10000 + bits) else { throw Malformed() }
            return scalar
        default: throw Malformed()
        }
    }

    private mutating func codeUnit() throws(Malformed) -> UInt16 {
        let digits = bytes.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw Malformed() }
        bytes.removeFirst(4)
        return unit
    }

    // MARK: Bytes

    private mutating func skipSpace() {
        bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }

    private mutating func takeIfPresent(_ expected: Unicode.Scalar) -> Bool {
        guard bytes.first == UInt8(ascii: expected) else { return false }
        bytes.removeFirst()
        return true
    }

    private mutating func take(_ expected: Unicode.Scalar) throws(Malformed) {
        guard takeIfPresent(expected) else { throw Malformed() }
    }
}
