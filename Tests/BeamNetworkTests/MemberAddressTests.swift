import BeamIdentity
import BeamMedia
import BeamSockets
import BeamWire
import NIOCore
import Testing

@testable import BeamNetwork

/// To which addresses of members this machine connects, and how often.
struct MemberAddressTests {
    private static let ann = try! LocalIdentity().deviceKey
    private static let ben = try! LocalIdentity().deviceKey

    private func endpoint(_ host: String, _ port: UInt16 = 52345) -> Endpoint { Endpoint(host: host, port: port) }

    private func ip(_ text: String) throws -> IPAddress {
        try #require(IPAddress(try SocketAddress(ipAddress: text, port: 0)))
    }

    /// On a machine with an IPv4 and an IPv6 network.
    private func addresses(bindAddress: String? = nil) throws -> MemberAddresses {
        var addresses = MemberAddresses(bindAddress: bindAddress)
        addresses.interfaces = [
            MemberAddresses.Interface(ip: try ip("192.168.7.5"), prefix: 24),
            MemberAddresses.Interface(ip: try ip("2001:db8:1::5"), prefix: 64),
        ]
        return addresses
    }

    @Test(arguments: [
        "192.168.7.9", "2001:db8:1::9",
    ])
    func `A member of this network is dialled`(host: String) throws {
        #expect(try addresses().permits(endpoint(host), isFound: false))
    }

    @Test(arguments: [
        // This machine, nobody, everybody, other networks, names.
        "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "192.168.7.5", "2001:db8:1::5", "0.0.0.0", "0.1.2.3", "::",
        "255.255.255.255", "224.0.0.251", "240.0.0.1", "ff02::fb", "192.168.7.255", "192.168.7.0", "fe80::1",
        "192.168.8.9", "10.0.0.1", "8.8.8.8", "2001:db8:2::9", "example.com", "localhost", "",
    ])
    func `Other addresses that a member tells aren't dialled`(host: String) throws {
        #expect(try !addresses().permits(endpoint(host), isFound: false))
        #expect(try !addresses().permits(endpoint("192.168.7.9", 0), isFound: false))
    }

    @Test func `Networks from which members' links come count, too`() throws {
        var addresses = try addresses()
        addresses.linked(Self.ann, at: try ip("10.1.2.3"), nil)
        #expect(addresses.permits(endpoint("10.200.0.1"), isFound: false), "one site")
        #expect(!addresses.permits(endpoint("172.16.0.1"), isFound: false))
        #expect(!addresses.permits(endpoint("8.8.8.8"), isFound: false))
        addresses.linked(Self.ann, at: try ip("203.0.113.7"), nil)
        #expect(addresses.permits(endpoint("203.0.113.9"), isFound: false))
        #expect(!addresses.permits(endpoint("203.0.114.9"), isFound: false))
        addresses.linked(Self.ann, at: try ip("2001:db8:9::1"), nil)
        #expect(addresses.permits(endpoint("2001:db8:9::2"), isFound: false))
        #expect(!addresses.permits(endpoint("2001:db8:a::2"), isFound: false))
    }

    @Test func `This machine's own addresses count if a member runs here`() throws {
        var addresses = try addresses()
        #expect(addresses.permits(endpoint("192.168.7.5", 52347), isFound: true), "discovery has found it")
        addresses.linked(Self.ann, at: try ip("192.168.7.5"), nil)
        #expect(addresses.permits(endpoint("192.168.7.5", 52347), isFound: false))
        #expect(!addresses.permits(endpoint("127.0.0.1"), isFound: false))
        #expect(try self.addresses(bindAddress: "127.0.0.1").permits(endpoint("127.0.0.1"), isFound: false))
        #expect(try !self.addresses(bindAddress: "192.168.7.5").permits(endpoint("127.0.0.1"), isFound: false))
    }

    @Test func `A machine that hasn't proved to be a member's gets four connections, then one in 2·5 s`() throws {
        var addresses = try addresses()
        var now = MediaTime.zero
        var count = 0
        // Any port, and whoever is said to be there.
        for number in 0..<1200 {
            let target = endpoint("192.168.7.9", UInt16(1000 + number))
            if addresses.admits(target, of: number % 2 == 0 ? Self.ann : Self.ben, now: now) { count += 1 }
            now = now + .milliseconds(10)
        }
        #expect(count == 8, "4, and 4 in 12 s")
        // Whoever has proved its key there is reached as often as needed.
        let proved = endpoint("192.168.7.9", 52345)
        addresses.linked(Self.ann, at: try ip("192.168.7.9"), proved)
        #expect((0..<100).allSatisfy { _ in addresses.admits(proved, of: Self.ann, now: now) })
        #expect(!(0..<100).allSatisfy { _ in addresses.admits(proved, of: Self.ben, now: now) })
        #expect(addresses.candidates(for: Self.ann, told: [], found: []) == [proved])
        addresses.keep { $0 == Self.ben }
        #expect(addresses.candidates(for: Self.ann, told: [], found: []) == [])
    }

    @Test func `All of a network's machines together get 32 connections, then eight a second`() throws {
        var addresses = try addresses()
        addresses.interfaces = [MemberAddresses.Interface(ip: try ip("10.0.0.1"), prefix: 8)]
        var (now, count) = (MediaTime.zero, 0)
        for number in 0..<20_000 {
            let target = endpoint("10.1.\(number / 256 % 256).\(number % 256)")
            if addresses.admits(target, of: Self.ann, now: now) { count += 1 }
            now = now + .microseconds(500)
        }
        #expect((100...113).contains(count), "\(count) in 10 s")
    }

    @Test func `Eight addresses of a member are tried, first those where it was`() throws {
        var addresses = try addresses()
        let told = (10..<40).map { endpoint("192.168.7.\($0)") }
        let found = [endpoint("192.168.7.200")]
        addresses.linked(Self.ann, at: try ip("192.168.7.99"), endpoint("192.168.7.99"))
        let candidates = addresses.candidates(for: Self.ann, told: told, found: found)
        #expect(candidates.count == 8)
        #expect(candidates.prefix(3) == [endpoint("192.168.7.99"), found[0], told[0]])
    }
}
