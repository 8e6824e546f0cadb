import BeamWire
import Testing

@testable import BeamNetwork

/// Which of a machine's addresses others are told, and in which order.
struct LocalAddressTests {
    private static let running: UInt32 = 0x1 | 0x40 | 0x2

    private func link(
        _ index: Int32, _ name: String, _ kind: String? = nil, type: UInt16 = 1, flags: UInt32 = running,
        master: Int32 = 0
    ) -> NetworkLink {
        NetworkLink(index: index, name: name, kind: kind, type: type, flags: flags, master: master)
    }

    private var links: [NetworkLink] {
        [
            link(1, "lo", type: 772, flags: Self.running | 0x8), link(2, "docker0", "bridge"),
            link(3, "veth12", "veth", master: 2), link(4, "virbr0", "bridge"),
            link(5, "tun0", "tun", type: 65534, flags: Self.running | 0x10), link(6, "wlan0"), link(7, "eth0"),
            link(8, "br0", "bridge"), link(9, "eth1", master: 8), link(10, "eth2", flags: 0x3),
            link(11, "dummy0", "dummy"),
            link(12, "wg0", "wireguard", type: 65534),
        ]
    }

    private func order(_ addresses: [(String, String)], _ routes: [String: UInt32] = ["eth0": 100]) -> [String] {
        LocalAddresses.reachable(addresses.map { LocalAddress($0.1, on: $0.0) }, links: links, routes: routes).map(
            \.text)
    }

    @Test func theDefaultRoutesInterfaceComesFirst() {
        let addresses = [
            ("lo", "127.0.0.1"), ("docker0", "172.17.0.1"), ("virbr0", "192.168.122.1"), ("tun0", "10.8.0.2"),
            ("wlan0", "192.0.2.9"), ("eth0", "192.0.2.7"), ("eth0", "2001:db8::7"), ("eth0", "fe80::7"),
            ("br0", "198.51.100.3"), ("lo", "::1"), ("dummy0", "203.0.113.1"),
        ]
        #expect(
            order(addresses) == ["192.0.2.7", "2001:db8::7", "192.0.2.9", "198.51.100.3", "10.8.0.2"],
            "bridges without a cable are left out")
        #expect(order(addresses, ["wlan0": 600, "eth0": 100]).prefix(3) == ["192.0.2.7", "2001:db8::7", "192.0.2.9"])
        #expect(order(addresses, ["br0": 0]).first == "198.51.100.3")
        // A VPN that takes all.
        #expect(order(addresses, ["tun0": 50]).last == "10.8.0.2")
        #expect(order(addresses, [:]).first == "192.0.2.9")
    }

    @Test func whatLeadsNowhereIsKnownAsSuch() {
        func leadNowhere(_ addresses: [(String, String)]) -> Bool {
            LocalAddresses.leadNowhere(
                addresses.map { LocalAddress($0.1, on: $0.0) }, links: links, routes: ["eth0": 100])
        }
        #expect(leadNowhere([("docker0", "172.17.0.1"), ("virbr0", "192.168.122.1"), ("lo", "127.0.0.1")]))
        #expect(!leadNowhere([("docker0", "172.17.0.1"), ("wg0", "10.9.0.1")]))
        #expect(!leadNowhere([("lo", "127.0.0.1")]), "there is none")
    }

    @Test func whatLeadsNowhereIsBetterThanNothing() {
        #expect(order([("docker0", "172.17.0.1"), ("virbr0", "192.168.122.1")]) == ["172.17.0.1", "192.168.122.1"])
        #expect(order([("docker0", "172.17.0.1"), ("wg0", "10.9.0.1")]) == ["10.9.0.1"])
        #expect(order([("eth2", "192.0.2.7")]) == [], "its cable is out")
        #expect(order([("lo", "127.0.0.1"), ("lo", "::1")]) == [])
    }

    @Test func linkLocalAddressesComeLast() {
        #expect(order([("eth0", "fe80::7"), ("wlan0", "fe80::9")]) == ["fe80::7", "fe80::9"])
        #expect(order([("wlan0", "fe80::9"), ("eth0", "fe80::7")]) == ["fe80::7", "fe80::9"])
        #expect(order([("eth0", "fe80::7"), ("wlan0", "192.0.2.9")]) == ["192.0.2.9"])
        #expect(
            order([("eth0", "169.254.3.4"), ("eth0", "192.0.2.7"), ("wlan0", "169.254.5.6")]) == [
                "192.0.2.7", "169.254.5.6",
            ])
        #expect(LocalAddress("febf::1", on: "eth0").isLinkLocalV6 && !LocalAddress("fec0::1", on: "eth0").isLinkLocalV6)
    }

    @Test func withoutLinksNamesTell() {
        let addresses = [LocalAddress("172.17.0.1", on: "docker0"), LocalAddress("192.0.2.7", on: "eth0")]
        #expect(LocalAddresses.reachable(addresses, links: [], routes: [:]).map(\.text) == ["192.0.2.7"])
    }

    @Test func routesAreReadAsTheKernelWritesThem() {
        let v4 = """
            Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
            eth0	00000000	010200C0	0003	0	0	100	00000000	0	0	0
            wlan0	00000000	010200C0	0003	0	0	600	00000000	0	0	0
            wlan0	00000000	010200C0	0003	0	0	50	00000080	0	0	0
            eth0	000200C0	00000000	0001	0	0	100	00FFFFFF	0	0	0
            ppp0	00000000	00000000	0203	0	0	1	00000000	0	0	0
            short	00000000
            """
        let v6 = """
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth1
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
            fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
            """
        #expect(DefaultRoutes.parse(v4: v4, v6: v6) == ["eth0": 100, "wlan0": 600, "eth1": 1024])
        #expect(DefaultRoutes.parse(v4: "", v6: "") == [:])
    }

    @Test func theKernelsLinksAreRead() throws {
        let links = LinkTable.read()
        let loopback = try #require(links.first { $0.name == "lo" })
        #expect(loopback.isLoopback && loopback.type == 772 && loopback.index > 0)
    }

    @Test func aTruncatedDumpIsReadAsFarAsItGoes() {
        // A link message for `eth0`, a port of 9, of the kind `veth`; then the end.
        let attributes: [UInt8] =
            [9, 0, 3, 0] + Array("eth0".utf8) + [0, 0, 0, 0] + [8, 0, 10, 0, 9, 0, 0, 0]
            + [12, 0, 18, 0x80, 8, 0, 1, 0] + Array("veth".utf8)
        let body: [UInt8] = [0, 0, 1, 0, 7, 0, 0, 0, 0x43, 0, 0, 0, 0, 0, 0, 0] + attributes
        let message: [UInt8] = [UInt8(16 + body.count), 0, 0, 0, 16, 0, 2, 0] + [UInt8](repeating: 0, count: 8) + body
        let end: [UInt8] = [20, 0, 0, 0, 3, 0, 2, 0] + [UInt8](repeating: 0, count: 12)
        let (links, isLast) = LinkTable.parse((message + end)[...])
        #expect(links == [NetworkLink(index: 7, name: "eth0", kind: "veth", type: 1, flags: 0x43, master: 9)] && isLast)
        for count in 0..<message.count { _ = LinkTable.parse(message[..<count]) }
        for index in 0..<message.count {
            for value: UInt8 in [0, 1, 3, 0xFF] {
                var broken = message + end
                broken[index] = value
                _ = LinkTable.parse(broken[...])
            }
        }
    }

    // MARK: Routes and neighbours

    @Test func theRouteToThisMachineIsItself() throws {
        for address in [IPAddress.v4(0x7F00_0001), .v4(0x7F00_0009)] {
            let route = try #require(NetworkRoute.to(address))
            #expect(route.medium == .loopback && route.interface == "lo" && route.gateway == nil)
            #expect(route.neighbour(address) == .none || route.neighbour(address) == .known)
        }
    }

    @Test func aRouteAndANeighbourAreReadAsFarAsTheyGo() {
        let (address, index): (IPAddress, [UInt8]) = (.v4(0xC000_0207), [3, 0, 0, 0])
        let route: [UInt8] =
            [2, 32, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0] + [8, 0, 4, 0] + index + [8, 0, 5, 0, 192, 0, 2, 1]
        func read(_ content: ArraySlice<UInt8>) -> RouteQuestions.Answer? {
            RouteQuestions.parseRoute(Netlink.Message(type: 24, content: content))
        }
        #expect(read(route[...]) == RouteQuestions.Answer(index: 3, isLocal: false, gateway: "192.0.2.1"))
        for count in 0..<route.count { #expect(read(route[..<count])?.gateway == nil) }
        let own = NetworkRoute(interface: "eth0", index: 3, medium: .other, gateway: nil)
        for (state, neighbour) in [
            (0x01, NetworkRoute.Neighbour.silent), (0x02, .confirmed), (0x04, .known), (0x20, .silent),
        ] {
            let entry: [UInt8] =
                [2, 0, 0, 0] + index + [UInt8(state), 0, 0, 1] + [8, 0, 1, 0, 192, 0, 2, 7]
            func look(_ content: ArraySlice<UInt8>, on index: Int32) -> NetworkRoute.Neighbour {
                RouteQuestions.neighbour(address, on: index, in: [Netlink.Message(type: 28, content: content)])
            }
            #expect(look(entry[...], on: own.index) == neighbour && look(entry[...], on: 4) == .none)
            for count in 0..<entry.count { #expect(look(entry[..<count], on: own.index) == .none) }
        }
    }

    @Test func `A socket that is bound to no particular address is reached at this machine's own`() {
        let all = ["192.0.2.7", "2001:db8::7"]
        #expect(LocalAddresses.reached(boundTo: nil, among: all) == all)
        #expect(LocalAddresses.reached(boundTo: "0.0.0.0", among: all) == ["192.0.2.7"])
        for any in ["::", "::0", "0:0::0"] { #expect(LocalAddresses.reached(boundTo: any, among: all) == all) }
        for one in ["127.0.0.1", "192.0.2.9", "::1", "fe80::1%lo"] {
            #expect(LocalAddresses.reached(boundTo: one, among: all) == [one])
        }
    }
}
