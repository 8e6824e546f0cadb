import BeamSockets
import BeamWire
import NIOCore
import Testing

@testable import BeamNetwork

struct AddressTests {
    @Test func anIPv4MappedAddressIsReadAsIPv4() throws {
        let mapped = try SocketAddress(ipAddress: "::ffff:192.0.2.7", port: 9)
        let address = try #require(NetworkAddress(mapped))
        #expect(address.description == "192.0.2.7:9")
        #expect(address.ip.socketAddress(port: 9, onV6Socket: true) == mapped)
        #expect(
            try address.ip.socketAddress(port: 9, onV6Socket: false) == SocketAddress(ipAddress: "192.0.2.7", port: 9))
    }

    @Test(arguments: ["::1", "2001:db8::7", "fe80::1", "2001:db8:0:1:2:3:4:5", "::"])
    func anIPv6AddressSurvivesTheRoundTrip(_ text: String) throws {
        let socket = try SocketAddress(ipAddress: text, port: 52345)
        let address = try #require(NetworkAddress(socket))
        #expect(address.ip.description == text)
        #expect(address.ip.socketAddress(port: 52345, onV6Socket: true) == socket)
        #expect(address.description == "[\(text)]:52345")
    }
}
