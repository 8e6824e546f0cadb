import Glibc

/// Where the message buses of D-Bus listen, as addresses of the D-Bus specification ("Server Addresses").
public struct BusAddresses: Sendable, Hashable {
    /// The machine's bus, with logind, UPower and BlueZ. Nil: it isn't used.
    public var system: String?
    /// The bus of the user's session, with the screen locker. Nil: it isn't used.
    public var session: String?

    public init(system: String?, session: String?) {
        self.system = system
        self.session = session
    }

    /// The addresses that this process's environment names, or else the usual ones.
    public static var ofThisMachine: BusAddresses {
        BusAddresses(
            system: environment("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/run/dbus/system_bus_socket",
            session: environment("DBUS_SESSION_BUS_ADDRESS")
                ?? environment("XDG_RUNTIME_DIR").map { "unix:path=" + escaped("\($0)/bus") })
    }

    /// The variable's value; nil if it is unset or empty.
    package static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// A path as an address's value: other bytes than these are escaped (D-Bus specification, "Server Addresses").
    package static func escaped(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII,
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-_/.*\\".contains(Character(scalar))
            {
                text.unicodeScalars.append(scalar)
            } else {
                let digits = String(byte, radix: 16)
                text += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}
