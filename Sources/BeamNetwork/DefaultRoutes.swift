import Glibc

/// Which interfaces lead to the rest of the world: those of the default routes, with the least metric of each.
enum DefaultRoutes {
    private static let isUp: UInt32 = 0x1
    /// RTF_REJECT: what goes there is refused.
    private static let isRejecting: UInt32 = 0x200
    /// In bytes. Routers have tables of a million routes; the default route comes first.
    private static let mostRead = 256 << 10

    static func read() -> [String: UInt32] {
        parse(v4: text("/proc/net/route"), v6: text("/proc/net/ipv6_route"))
    }

    /// - Parameters:
    ///   - v4: as `/proc/net/route` has it, with its headline.
    ///   - v6: as `/proc/net/ipv6_route` has it.
    static func parse(v4: String, v6: String) -> [String: UInt32] {
        var routes: [String: UInt32] = [:]
        func note(_ interface: Substring, flags: Substring, metric: UInt32?) {
            guard let flags = UInt32(flags, radix: 16), flags & isUp != 0, flags & isRejecting == 0, let metric else {
                return
            }
            routes[String(interface)] = min(routes[String(interface)] ?? .max, metric)
        }
        for line in v4.split(separator: "\n").dropFirst() {
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count >= 8, fields[1] == "00000000", fields[7] == "00000000" else { continue }
            note(fields[0], flags: fields[3], metric: UInt32(fields[6]))
        }
        for line in v6.split(separator: "\n") {
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count >= 10, fields[1] == "00", fields[0].allSatisfy({ $0 == "0" }) else { continue }
            note(fields[9], flags: fields[8], metric: UInt32(fields[5], radix: 16))
        }
        return routes
    }

    private static func text(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < mostRead {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
