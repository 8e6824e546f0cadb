import Glibc

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
    // linux/netlink.h, linux/rtnetlink.h, linux/if_link.h
    private static let family: Int32 = 16
    private static let newLink: UInt16 = 16
    private static let getLink: UInt16 = 18
    private static let messageDone: UInt16 = 3
    private static let messageError: UInt16 = 2
    private static let requestAndDump: UInt16 = 0x301
    private static let headerSize = 16
    private static let linkHeaderSize = 16
    private static let nameAttribute: UInt16 = 3
    private static let masterAttribute: UInt16 = 10
    private static let infoAttribute: UInt16 = 18
    private static let kindAttribute: UInt16 = 1
    /// A dump of 256 interfaces takes about 400 KiB.
    private static let mostReads = 64
    /// In bytes. The kernel's parts of a dump take 32 KiB at most.
    private static let bufferSize = 64 << 10

    /// Empty if the kernel doesn't tell.
    static func read() -> [NetworkLink] {
        let socket = Glibc.socket(family, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return [] }
        defer { close(socket) }
        // The kernel answers at once. This is in case it doesn't.
        var timeout = timeval(tv_sec: 0, tv_usec: 200_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        guard sendRequest(socket) else { return [] }
        var links: [NetworkLink] = []
        var buffer = [UInt8](repeating: 0, count: bufferSize)
        for _ in 0..<mostReads {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return links }
            let (part, isLast) = parse(buffer[..<count])
            links += part
            if isLast { break }
        }
        return links
    }

    private static func sendRequest(_ socket: Int32) -> Bool {
        var request = [UInt8](repeating: 0, count: headerSize + linkHeaderSize)
        request.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: UInt32(bytes.count), toByteOffset: 0, as: UInt32.self)
            bytes.storeBytes(of: getLink, toByteOffset: 4, as: UInt16.self)
            bytes.storeBytes(of: requestAndDump, toByteOffset: 6, as: UInt16.self)
        }
        return send(socket, request, request.count, 0) == request.count
    }

    /// The links of one part of a dump, and whether it is the last part.
    static func parse(_ bytes: ArraySlice<UInt8>) -> (links: [NetworkLink], isLast: Bool) {
        var links: [NetworkLink] = []
        var rest = bytes
        while rest.count >= headerSize {
            let length = Int(word(rest, 0))
            guard length >= headerSize, length <= rest.count else { break }
            let message = rest.prefix(length)
            switch half(message, 4) {
            case messageDone, messageError: return (links, true)
            case newLink: if let link = link(message.dropFirst(headerSize)) { links.append(link) }
            default: break
            }
            rest = rest.dropFirst(aligned(length))
        }
        return (links, false)
    }

    private static func link(_ message: ArraySlice<UInt8>) -> NetworkLink? {
        guard message.count >= linkHeaderSize else { return nil }
        var link = NetworkLink(
            index: Int32(bitPattern: word(message, 4)), name: "", type: half(message, 2), flags: word(message, 8))
        for (type, value) in attributes(message.dropFirst(linkHeaderSize)) {
            switch type {
            case nameAttribute: link.name = text(value)
            case masterAttribute where value.count >= 4: link.master = Int32(bitPattern: word(value, 0))
            case infoAttribute:
                link.kind = attributes(value).first { $0.type == kindAttribute }.map { text($0.value) }
            default: break
            }
        }
        return link.name.isEmpty ? nil : link
    }

    private static func attributes(_ bytes: ArraySlice<UInt8>) -> [(type: UInt16, value: ArraySlice<UInt8>)] {
        var found: [(UInt16, ArraySlice<UInt8>)] = []
        var rest = bytes
        while rest.count >= 4 {
            let length = Int(half(rest, 0))
            guard length >= 4, length <= rest.count else { break }
            // The two highest bits are flags.
            found.append((half(rest, 2) & 0x3FFF, rest.prefix(length).dropFirst(4)))
            rest = rest.dropFirst(aligned(length))
        }
        return found
    }

    private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// In the machine's byte order.
    private static func word(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }

    private static func half(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt16 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
    }
}
