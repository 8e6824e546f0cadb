import CSystemd

/// A received value of D-Bus; variants are unwrapped.
package enum BusValue: Equatable {
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case real(Double)
    /// A string, an object path or a signature.
    case text(String)
    /// An array of bytes.
    case bytes([UInt8])
    /// An array or a structure.
    case list([BusValue])
    /// A dictionary. Integer keys are written in decimal.
    case entries([String: BusValue])

    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    package var unsigned: UInt64? { if case .unsigned(let value) = self { value } else { nil } }
    package var real: Double? { if case .real(let value) = self { value } else { nil } }
    package var text: String? { if case .text(let value) = self { value } else { nil } }
    package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    package var list: [BusValue]? { if case .list(let value) = self { value } else { nil } }
    package var entries: [String: BusValue]? { if case .entries(let value) = self { value } else { nil } }
}

/// Reads a message's arguments, within bounds.
package struct BusReader {
    /// A reply of BlueZ has about 25 values for each device that it knows.
    static let maxValues = 200_000
    /// The specification allows 64: 32 arrays and 32 structures.
    static let maxDepth = 12
    /// Longer strings and byte arrays are read as empty: nothing that is used here is as long.
    static let maxBytes = 4096

    package struct Unreadable: Error {}

    private let message: OpaquePointer
    private var values = 0

    package init(_ message: OpaquePointer) { self.message = message }

    /// All arguments, from the beginning of a message that nobody has read from.
    package mutating func arguments() throws(Unreadable) -> [BusValue] {
        var arguments: [BusValue] = []
        while let value = try next(depth: 0) { arguments.append(value) }
        return arguments
    }

    /// Nil at the end of the container.
    private mutating func next(depth: Int) throws(Unreadable) -> BusValue? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard try check(sd_bus_message_peek_type(message, &type, &contents)) > 0 else { return nil }
        values += 1
        guard values <= Self.maxValues, depth <= Self.maxDepth else { throw Unreadable() }
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "a"):
            return try array(of: contents, depth: depth)
        case UInt8(ascii: "v"):
            return try inside(type, contents) { reader throws(Unreadable) in try reader.next(depth: depth + 1) }
        case UInt8(ascii: "r"), UInt8(ascii: "e"):
            return try inside(type, contents) { reader throws(Unreadable) in .list(try reader.rest(depth: depth + 1)) }
        default:
            return try basic(type)
        }
    }

    private mutating func rest(depth: Int) throws(Unreadable) -> [BusValue] {
        var list: [BusValue] = []
        while let value = try next(depth: depth) { list.append(value) }
        return list
    }

    private mutating func array(of contents: UnsafePointer<CChar>?, depth: Int) throws(Unreadable) -> BusValue {
        let array = CChar(UInt8(ascii: "a"))
        switch contents?.pointee {
        case CChar(UInt8(ascii: "y")):
            var bytes: UnsafeRawPointer?
            var count = 0
            _ = try check(sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &bytes, &count))
            guard let bytes, count <= Self.maxBytes else { return .bytes([]) }
            return .bytes([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
        case CChar(UInt8(ascii: "{")):
            return try inside(array, contents) { reader throws(Unreadable) in
                var entries: [String: BusValue] = [:]
                for case .list(let entry) in try reader.rest(depth: depth + 1) where entry.count == 2 {
                    switch entry[0] {
                    case .text(let key): entries[key] = entry[1]
                    case .integer(let key): entries[String(key)] = entry[1]
                    case .unsigned(let key): entries[String(key)] = entry[1]
                    default: break
                    }
                }
                return .entries(entries)
            }
        default:
            return try inside(array, contents) { reader throws(Unreadable) in .list(try reader.rest(depth: depth + 1)) }
        }
    }

    private mutating func inside<Result>(
        _ type: CChar, _ contents: UnsafePointer<CChar>?,
        _ body: (inout BusReader) throws(Unreadable) -> Result
    ) throws(Unreadable) -> Result {
        _ = try check(sd_bus_message_enter_container(message, type, contents))
        let result = try body(&self)
        _ = try check(sd_bus_message_exit_container(message))
        return result
    }

    private func basic(_ type: CChar) throws(Unreadable) -> BusValue {
        switch UInt8(bitPattern: type) {
        case UInt8(ascii: "b"): .boolean(try read(type, Int32(0)) != 0)
        case UInt8(ascii: "y"): .unsigned(UInt64(try read(type, UInt8(0))))
        case UInt8(ascii: "n"): .integer(Int64(try read(type, Int16(0))))
        case UInt8(ascii: "q"): .unsigned(UInt64(try read(type, UInt16(0))))
        case UInt8(ascii: "i"), UInt8(ascii: "h"): .integer(Int64(try read(type, Int32(0))))
        case UInt8(ascii: "u"): .unsigned(UInt64(try read(type, UInt32(0))))
        case UInt8(ascii: "x"): .integer(try read(type, Int64(0)))
        case UInt8(ascii: "t"): .unsigned(try read(type, UInt64(0)))
        case UInt8(ascii: "d"): .real(try read(type, Double(0)))
        case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"): .text(try text(type))
        default: throw Unreadable()
        }
    }

    private func text(_ type: CChar) throws(Unreadable) -> String {
        let text: UnsafePointer<CChar>? = try read(type, nil)
        let bytes = UnsafeBufferPointer(start: text, count: text.map { strnlen($0, Self.maxBytes + 1) } ?? 0)
        return bytes.count > Self.maxBytes
            ? "" : String(decoding: bytes.lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func read<Value>(_ type: CChar, _ initial: Value) throws(Unreadable) -> Value {
        var value = initial
        _ = try check(withUnsafeMutablePointer(to: &value) { sd_bus_message_read_basic(message, type, $0) })
        return value
    }

    private func check(_ result: Int32) throws(Unreadable) -> Int32 {
        guard result >= 0 else { throw Unreadable() }
        return result
    }
}
