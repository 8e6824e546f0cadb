import CSystemd

/// A received signal.
struct BusSignal {
    var path: String
    var interface: String
    var member: String
    var arguments: [BusValue]

    /// The interface, changed properties and properties to be read anew, if the signal tells of changed properties.
    var changedProperties: (interface: String, values: [String: BusValue], others: [String])? {
        guard interface == "org.freedesktop.DBus.Properties", member == "PropertiesChanged", arguments.count == 3,
            let changed = arguments[0].text, let values = arguments[1].entries
        else { return nil }
        return (changed, values, arguments[2].list?.compactMap(\.text) ?? [])
    }
}

/// A received message. Valid only during the call that passes it.
struct BusMessage {
    let pointer: OpaquePointer

    /// The sender's unique name. The bus sets it, so it is true.
    var sender: String { Self.text(sd_bus_message_get_sender(pointer)) }
    var path: String { Self.text(sd_bus_message_get_path(pointer)) }
    var interface: String { Self.text(sd_bus_message_get_interface(pointer)) }
    var member: String { Self.text(sd_bus_message_get_member(pointer)) }

    var isSignal: Bool { type == UInt8(clamping: SD_BUS_MESSAGE_SIGNAL) }
    var isMethodCall: Bool { type == UInt8(clamping: SD_BUS_MESSAGE_METHOD_CALL) }
    var isError: Bool { type == UInt8(clamping: SD_BUS_MESSAGE_METHOD_ERROR) }

    /// The arguments; nil if they exceed the bounds of `BusReader`. May be read once.
    func arguments() -> [BusValue]? {
        var reader = BusReader(pointer)
        return try? reader.arguments()
    }

    private var type: UInt8 {
        var type: UInt8 = 0
        return sd_bus_message_get_type(pointer, &type) >= 0 ? type : 0
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
}
