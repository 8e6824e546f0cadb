import BeamSockets
import Glibc
import NIOCore

/// The names by which metrics may be asked for. A value without I/O.
///
/// A page of another site can have its name lead to an address of this machine (DNS rebinding). For a browser that reaches
/// that, what is served here would then be of the page's origin, which could read it. The browser still sends that name
/// as *Host*, and is refused. An address can't be such a name.
struct MetricsNames: Sendable {
    /// Only this machine's programs are served: only `localhost` and addresses of loopback are taken.
    private let isLoopback: Bool
    /// In lower case.
    private let names: Set<String>

    /// - Parameter machine: this machine's name; also taken are what comes before its first dot, and that in `.local`.
    init(isLoopback: Bool, machine: String) {
        self.isLoopback = isLoopback
        let name = machine.lowercased()
        let short = name.prefix { $0 != "." }
        names = isLoopback || short.isEmpty ? ["localhost"] : ["localhost", name, String(short), short + ".local"]
    }

    /// This machine's name; empty: it has none.
    static var machine: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// For who asks by another name.
    var refusal: String {
        isLoopback
            ? "Here only localhost, 127.0.0.1 and [::1] are known as names."
            : "Here only addresses, localhost and this machine's own name, alone and in .local, are known as names."
    }

    /// Whether the value of a Host header (RFC 9110, 7.2) is one of them. The port isn't looked at: it may be forwarded.
    func accept(_ host: String) -> Bool {
        guard host.utf8.count <= 260 else { return false }
        let name: Substring
        let rest: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = host[host.index(after: host.startIndex)..<end]
            rest = host[host.index(after: end)...]
        } else {
            name = host.prefix { $0 != ":" }
            rest = host[name.endIndex...]
        }
        let isPort =
            rest.isEmpty || rest.first == ":" && rest.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isPort else { return false }
        if (try? SocketAddress(ipAddress: String(name), port: 0)) != nil {
            return !isLoopback || MetricsAddress.isLoopback(String(name))
        }
        // In brackets stands an address of IPv6.
        guard !host.hasPrefix("[") else { return false }
        let lower = name.lowercased()
        return names.contains(lower.hasSuffix(".") ? String(lower.dropLast()) : lower)
    }
}
