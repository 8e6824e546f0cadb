import BeamMedia
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// To which of the addresses that members tell of themselves this machine connects, and how often. A member can name any
/// address, also one of somebody who has nothing to do with the room. Confined to the event loop.
struct MemberAddresses {
    /// An address of this machine, and its network.
    struct Interface: Hashable, Sendable {
        var ip: IPAddress
        /// Bits of the network.
        var prefix: Int
    }

    /// Connections to one address that hasn't proved to be a member's: at once, and thousandths of one in a second. Two
    /// members together make less than one a second to a machine that isn't theirs.
    private static let burstPerAddress = 4
    private static let thousandthsPerSecond = 400
    /// To all such addresses together.
    private static let burst = 32
    private static let perSecond = 8
    /// Addresses that are remembered: with budgets that aren't full, of members' links, and proved of one member.
    private static let mostBudgets = 256
    private static let mostMet = 32
    private static let mostProved = 4
    /// The addresses that are tried of one member at a time.
    static let most = 8

    /// What a budget is for: one machine; on this machine, where several members may run, one port.
    private enum Budget: Hashable {
        case machine(IPAddress)
        case port(Endpoint)
    }

    /// This machine's. Loopback is left out.
    var interfaces: [Interface] = []
    /// This program listens on loopback only: its room is on this machine.
    private let isOnLoopback: Bool
    /// A member runs on this machine.
    private(set) var hasNeighbour = false
    /// Where members' links come from or lead to, on other machines.
    private var met: [IPAddress] = []
    /// Where a member has proved its key.
    private var proved: [DeviceKey: [Endpoint]] = [:]
    private var budgets: [Budget: TokenRate] = [:]
    private var all = TokenRate(burst: burst, thousandthsPerSecond: perSecond * 1000)

    /// - Parameter bindAddress: of the control port; nil: all addresses.
    init(bindAddress: String?) {
        isOnLoopback =
            bindAddress.flatMap { try? SocketAddress(ipAddress: $0, port: 0) }.flatMap { IPAddress($0) }?.isLoopback
            ?? (bindAddress == "localhost")
    }

    /// A link to a member is secured. `endpoint`: if this machine has dialled.
    mutating func linked(_ device: DeviceKey, at remote: IPAddress, _ endpoint: Endpoint?) {
        if let endpoint {
            let others = proved[device, default: []].filter { $0 != endpoint }
            proved[device] = Array(([endpoint] + others).prefix(Self.mostProved))
        }
        if remote.isLoopback || isOwn(remote) {
            hasNeighbour = true
        } else {
            met = Array(([remote] + met.filter { $0 != remote }).prefix(Self.mostMet))
        }
    }

    /// Only these belong to the room.
    mutating func keep(_ devices: (DeviceKey) -> Bool) { proved = proved.filter { devices($0.key) } }

    /// The addresses to try for a member, those first where it was.
    ///
    /// - Parameters:
    ///   - told: by itself, or known from the time before.
    ///   - found: by discovery, which tells only of this network and this machine.
    func candidates(for device: DeviceKey, told: [Endpoint], found: [Endpoint]) -> [Endpoint] {
        var all: [Endpoint] = []
        let known = proved[device] ?? []
        let good = known + found.filter { permits($0, isFound: true) } + told.filter { permits($0, isFound: false) }
        for endpoint in good where !all.contains(endpoint) { all.append(endpoint) }
        return Array(all.prefix(Self.most))
    }

    /// Whether a member may be at that address, and dialling it harms no machine outside the room.
    func permits(_ endpoint: Endpoint, isFound: Bool) -> Bool {
        guard let ip = IPAddress(endpoint), endpoint.port != 0, !ip.isForNobody else { return false }
        if ip.isLoopback { return isOnLoopback }
        if isOwn(ip) { return isFound || hasNeighbour || isOnLoopback }
        if case .v6(let high, _, let scope) = ip, high >> 54 == 0xFE80 >> 6 { return isFound && scope != 0 }
        if interfaces.contains(where: { $0.isBroadcast(ip) }) { return false }
        return interfaces.contains { $0.contains(ip) } || met.contains { $0.isNear(ip) }
    }

    /// Counts a connection to a member's address. False: there were too many.
    mutating func admits(_ endpoint: Endpoint, of device: DeviceKey, now: MediaTime) -> Bool {
        if proved[device]?.contains(endpoint) == true { return true }
        // First: what isn't admitted takes no place among the budgets.
        guard let ip = IPAddress(endpoint), all.hasOne(now: now) else { return false }
        let key: Budget = ip.isLoopback || isOwn(ip) ? .port(endpoint) : .machine(ip)
        if budgets[key] == nil, budgets.count >= Self.mostBudgets {
            budgets = budgets.filter { !$0.value.isFull(now: now) }
            guard budgets.count < Self.mostBudgets else { return false }
        }
        var budget =
            budgets[key] ?? TokenRate(burst: Self.burstPerAddress, thousandthsPerSecond: Self.thousandthsPerSecond)
        defer { budgets[key] = budget }
        return budget.take(now: now) && all.take(now: now)
    }

    private func isOwn(_ ip: IPAddress) -> Bool { interfaces.contains { $0.ip == ip } }
}

/// So many at once, and so many in the long run.
private struct TokenRate {
    private let most: Double
    private let eachSecond: Double
    private var count: Double
    private var last: MediaTime?

    init(burst: Int, thousandthsPerSecond: Int) {
        most = Double(burst)
        eachSecond = Double(thousandthsPerSecond) / 1000
        count = most
    }

    private func level(now: MediaTime) -> Double {
        min(most, count + max(0, (now - (last ?? now)).inSeconds) * eachSecond)
    }

    func isFull(now: MediaTime) -> Bool { level(now: now) >= most }

    func hasOne(now: MediaTime) -> Bool { level(now: now) >= 1 }

    mutating func take(now: MediaTime) -> Bool {
        count = level(now: now)
        last = now
        guard count >= 1 else { return false }
        count -= 1
        return true
    }
}

extension MemberAddresses.Interface {
    /// This machine's at present, without loopback.
    static func all() -> [Self] {
        ((try? System.enumerateDevices()) ?? []).compactMap { device in
            guard let ip = device.address.flatMap({ IPAddress($0) }), !ip.isLoopback else { return nil }
            let mask = device.netmask.flatMap { IPAddress($0) }
            return Self(ip: ip.withoutScope, prefix: mask?.leadingOnes ?? (ip.isV4 ? 32 : 128))
        }
    }

    func contains(_ other: IPAddress) -> Bool { ip.shares(prefix, with: other) }

    /// The network's own address, or that of all machines in it.
    func isBroadcast(_ other: IPAddress) -> Bool {
        guard case .v4(let bits) = other, prefix < 31, contains(other) else { return false }
        let host = bits & (UInt32.max >> UInt32(max(0, prefix)))
        return host == 0 || host == UInt32.max >> UInt32(max(0, prefix))
    }
}

extension IPAddress {
    /// Nil for a name.
    fileprivate init?(_ endpoint: Endpoint) {
        guard let address = try? SocketAddress(ipAddress: endpoint.host, port: 0) else { return nil }
        self.init(address)
    }

    fileprivate var isV4: Bool { if case .v4 = self { true } else { false } }

    fileprivate var isLoopback: Bool {
        switch self {
        case .v4(let bits): bits >> 24 == 127
        case .v6(let high, let low, _): high == 0 && low == 1
        }
    }

    /// Unspecified, multicast, reserved or broadcast.
    fileprivate var isForNobody: Bool {
        switch self {
        case .v4(let bits): bits >> 24 == 0 || bits >> 29 == 7
        case .v6(let high, let low, _): high == 0 && low == 0 || high >> 56 == 0xFF
        }
    }

    fileprivate var withoutScope: IPAddress {
        if case .v6(let high, let low, _) = self { .v6(high: high, low: low, scope: 0) } else { self }
    }

    /// Of a network's mask.
    fileprivate var leadingOnes: Int {
        switch self {
        case .v4(let bits): (~bits).leadingZeroBitCount
        case .v6(let high, let low, _):
            high == .max ? 64 + (~low).leadingZeroBitCount : (~high).leadingZeroBitCount
        }
    }

    /// Whether the first bits are the same.
    fileprivate func shares(_ bits: Int, with other: IPAddress) -> Bool {
        switch (self, other) {
        case (.v4(let one), .v4(let other)): bits <= 0 || (one ^ other).leadingZeroBitCount >= bits
        case (.v6(let high, let low, _), .v6(let otherHigh, let otherLow, _)):
            bits <= 0
                || (high ^ otherHigh).leadingZeroBitCount >= min(bits, 64)
                    && (bits <= 64 || (low ^ otherLow).leadingZeroBitCount >= bits - 64)
        default: false
        }
    }

    /// Blocks that are never routed on the internet: RFC 1918, RFC 6598, RFC 4193.
    private static let privateBlocks: [(IPAddress, Int)] = [
        (.v4(0x0A00_0000), 8), (.v4(0xAC10_0000), 12), (.v4(0xC0A8_0000), 16), (.v4(0x6440_0000), 10),
        (.v6(high: 0xFC00_0000_0000_0000, low: 0, scope: 0), 7),
    ]

    /// Probably of the same site: in the same private block, or in the same network of the usual size.
    fileprivate func isNear(_ other: IPAddress) -> Bool {
        shares(isV4 ? 24 : 64, with: other)
            || Self.privateBlocks.contains { $0.0.shares($0.1, with: self) && $0.0.shares($0.1, with: other) }
    }
}
