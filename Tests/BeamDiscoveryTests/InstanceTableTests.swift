import Testing

@testable import BeamDiscovery

/// Merging sightings into one host, without a daemon.
struct InstanceTableTests {
    private let wired4 = Sighting(interface: 2, proto: 0, name: "Studio", domain: "local")
    private let wired6 = Sighting(interface: 2, proto: 1, name: "Studio", domain: "local")
    private let docker4 = Sighting(interface: 9, proto: 0, name: "Studio", domain: "local")

    private func resolution(
        _ address: String, on interface: String = "eth0", host: String = "studio.local", port: UInt16 = 52345,
        isLocal: Bool = false
    ) -> Resolution {
        let numeric = address.split(separator: "%").first.map(String.init) ?? address
        return Resolution(
            hostName: host, address: address, port: port, txt: [Array("beam=1".utf8)], isLocal: isLocal,
            rank: InterfaceKind(name: interface).rawValue * 4 + AddressKind(numeric).rawValue)
    }

    private func appear(_ sightings: [Sighting], in table: inout InstanceTable) {
        let admitted = sightings.filter { table.appeared($0) }
        #expect(admitted == sightings)
    }

    private func host(_ addresses: [String], port: UInt16 = 52345, name: String = "studio.local") -> BrowserEvent {
        .found(
            DiscoveredHost(
                name: "Studio", hostName: name, port: port, addresses: addresses, txt: ["beam": "1"], isLocal: false))
    }

    @Test func `Sightings on several interfaces make one host, IPv4 on an ordinary interface first`() {
        var table = InstanceTable()
        appear([wired6, docker4, wired4], in: &table)
        #expect(table.resolved(docker4, resolution("172.17.0.1", on: "docker0")) == [host(["172.17.0.1"])])
        #expect(table.resolved(wired6, resolution("fe80::1%eth0")) == [host(["fe80::1%eth0", "172.17.0.1"])])
        #expect(
            table.resolved(wired4, resolution("192.168.1.2"))
                == [host(["192.168.1.2", "fe80::1%eth0", "172.17.0.1"])])
        #expect(table.resolved(wired4, resolution("192.168.1.2")) == [])
        #expect(table.disappeared(wired6) == [host(["192.168.1.2", "172.17.0.1"])])
        #expect(table.disappeared(wired4) == [host(["172.17.0.1"])])
        #expect(table.disappeared(docker4) == [.lost(name: "Studio")])
        #expect(table.disappeared(docker4) == [])
    }

    @Test func `Addresses of another machine with the same name on another interface aren't mixed in`() {
        var table = InstanceTable()
        appear([wired4, docker4], in: &table)
        _ = table.resolved(wired4, resolution("192.168.1.2"))
        #expect(table.resolved(docker4, resolution("172.17.0.9", on: "docker0", host: "other.local")) == [])
        #expect(table.disappeared(wired4) == [host(["172.17.0.9"], name: "other.local")])
    }

    @Test func `A service without a port or without a resolution isn't reported`() {
        var table = InstanceTable()
        appear([wired4], in: &table)
        #expect(table.resolved(wired4, resolution("192.168.1.2", port: 0)) == [])
        #expect(table.resolved(wired6, resolution("fe80::1%eth0")) == [])
        #expect(table.disappeared(wired4) == [])
    }

    @Test func `Hosts stay while the daemon is away, and are lost if it doesn't report them again`() {
        var table = InstanceTable()
        let other = Sighting(interface: 2, proto: 0, name: "Other", domain: "local")
        appear([wired4, wired6, other], in: &table)
        _ = table.resolved(wired4, resolution("192.168.1.2"))
        _ = table.resolved(wired6, resolution("fe80::1%eth0"))
        _ = table.resolved(other, resolution("192.168.1.3"))
        table.interrupted()
        appear([wired4], in: &table)
        #expect(table.resolved(wired4, resolution("192.168.1.2")) == [])
        #expect(table.settled() == [.lost(name: "Other"), host(["192.168.1.2"])])
        #expect(table.settled() == [])
    }

    @Test func `A flood of announcements is capped`() {
        var table = InstanceTable()
        let admitted = (0..<5000).filter {
            table.appeared(Sighting(interface: 2, proto: 0, name: "Host \($0)", domain: "local"))
        }
        #expect(admitted.count == InstanceTable.maxInstances)
        let sightings = (0..<5000).filter {
            table.appeared(Sighting(interface: $0, proto: 0, name: "Host 0", domain: "local"))
        }
        #expect(sightings.count == InstanceTable.maxSightings)
    }

    @Test(arguments: [
        ("192.168.1.2", AddressKind.ipv4), ("169.254.3.4", .linkLocalIPv4), ("2001:db8::1", .ipv6), ("fd00::1", .ipv6),
        ("fe80::1", .linkLocalIPv6), ("febf::1", .linkLocalIPv6), ("fec0::1", .ipv6), ("::1", .ipv6), ("fe8::1", .ipv6),
    ])
    func `Kinds of addresses`(address: String, kind: AddressKind) {
        #expect(AddressKind(address) == kind)
    }

    @Test(arguments: [
        ("eth0", InterfaceKind.ordinary), ("wlp3s0", .ordinary), ("br0", .ordinary), ("docker0", .virtual),
        ("br-0a1b2c", .virtual), ("veth12", .virtual), ("virbr0", .virtual), ("lo", .loopback),
    ])
    func `Kinds of interfaces`(name: String, kind: InterfaceKind) {
        #expect(InterfaceKind(name: name) == kind)
    }
}
