import BeamSockets
import BeamWire
import Glibc

/// The way that packets take from this machine to an address, as the kernel would send them now.
public struct NetworkRoute: Equatable, Sendable {
    public enum Medium: Equatable, Sendable {
        /// The machine itself.
        case loopback
        case wifi
        /// `speed`: in Mbit/s, if the cable's interface tells.
        case cable(speed: Int?)
        /// A VPN, for example.
        case tunnel
        /// An interface that looks like none of these: of a container, a bridge or a bond.
        case other
    }

    public var interface: String
    public var index: Int32
    public var medium: Medium
    /// The router that packets are handed to; nil: the address is on the interface's own network.
    public var gateway: String?

    /// What is known of the machine at an address of an interface's own network (arp(7), RFC 4861).
    public enum Neighbour: Equatable, Sendable {
        /// It has answered within the last half minute or so.
        case confirmed
        /// It has answered earlier, or the entry was made by hand.
        case known
        /// It was asked for, and hasn't answered.
        case silent
        /// Nobody has asked.
        case none
    }

    /// The route to `address`; nil: there is none, or the kernel doesn't tell.
    public static func to(_ address: IPAddress) -> NetworkRoute? {
        guard let answer = RouteQuestions.route(to: address) else { return nil }
        let link = LinkTable.read().first { $0.index == answer.index }
        guard let name = link?.name ?? name(answer.index) else { return nil }
        return NetworkRoute(
            interface: name, index: answer.index, medium: answer.isLocal ? .loopback : medium(name, link),
            gateway: answer.gateway)
    }

    /// What is known of `address`, which is on this route's own network.
    public func neighbour(_ address: IPAddress) -> Neighbour { RouteQuestions.neighbour(address, on: index) }

    private static func medium(_ name: String, _ link: NetworkLink?) -> Medium {
        if let link, link.isLoopback { return .loopback }
        if let link, LocalAddresses.isTunnel(link) { return .tunnel }
        let folder = "/sys/class/net/\(name)"
        if access(folder + "/phy80211", F_OK) == 0 || access(folder + "/wireless", F_OK) == 0 { return .wifi }
        guard link?.kind == nil, access(folder + "/device", F_OK) == 0 else { return .other }
        return .cable(speed: speed(folder + "/speed"))
    }

    private static func speed(_ path: String) -> Int? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &bytes, bytes.count)
        // Without a carrier it is -1, or can't be read.
        guard count > 0, let speed = Int(String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)),
            speed > 0
        else { return nil }
        return speed
    }

    private static func name(_ index: Int32) -> String? {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        return if_indextoname(UInt32(bitPattern: index), &name).map { String(cString: $0) }
    }
}

/// The kernel's tables of routes and neighbours.
enum RouteQuestions {
    // linux/rtnetlink.h, linux/neighbour.h
    private static let newRoute: UInt16 = 24
    private static let getRoute: UInt16 = 26
    private static let newNeighbour: UInt16 = 28
    private static let getNeighbour: UInt16 = 30
    private static let headerSize = 12
    private static let localRoute: UInt8 = 2
    private static let destination: UInt16 = 1
    private static let outputInterface: UInt16 = 4
    private static let gateway: UInt16 = 5
    private static let via: UInt16 = 18

    struct Answer: Equatable {
        var index: Int32
        var isLocal: Bool
        var gateway: String?
    }

    static func route(to address: IPAddress) -> Answer? {
        let bytes = address.networkBytes
        var question = [UInt8](repeating: 0, count: headerSize)
        question[0] = family(bytes)
        question[1] = UInt8(bytes.count * 8)
        question += Netlink.attribute(destination, bytes)
        if case .v6(_, _, let scope) = address, scope != 0 {
            question += Netlink.attribute(outputInterface, withUnsafeBytes(of: scope) { Array($0) })
        }
        return Netlink.ask(getRoute, question, isDump: false).lazy.compactMap { parseRoute($0) }.first
    }

    static func parseRoute(_ message: Netlink.Message) -> Answer? {
        guard message.type == newRoute, message.content.count >= headerSize else { return nil }
        let kind = message.content[message.content.startIndex + 7]
        var answer = Answer(index: 0, isLocal: kind == localRoute)
        for (type, value) in Netlink.attributes(message.content.dropFirst(headerSize)) {
            switch type {
            case outputInterface where value.count >= 4: answer.index = Int32(bitPattern: Netlink.word(value, 0))
            case gateway: answer.gateway = address(value)?.description
            // A family of addresses of two bytes comes first.
            case via where value.count > 2: answer.gateway = address(value.dropFirst(2))?.description
            default: break
            }
        }
        return answer.index > 0 ? answer : nil
    }

    static func neighbour(_ address: IPAddress, on index: Int32) -> NetworkRoute.Neighbour {
        var question = [UInt8](repeating: 0, count: headerSize)
        question[0] = family(address.networkBytes)
        return neighbour(address, on: index, in: Netlink.ask(getNeighbour, question, isDump: true))
    }

    static func neighbour(
        _ address: IPAddress, on index: Int32, in messages: [Netlink.Message]
    ) -> NetworkRoute.Neighbour {
        let bytes = address.networkBytes
        for message in messages where message.type == newNeighbour && message.content.count >= headerSize {
            guard Int32(bitPattern: Netlink.word(message.content, 4)) == index else { continue }
            let attributes = Netlink.attributes(message.content.dropFirst(headerSize))
            guard attributes.contains(where: { $0.type == destination && $0.value.elementsEqual(bytes) }) else {
                continue
            }
            // NUD_…
            switch Netlink.half(message.content, 8) {
            case 0x02: return .confirmed
            case 0x01, 0x20: return .silent
            case 0x00: return .none
            default: return .known
            }
        }
        return .none
    }

    private static func family(_ bytes: [UInt8]) -> UInt8 { UInt8(bytes.count == 4 ? AF_INET : AF_INET6) }

    private static func address(_ bytes: ArraySlice<UInt8>) -> IPAddress? {
        switch bytes.count {
        case 4: .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16: IPAddress(v6Bytes: Array(bytes), scope: 0)
        default: nil
        }
    }
}

extension IPAddress {
    /// In network order: 4 or 16 bytes.
    var networkBytes: [UInt8] {
        func bytes(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
        switch self {
        case .v4(let bits): return withUnsafeBytes(of: bits.bigEndian) { Array($0) }
        case .v6(let high, let low, _): return bytes(high) + bytes(low)
        }
    }
}
