import CSystemd

/// A value of D-Bus to be sent.
package indirect enum BusArgument {
    case boolean(Bool)
    case byte(UInt8)
    case integer(Int32)
    case unsigned(UInt32)
    case text(String)
    case path(String)
    /// An array of bytes.
    case bytes([UInt8])
    /// An array of strings.
    case texts([String])
    /// A dictionary from strings to variants.
    case dictionary([(key: String, value: BusArgument)])
    case variant(BusArgument)

    /// The type's signature (D-Bus specification, "Type System").
    var signature: String {
        switch self {
        case .boolean: "b"
        case .byte: "y"
        case .integer: "i"
        case .unsigned: "u"
        case .text: "s"
        case .path: "o"
        case .bytes: "ay"
        case .texts: "as"
        case .dictionary: "a{sv}"
        case .variant: "v"
        }
    }

    /// False if the message can't take the value, for example because a path isn't one.
    package func append(to message: OpaquePointer) -> Bool {
        switch self {
        case .boolean(let value):
            var number: Int32 = value ? 1 : 0
            return sd_bus_message_append_basic(message, Self.type("b"), &number) >= 0
        case .byte(var value): return sd_bus_message_append_basic(message, Self.type("y"), &value) >= 0
        case .integer(var value): return sd_bus_message_append_basic(message, Self.type("i"), &value) >= 0
        case .unsigned(var value): return sd_bus_message_append_basic(message, Self.type("u"), &value) >= 0
        case .text(let value):
            return value.withCString { sd_bus_message_append_basic(message, Self.type("s"), $0) >= 0 }
        case .path(let value):
            return value.withCString { sd_bus_message_append_basic(message, Self.type("o"), $0) >= 0 }
        case .bytes(let value):
            return value.withUnsafeBytes {
                sd_bus_message_append_array(message, Self.type("y"), $0.baseAddress, $0.count) >= 0
            }
        case .texts(let values):
            return sd_bus_message_open_container(message, Self.type("a"), "s") >= 0
                && values.allSatisfy { BusArgument.text($0).append(to: message) }
                && sd_bus_message_close_container(message) >= 0
        case .dictionary(let entries):
            guard sd_bus_message_open_container(message, Self.type("a"), "{sv}") >= 0 else { return false }
            for (key, value) in entries {
                guard sd_bus_message_open_container(message, Self.type("e"), "sv") >= 0,
                    BusArgument.text(key).append(to: message), BusArgument.variant(value).append(to: message),
                    sd_bus_message_close_container(message) >= 0
                else { return false }
            }
            return sd_bus_message_close_container(message) >= 0
        case .variant(let value):
            return sd_bus_message_open_container(message, Self.type("v"), value.signature) >= 0
                && value.append(to: message) && sd_bus_message_close_container(message) >= 0
        }
    }

    private static func type(_ scalar: Unicode.Scalar) -> CChar { CChar(UInt8(ascii: scalar)) }
}
