import CSystemd

/// A received signal.
package struct BusSignal {
    /// See `BusMessage.sender`.
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [BusValue]

    package init(_ message: BusMessage, arguments: [BusValue]) {
        sender = message.sender
        path = message.path
        interface = message.interface
        member = message.member
        self.arguments = arguments
    }

    /// The interface, changed properties and properties to be read anew, if the signal tells of changed properties.
    package var changedProperties: (interface: String, values: [String: BusValue], others: [String])? {
        guard interface == "org.freedesktop.DBus.Properties", member == "PropertiesChanged", arguments.count == 3,
            let changed = arguments[0].text, let values = arguments[1].entries
        else { return nil }
        return (changed, values, arguments[2].list?.compactMap(\.text) ?? [])
    }
}

/// A received message. Valid only during the call that passes it.
package struct BusMessage {
    package let pointer: OpaquePointer

    package init(pointer: OpaquePointer) { self.pointer = pointer }

    /// The sender's unique name. The bus sets it, so it is true.
    package var sender: String { Self.text(sd_bus_message_get_sender(pointer)) }
    package var path: String { Self.text(sd_bus_message_get_path(pointer)) }
    package var interface: String { Self.text(sd_bus_message_get_interface(pointer)) }
    package var member: String { Self.text(sd_bus_message_get_member(pointer)) }

    package var isSignal: Bool { type == UInt8(clamping: SD_BUS_MESSAGE_SIGNAL) }
    package var isMethodCall: Bool { type == UInt8(clamping: SD_BUS_MESSAGE_METHOD_CALL) }
    package var isError: Bool { type == UInt8(clamping: SD_BUS_MESSAGE_METHOD_ERROR) }

    /// The arguments; nil if they exceed the bounds of `BusReader`. May be read once.
    package func arguments() -> [BusValue]? {
        var reader = BusReader(pointer)
        return try? reader.arguments()
    }

    private var type: UInt8 {
        var type: UInt8 = 0
        return sd_bus_message_get_type(pointer, &type) >= 0 ? type : 0
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
}
