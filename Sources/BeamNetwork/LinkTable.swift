/// A network interface, as the kernel describes it (rtnetlink(7)).
struct NetworkLink: Equatable, Sendable {
    var index: Int32
    var name: String
    /// The kind of a virtual interface: `bridge`, `veth`, `tun`, `wireguard` …; nil: it is a piece of hardware.
    var kind: String?
    /// The hardware's type (ARPHRD_…): 1 is Ethernet, and Wi-Fi as it looks from here.
    var type: UInt16
    /// IFF_….
    var flags: UInt32
    /// The index of the bridge or bond that it is a port of; 0: none.
    var master: Int32 = 0

    /// It is switched on, and has a carrier.
    var isRunning: Bool { flags & 0x1 != 0 && flags & 0x40 != 0 }
    var isLoopback: Bool { flags & 0x8 != 0 }
    var isPointToPoint: Bool { flags & 0x10 != 0 }
}

/// The network interfaces of this process's network namespace. (`/sys/class/net` may show another namespace's.)
enum LinkTable {
    // linux/rtnetlink.h, linux/if_link.h
    private static let newLink: UInt16 = 16
    private static let getLink: UInt16 = 18
    private static let linkHeaderSize = 16
    private static let nameAttribute: UInt16 = 3
    private static let masterAttribute: UInt16 = 10
    private static let infoAttribute: UInt16 = 18
    private static let kindAttribute: UInt16 = 1

    /// Empty if the kernel doesn't tell.
    static func read() -> [NetworkLink] {
        links(Netlink.ask(getLink, [UInt8](repeating: 0, count: linkHeaderSize), isDump: true))
    }

    /// The links of one part of a dump, and whether it is the last part.
    static func parse(_ bytes: ArraySlice<UInt8>) -> (links: [NetworkLink], isLast: Bool) {
        let (messages, isLast) = Netlink.parse(bytes)
        return (links(messages), isLast)
    }

    private static func links(_ messages: [Netlink.Message]) -> [NetworkLink] {
        messages.compactMap { $0.type == newLink ? link($0.content) : nil }
    }

    private static func link(_ message: ArraySlice<UInt8>) -> NetworkLink? {
        guard message.count >= linkHeaderSize else { return nil }
        var link = NetworkLink(
            index: Int32(bitPattern: Netlink.word(message, 4)), name: "", type: Netlink.half(message, 2),
            flags: Netlink.word(message, 8))
        for (type, value) in Netlink.attributes(message.dropFirst(linkHeaderSize)) {
            switch type {
            case nameAttribute: link.name = Netlink.text(value)
            case masterAttribute where value.count >= 4: link.master = Int32(bitPattern: Netlink.word(value, 0))
            case infoAttribute:
                link.kind = Netlink.attributes(value).first { $0.type == kindAttribute }.map { Netlink.text($0.value) }
            default: break
            }
        }
        return link.name.isEmpty ? nil : link
    }
}
