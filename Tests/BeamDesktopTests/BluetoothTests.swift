import BeamBus
import BeamMedia
import Foundation
import Testing

@testable import BeamDesktop

/// BlueZ on a bus.
@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct BluetoothTests {
    private static let key: [UInt8] = [0xDE, 0xAD, 0xBE, 0xEF, 5, 6]
    private static let uuid = BluetoothPayload.serviceUUID
    private let found = EventLog<BluetoothHost>()

    /// What `desk.py` tells of an advertisement.
    private static func advertised(_ bytes: [UInt8], adapter: Int = 0, path: Int) -> String {
        let data = bytes.map { String($0) }.joined(separator: ",")
        return """
            {"adapter":"/org/bluez/hci\(adapter)","data":{"\(uuid)":[\(data)]},"discoverable":true,\
            "event":"advertised","keys":["Discoverable","ServiceData","Type"],"kind":"peripheral",\
            "path":"/org/beamroom/advertisement\(path)"}
            """
    }

    private static func withdrawn(adapter: Int = 0) -> String {
        "{\"adapter\":\"/org/bluez/hci\(adapter)\",\"event\":\"withdrawn\"}"
    }

    private static let bytes: [UInt8] = [192, 0, 2, 7, 0xCC, 0x79, 0xDE, 0xAD, 0xBE, 0xEF]
    private static let filter = #"{"event":"filter","filter":{"DuplicateData":"1","Transport":"le"}}"#
    private static let searching = #"{"event":"discovery","on":true}"#
    private static let notSearching = #"{"event":"discovery","on":false}"#

    private func presence(_ bus: PrivateBus) -> BluetoothPresence {
        BluetoothPresence(buses: BusAddresses(system: bus.address, session: nil)) { [found] in found.add($0) }
    }

    private func advertising(_ bus: PrivateBus) -> BluetoothPresence {
        let presence = presence(bus)
        presence.advertise(addresses: ["fe80::1%eth0", "192.0.2.7", "192.0.2.8"], port: 52345, key: Self.key)
        return presence
    }

    // MARK: Advertising

    @Test func `This host is advertised, again when its address changes, and withdrawn`() throws {
        let bus = try PrivateBus()
        try bus.run("bluez(); add_adapter()")
        let presence = advertising(bus)
        var expected = [Self.advertised(Self.bytes, path: 1)]
        try bus.requests.wait(for: expected)
        presence.update(addresses: ["192.0.2.7"], port: 52345)
        presence.update(addresses: ["198.51.100.1"], port: 1)
        expected += [
            Self.withdrawn(), Self.advertised([198, 51, 100, 1, 0, 1, 0xDE, 0xAD, 0xBE, 0xEF], path: 2),
        ]
        try bus.requests.wait(for: expected)
        presence.update(addresses: [], port: 1)
        expected.append(Self.withdrawn())
        try bus.requests.wait(for: expected)
        presence.update(addresses: ["192.0.2.7"], port: 52345)
        expected.append(Self.advertised(Self.bytes, path: 3))
        try bus.requests.wait(for: expected)
        presence.stop()
        // `stop` waits for BlueZ's answer.
        expected.append(Self.withdrawn())
        try bus.requests.wait(for: expected)
    }

    @Test func `An adapter that appears later, or is switched off and on, is used`() throws {
        let bus = try PrivateBus()
        let presence = advertising(bus)
        try bus.run("bluez(); add_adapter(0, advertises=False); add_adapter(1, powered=False)")
        try bus.run("adapter(1).change('org.bluez.Adapter1', Powered=dbus.Boolean(True))")
        var expected = [Self.advertised(Self.bytes, adapter: 1, path: 1)]
        try bus.requests.wait(for: expected)
        try bus.run("adapter(1).change('org.bluez.Adapter1', Powered=dbus.Boolean(False))")
        expected.append(Self.withdrawn(adapter: 1))
        try bus.requests.wait(for: expected)
        try bus.run("adapter(1).change('org.bluez.Adapter1', Powered=dbus.Boolean(True))")
        expected.append(Self.advertised(Self.bytes, adapter: 1, path: 2))
        try bus.requests.wait(for: expected)
        try bus.run("remove('/org/bluez/hci1'); add_adapter(2)")
        expected.append(Self.advertised(Self.bytes, adapter: 2, path: 3))
        try bus.requests.wait(for: expected)
        presence.stop()
    }

    @Test func `After a restart of BlueZ, and of the bus, this host is advertised again`() throws {
        let bus = try PrivateBus()
        try bus.run("bluez(); add_adapter()")
        let presence = advertising(bus)
        try bus.requests.wait(for: [Self.advertised(Self.bytes, path: 1)])
        try bus.run("stop_bluez()")
        try bus.run("bluez(); add_adapter()")
        try bus.requests.wait(for: [Self.advertised(Self.bytes, path: 1), Self.advertised(Self.bytes, path: 2)])
        bus.stop()
        try bus.start()
        try bus.run("bluez(); add_adapter()")
        try bus.requests.wait(for: [Self.advertised(Self.bytes, path: 3)])
        presence.stop()
    }

    @Test func `A refusal, or the loss of the place, is followed by another attempt`() throws {
        let bus = try PrivateBus()
        try bus.run("bluez(); add_adapter(refusal='org.bluez.Error.NotPermitted')")
        let presence = advertising(bus)
        let refused = #"{"event":"advertisement refused"}"#
        try bus.requests.wait(for: [refused])
        try bus.run("adapter().refusal = None")
        try bus.requests.wait(for: [refused, Self.advertised(Self.bytes, path: 2)])
        try bus.run("adapter().release()")
        try bus.requests.wait(for: [
            refused, Self.advertised(Self.bytes, path: 2), Self.advertised(Self.bytes, path: 3),
        ])
        presence.stop()
    }

    // MARK: Searching

    private func searching(_ bus: PrivateBus) -> BluetoothPresence {
        let presence = presence(bus)
        presence.search()
        return presence
    }

    private static func host(_ last: UInt8) -> BluetoothHost {
        BluetoothHost(address: "192.0.2.\(last)", port: 52345, keyPrefix: [1, 2, 3, 4])
    }

    private static func data(_ last: UInt8) -> String { "{'\(uuid)': [192, 0, 2, \(last), 0xCC, 0x79, 1, 2, 3, 4]}" }

    @Test func `Hosts are found among known devices, new ones, and those that change`() throws {
        let bus = try PrivateBus()
        try bus.run(
            "bluez(); add_adapter(); add_device(1, \(Self.data(1))); add_device(2, {'180f': [1]}); add_device(3)")
        let presence = searching(bus)
        found.wait(for: [Self.host(1)])
        try bus.requests.wait(for: [Self.filter, Self.searching])
        // UUIDs are the same in upper case.
        try bus.run("add_device(4, {'\(Self.uuid.uppercased())': [192, 0, 2, 4, 0xCC, 0x79, 1, 2, 3, 4]})")
        found.wait(for: [Self.host(1), Self.host(4)])
        try bus.run("hear(2, \(Self.data(2)))")
        // Once each.
        try bus.run("hear(1, \(Self.data(1)))")
        try bus.run("hear(1, \(Self.data(5)))")
        found.wait(for: [Self.host(1), Self.host(4), Self.host(2), Self.host(5)])
        presence.stop()
        try bus.requests.wait(for: [Self.filter, Self.searching, Self.notSearching])
    }

    @Test func `Only a search finds hosts, and each search finds them again`() throws {
        let bus = try PrivateBus()
        try bus.run("bluez(); add_adapter(); add_device(1, \(Self.data(1)))")
        let presence = advertising(bus)
        try bus.requests.wait("the advertisement") { $0.count == 1 }
        try bus.run("hear(1, \(Self.data(2)))")
        presence.search()
        found.wait(for: [Self.host(2)])
        try bus.requests.wait("the search") { $0.last == Self.searching }
        presence.endSearch()
        try bus.requests.wait("its end") { $0.last == Self.notSearching }
        try bus.run("hear(1, \(Self.data(3)))")
        try bus.run("add_device(2, \(Self.data(4)))")
        presence.search()
        found.wait("those of now") { Set($0.dropFirst()) == [Self.host(3), Self.host(4)] }
        #expect(found.all.count == 3)
        presence.stop()
    }

    @Test func `Malformed data is ignored`() throws {
        let bus = try PrivateBus()
        try bus.run("bluez(); add_adapter()")
        let presence = searching(bus)
        let garbage = [
            "{'\(Self.uuid)': []}", "{'\(Self.uuid)': [192, 0, 2, 1, 1, 1, 1, 2, 3]}",
            "{'\(Self.uuid)': [192, 0, 2, 1, 1, 1, 1, 2, 3, 4, 5]}", "{'\(Self.uuid)': [1] * 9000}",
            "{'\(Self.uuid)': [192, 0, 2, 1, 0, 0, 1, 2, 3, 4]}", "{'\(Self.uuid)': [127, 0, 0, 1, 1, 1, 1, 2, 3, 4]}",
            "{'\(Self.uuid)': [224, 0, 0, 251, 1, 1, 1, 2, 3, 4]}", "{'\(Self.uuid)': [0] * 10}",
            "{'': [192, 0, 2, 1, 1, 1, 1, 2, 3, 4]}", "{'x': [], '\(Self.uuid)': [255] * 10}",
        ]
        for (number, data) in garbage.enumerated() { try bus.run("add_device(\(number + 1), \(data))") }
        let values = [
            "dbus.String('\(Self.uuid)')",
            "dbus.Dictionary({'\(Self.uuid)': dbus.String('192.0.2.1')}, signature='sv')",
            "dbus.Dictionary({'\(Self.uuid)': dbus.Array([192, 0, 2, 1, 1, 1, 1, 2, 3], signature='i')}, signature='sv')",
            "dbus.Array([1], signature='i')", "dbus.Struct((1, 'a', dbus.Double(1)), signature='isd')",
            "dbus.Dictionary({dbus.Int16(1): 'x'}, signature='ns')",
            "dbus.Array([[[[[[[[[[[[[[[1]]]]]]]]]]]]]]], signature='" + String(repeating: "a", count: 14) + "i')",
            "dbus.Int64(-1)", "dbus.UInt64(2**64 - 1)", "dbus.Double(float('inf'))", "dbus.Signature('a{sv}')",
            "dbus.String('x' * 1000000)",
        ]
        for value in values {
            try bus.run("bluez_objects['/org/bluez/hci0/dev_1'].change('org.bluez.Device1', ServiceData=\(value))")
        }
        try bus.run("root.InterfacesAdded('/x', {})")
        try bus.run("root.InterfacesRemoved('/x', ['org.bluez.Device1', ''])")
        try bus.run("add_device(50, \(Self.data(9)))")
        found.wait(for: [Self.host(9)])
        presence.stop()
    }

    @Test func `A search goes on after a restart of BlueZ, a refusal, and with another adapter`() throws {
        let bus = try PrivateBus()
        let presence = searching(bus)
        try bus.run("bluez(); add_adapter(refusal='org.bluez.Error.NotReady')")
        var expected = [Self.filter, #"{"event":"discovery refused"}"#]
        try bus.requests.wait(for: expected)
        try bus.run("adapter().refusal = None")
        expected += [Self.filter, Self.searching]
        try bus.requests.wait(for: expected)
        try bus.run("stop_bluez()")
        try bus.run("bluez(); add_adapter(1)")
        expected += [Self.filter, Self.searching]
        try bus.requests.wait(for: expected)
        try bus.run("adapter(1).change('org.bluez.Adapter1', Powered=dbus.Boolean(False))")
        expected.append(Self.notSearching)
        try bus.requests.wait(for: expected)
        try bus.run("add_adapter(0); add_device(1, \(Self.data(1)))")
        expected += [Self.filter, Self.searching]
        try bus.requests.wait(for: expected)
        found.wait(for: [Self.host(1)])
        presence.stop()
    }
}

struct BluetoothPayloadTests {
    private static let key: [UInt8] = [1, 2, 3, 4, 5]

    @Test func `Address, port and key make 10 bytes, which are read back`() throws {
        let payload = try #require(BluetoothPayload(addresses: ["192.0.2.7"], port: 0xCC79, key: Self.key))
        #expect(payload.bytes == [192, 0, 2, 7, 0xCC, 0x79, 1, 2, 3, 4])
        #expect(
            BluetoothPayload.host(payload.bytes)
                == BluetoothHost(address: "192.0.2.7", port: 0xCC79, keyPrefix: [1, 2, 3, 4]))
        // Flags, the header and the UUID take the rest of a legacy advertisement.
        #expect(3 + 2 + 16 + payload.bytes.count == 31)
    }

    @Test func `The first address that others can reach`() {
        func address(_ addresses: String...) -> [UInt8]? {
            BluetoothPayload(addresses: addresses, port: 1, key: Self.key).map { Array($0.bytes[..<4]) }
        }
        #expect(
            address("127.0.0.1", "::1", "x", "", "1.2.3", "169.254.1.1", "192.0.2.1", "192.0.2.2") == [192, 0, 2, 1])
        #expect(address("127.0.0.1", "169.254.1.1") == [169, 254, 1, 1])
        #expect(address("0.0.0.0", "224.0.0.1", "255.255.255.255", "127.9.9.9", "fe80::1") == nil)
        #expect(address() == nil)
        #expect(BluetoothPayload(addresses: ["192.0.2.1"], port: 0, key: Self.key) == nil)
        #expect(BluetoothPayload(addresses: ["192.0.2.1"], port: 1, key: [1, 2, 3]) == nil)
    }

    @Test func `Any bytes are read without a trap`() {
        for count in 0...20 {
            for byte in [0, 1, 127, 128, 255] as [UInt8] {
                let host = BluetoothPayload.host([UInt8](repeating: byte, count: count))
                #expect((host != nil) == (count == 10 && (byte == 1 || byte == 128)))
            }
        }
    }

    @Test func `At most 64 hosts are remembered, and at most 64 reported in 10 seconds`() {
        var log = SightingLog()
        var now = MediaTime.zero
        func count(_ numbers: Range<Int>) -> Int {
            var count = 0
            for number in numbers {
                let address = "10.0.\(number / 256).\(number % 256)"
                if log.see(BluetoothHost(address: address, port: 1, keyPrefix: []), now: now) { count += 1 }
            }
            return count
        }
        #expect(count(0..<200) == 64)
        #expect(log.hosts.count == 64)
        now = now + .seconds(10)
        #expect(count(0..<1) == 0)
        #expect(count(200..<400) == 64)
        #expect(log.hosts.count == 64)
        now = now + .seconds(10)
        // Forgotten in favour of the later ones.
        #expect(count(0..<1) == 1)
    }
}
