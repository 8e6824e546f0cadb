import BeamSockets
import BeamWire
import NIOCore

/// Where metrics are served: an address of this machine, and a TCP port.
public struct MetricsAddress: Sendable, Hashable {
    /// Numeric.
    public let host: String
    /// 0: any free one.
    public let port: UInt16

    /// Reads `9464`, `192.0.2.7:9464`, `[2001:db8::7]:9464` or `localhost:9464`; nil if it is none of these. A port alone is
    /// that of the loopback address, which only programs on this machine reach.
    public init?(_ text: String) {
        let host: Substring
        let port: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), text[end...].hasPrefix("]:") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            port = text[text.index(end, offsetBy: 2)...]
            guard host.contains(":") else { return nil }
        } else if let colon = text.firstIndex(of: ":") {
            (host, port) = (text[..<colon], text[text.index(after: colon)...])
        } else {
            (host, port) = ("127.0.0.1", text[...])
        }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let numeric = UInt16(port) else { return nil }
        let name = host.lowercased() == "localhost" ? "127.0.0.1" : String(host)
        guard (try? SocketAddress(ipAddress: name, port: Int(numeric))) != nil else { return nil }
        (self.host, self.port) = (name, numeric)
    }

    /// With the port that was taken.
    func with(port: UInt16) -> MetricsAddress { MetricsAddress(host: host, port: port) }

    private init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    /// Only programs on this machine reach it.
    public var isLoopback: Bool {
        (try? SocketAddress(ipAddress: host, port: 0)).flatMap { IPAddress($0) }.map(Self.isLoopback) ?? false
    }

    /// Whether it is an address of the loopback interface.
    static func isLoopback(_ address: IPAddress) -> Bool {
        switch address {
        case .v4(let bits): bits >> 24 == 127
        case .v6(let high, let low, _): high == 0 && low == 1
        }
    }

    /// As the option takes it, in short: `9464`, `192.0.2.7:9464`.
    var option: String { host == "127.0.0.1" ? String(port) : text }

    /// For example `127.0.0.1:9464`.
    public var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
