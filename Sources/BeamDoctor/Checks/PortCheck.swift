import Glibc

/// Whether the usual ports are free.
enum PortCheck {
    private struct Port {
        var number: UInt16
        var isStream: Bool
        var consequence: String
        var name: String { "\(isStream ? "TCP" : "UDP") port \(number)" }
    }

    private static let usual = [
        Port(number: 52345, isStream: true, consequence: "A share begins with another one: --port 0 takes any."),
        Port(number: 52346, isStream: false, consequence: "A share takes another one by itself."),
        Port(number: 52347, isStream: true, consequence: "For browsers a share takes one of the next by itself."),
        Port(number: 52348, isStream: false, consequence: "For browsers a share takes one of the next by itself."),
        Port(
            number: 52349, isStream: true,
            consequence: "A receiver (`watch --wait`) needs another one: --port 0 takes any."),
    ]

    static func findings() -> [Finding] {
        let found = usual.compactMap { port -> Finding? in
            switch refusal(of: port) {
            case nil: nil
            case EADDRINUSE:
                Finding(
                    "ports", .improvable,
                    "\(port.name) is in use, by a share or by another program (`ss -tulnp` shows by which). \(port.consequence)"
                )
            case let code?:
                Finding(
                    "ports", .broken,
                    "\(port.name) can't be opened: \(String(cString: strerror(code))). A sandbox, a container or a limit of open "
                        + "files may forbid it.")
            }
        }
        guard found.isEmpty else { return found }
        return [
            Finding(
                "ports", .good,
                "The ports are free: TCP 52345 and UDP 52346, for browsers TCP 52347 and UDP 52348, for a receiver TCP 52349."
            )
        ]
    }

    /// The system's error; nil: it can be opened.
    private static func refusal(of port: Port) -> CInt? {
        let descriptor = socket(
            AF_INET, CInt((port.isStream ? SOCK_STREAM : SOCK_DGRAM).rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        if port.isStream {
            // Connections that have ended don't count, as they don't for a share.
            var yes: CInt = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.number.bigEndian
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0 else { return errno }
        return port.isStream && listen(descriptor, 1) != 0 ? errno : nil
    }
}
