import Foundation
import Testing

@testable import BeamTrust

/// The last known addresses of paired hosts.
struct KnownAddressTests {
    private let scratch: Scratch
    private var store: TrustStore { scratch.store }

    init() throws { scratch = try Scratch() }

    private func addresses(_ name: String) throws -> [String] {
        try store.devices().first { $0.name == name }?.addresses.map(\.description) ?? []
    }

    private func address(_ number: Int) throws -> KnownAddress {
        try #require(KnownAddress(host: "192.0.2.\(number)", port: 52345))
    }

    @Test(arguments: [
        "192.0.2.7:52345", "127.0.0.2:1", "[2001:db8::7]:65535", "[fe80::1%eth0]:52345", "[::1]:52345",
    ]) func `Addresses are read as they are written`(_ text: String) throws {
        #expect(try #require(KnownAddress(text)).description == text)
    }

    @Test(arguments: [
        "", ":", "192.0.2.7", "192.0.2.7:", "192.0.2.7:0", "192.0.2.7:65536", "192.0.2.7:+1", "192.0.2.7:00052345",
        "192.0.2.256:1", "0.0.0.0:1", "224.0.0.1:1", "255.255.255.255:1", "desk.local:52345", "2001:db8::7:52345",
        "[192.0.2.7]:1", "[2001:db8::7]:0", "[::]:1", "[ff02::1]:1", "[ff02::1%eth0]:1", "[fe80::1]:1", "[fe80::1%]:1",
        "[fe80::1%a/b]:1", "[fe80::1%an-interface-name]:1", "[2001:db8::7%eth0]:1", "[fe80::1%eth0%eth1]:1",
        "[2001:db8::7:52345", "192.0.2.7\n:1", "192.0.2.7\u{0}:1", "\u{202E}192.0.2.7:1", "[fe80::1%\u{1B}[2J]:1",
    ]) func `What isn't the address of a machine is none`(_ text: String) {
        #expect(KnownAddress(text) == nil)
    }

    @Test func `The newest four are kept, and a known one comes first again`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        for number in 1...6 { try store.note(nil, at: address(number), of: makeKey("aaaa")) }
        #expect(try addresses("desk") == (3...6).reversed().map { "192.0.2.\($0):52345" })
        try store.note(nil, at: address(4), of: makeKey("aaaa"))
        #expect(try addresses("desk") == [4, 6, 5, 3].map { "192.0.2.\($0):52345" })
        #expect(try store.devices().first?.places == [], "the person has given none of them")
    }

    @Test func `What is known already isn't written again`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        try store.note("desk.local:52345", at: address(1), of: makeKey("aaaa"))
        func inode() throws -> UInt64? {
            try FileManager.default.attributesOfItem(atPath: scratch.file("devices.json"))[.systemFileNumber] as? UInt64
        }
        let before = try inode()
        try store.note("desk.local:52345", at: address(1), of: makeKey("aaaa"))
        try store.note(nil, at: address(1), of: makeKey("aaaa"))
        // The file is replaced as a whole when it is written.
        #expect(try inode() == before)
        try store.note(nil, at: address(2), of: makeKey("aaaa"))
        #expect(try inode() != before)
    }

    @Test func `An address belongs to the host that proved its key there last`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        try store.remember(makeDevice("attic", makeKey("bbbb"), [.host]))
        try store.remember(makeDevice("sofa", makeKey("cccc"), [.viewer]))
        try store.note(nil, at: address(1), of: makeKey("aaaa"))
        try store.note(nil, at: address(2), of: makeKey("aaaa"))
        try store.note(nil, at: address(1), of: makeKey("bbbb"))
        #expect(try addresses("desk") == ["192.0.2.2:52345"])
        #expect(try addresses("attic") == ["192.0.2.1:52345"])
        // A viewer has none, and an unknown host isn't remembered by its address.
        try store.note(nil, at: address(3), of: makeKey("cccc"))
        try store.note(nil, at: address(3), of: makeKey("dddd"))
        #expect(try store.devices().count == 3)
        #expect(try addresses("sofa") == [])
    }

    @Test func `Renaming and pairing again keep the addresses`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        try store.note(nil, at: address(1), of: makeKey("aaaa"))
        _ = try store.rename(matching: "desk", to: "attic")
        try store.remember(makeDevice("attic", makeKey("aaaa"), [.host, .viewer]))
        #expect(try addresses("attic") == ["192.0.2.1:52345"])
    }

    private static func file(addresses: String) -> [UInt8] {
        let key = String(repeating: "a", count: 64)
        return Array(
            #"""
            {"version": 1, "devices": [{"name": "desk", "key": "\#(key)", "roles": ["host"],
              "pairedAt": "2026-03-01T09:30:00Z"\#(addresses)}]}
            """#.utf8)
    }

    @Test func `An older file has none`() throws {
        let devices = try DevicesFile.decode(Self.file(addresses: ""))
        #expect(devices.first?.addresses == [])
        #expect(!String(decoding: DevicesFile.encode(devices), as: UTF8.self).contains("addresses"))
    }

    @Test(
        arguments: [
            (#""192.0.2.7:52345""#, []), ("7", []), ("null", []), ("{}", []), ("[[], {}, null, 7, true]", []),
            (
                #"[7, "192.0.2.7:52345", "x", "192.0.2.7:52345", "[::]:1", "192.0.2.8:1"]"#,
                ["192.0.2.7:52345", "192.0.2.8:1"]
            ),
        ] as [(String, [String])])
    func `Damaged entries are ignored, and the device stays`(_ value: String, _ expected: [String]) throws {
        let device = try #require(try DevicesFile.decode(Self.file(addresses: ", \"addresses\": \(value)")).first)
        #expect(device.name == "desk")
        #expect(device.addresses.map(\.description) == expected)
    }

    @Test func `A long list is cut`() throws {
        let list = (1...200).map { "\"192.0.2.\($0):52345\"" }.joined(separator: ",")
        let device = try #require(try DevicesFile.decode(Self.file(addresses: ", \"addresses\": [\(list)]")).first)
        #expect(device.addresses.count == RememberedDevice.maxAddresses)
        #expect(device.addresses.first?.host == "192.0.2.1")
        let again = try DevicesFile.decode(DevicesFile.encode([device]))
        #expect(again == [device])
    }
}
