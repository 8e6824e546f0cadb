import BeamSockets
import Glibc

/// The names by which metrics may be asked for; others are refused (see `RequestedHost`). A value without I/O.
struct MetricsNames: Sendable {
    /// Only this machine's programs are served: only `localhost` and addresses of loopback are taken.
    private let isLoopback: Bool
    /// In lower case.
    private let names: Set<String>

    /// - Parameter machine: this machine's name.
    init(isLoopback: Bool, machine: String) {
        self.isLoopback = isLoopback
        names = RequestedHost.names(of: isLoopback ? "" : machine)
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

    /// Whether the value of a Host header is one of them.
    func accept(_ host: String) -> Bool {
        switch RequestedHost(host) {
        case .address(let address): !isLoopback || MetricsAddress.isLoopback(address)
        case .name(let name): names.contains(name)
        case nil: false
        }
    }
}
