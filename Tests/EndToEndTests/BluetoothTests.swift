import Foundation
import Testing

/// A host's presence over Bluetooth, with a mock of BlueZ: where multicast doesn't pass and the host has moved.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: DesktopMocks.obstacle == nil, "\(DesktopMocks.obstacle ?? "")"),
        .enabled(if: DesktopMocks.hasAddress, "this machine has no IPv4 address that could be advertised"))
    struct BluetoothTests {
        private struct Advertised: Decodable {
            var data: [String: [UInt8]]
        }

        /// The bytes that the host advertises: its address, its port, and the beginning of its key.
        private func advertised(_ mocks: DesktopMocks) throws -> (uuid: String, bytes: [UInt8]) {
            let line = try mocks.waitForEvent("advertised")
            let decoded = try JSONDecoder().decode(Advertised.self, from: Data(line.utf8))
            let entry = try #require(decoded.data.first)
            return (entry.key, entry.value)
        }

        private func share(
            _ arguments: [String], ports: Ports, as machine: Machine, with mocks: DesktopMocks
        ) throws -> ProgramProcess {
            let host = try ProgramProcess(
                ["share", "--json", "--name", "Desk", "--time-limit", "60"] + .pattern
                    + ["--port", "\(ports.control)", "--media-port", "\(ports.media)"] + arguments,
                environment: mocks.environment, machine: machine)
            try host.waitFor("ready")
            return host
        }

        @Test func aKnownHostThatMovedIsFoundByItsAdvertisement() throws {
            let mocks = try DesktopMocks()
            try mocks.run("bluez()")
            try mocks.run("add_adapter()")
            let (desk, sofa) = (try Machine(), try Machine())
            let (before, after) = (try Ports(), try Ports())
            let code = try desk.codeFile("482913")
            let first = try share(["--no-discovery", "--code-file", code], ports: before, as: desk, with: mocks)
            let pairing = try Program.watch([before.target, "--code-file", try sofa.codeFile("482913")], machine: sofa)
            try pairing.waitFor("device-paired")
            let isStored = eventually(timeout: 30) {
                let list = try? String(contentsOfFile: sofa.store + "/devices.json", encoding: .utf8)
                return list?.contains("\"addresses\"") == true
            }
            #expect(isStored)
            pairing.end()
            first.end()

            // Nobody is where it was, and nothing is announced by Avahi here.
            let viewer = try ProgramProcess(
                ["watch", "Desk", "--json", "--no-window", "--time-limit", "60"], environment: mocks.environment,
                machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("retry")
            let host = try share(["--trusted-only"], ports: after, as: desk, with: mocks)
            defer { host.end() }
            let (uuid, bytes) = try advertised(mocks)
            #expect(
                bytes.count == 10
                    && bytes[4..<6].elementsEqual([UInt8(after.control >> 8), UInt8(after.control & 0xFF)]))
            // Somebody else's advertisement beside it, with another key, changes nothing.
            try mocks.run("add_device(1, {'\(uuid)': [192, 0, 2, 1, 0, 9, 1, 2, 3, 4]})")
            #expect(viewer.events("first-frame").isEmpty)
            try mocks.run("add_device(2, {'\(uuid)': \(bytes)})")
            try viewer.waitFor("first-frame")
            #expect(viewer.events("refused").isEmpty)
        }

        @Test func aHostThatIsNotToBeFoundDoesNotAdvertise() throws {
            let mocks = try DesktopMocks()
            try mocks.run("bluez()")
            try mocks.run("add_adapter()")
            for arguments in [["--no-discovery"], ["--no-bluetooth"]] {
                let host = try share(arguments, ports: try Ports(), as: try Machine(), with: mocks)
                pause(seconds: 1)
                host.end()
            }
            // The mock does see one that advertises.
            let host = try share([], ports: try Ports(), as: try Machine(), with: mocks)
            defer { host.end() }
            _ = try advertised(mocks)
            try mocks.run("assert len(adapter().advertisements) == 1")
        }
    }
}
