import Foundation
import Testing

/// Which addresses a host tells people to type, on machines with several networks.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct AddressTests {
        private static let rest = ["--no-discovery", "--time-limit", "60"]

        @Test(arguments: ["share", "room"])
        func theDefaultRoutesNetworkIsNamedFirst(_ command: String) throws {
            let machine = try PrivateMachine(hasDaemon: false)
            try configure(
                machine,
                """
                ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up
                ip link add virbr0 type bridge; ip address add 192.168.122.1/24 dev virbr0
                ip link add port0 type veth peer name port1; ip link set port0 master virbr0
                ip link set port0 up; ip link set port1 up; ip link set virbr0 up
                ip tuntap add dev tun0 mode tun; ip address add 10.8.0.2/24 dev tun0; ip link set tun0 up
                ip link add wlan7 type veth peer name air7; ip address add 198.51.100.4/24 dev wlan7
                ip link set wlan7 up; ip link set air7 up
                ip link add eth7 type veth peer name cable7; ip address add 192.0.2.4/24 dev eth7
                ip link set eth7 up; ip link set cable7 up; ip route add default via 192.0.2.1 dev eth7
                """)
            // A tunnel runs while a program holds it: TUNSETIFF of linux/if_tun.h.
            let tunnel = try machine.run([
                "perl", "-e",
                #"$| = 1; open F, "+<", "/dev/net/tun"; my $r = pack "a16Sx22", "tun0", 0x1001; ioctl F, 0x400454ca, $r or die $!; print "held\n"; sleep 60"#,
            ])
            defer { tunnel.end() }
            guard eventually(timeout: 30, { tunnel.outputText.contains("held") }) else {
                throw HarnessError(tunnel.errorText)
            }
            let program = try start(machine, command)
            defer { program.end() }
            let at = command == "share" ? "watch" : "room --at"
            let words = command == "share" ? "To watch" : "To enter it"
            try program.waitForWords(words)
            let line = program.errorText.split(separator: "\n").first { $0.contains(words) } ?? ""
            let places = ["192.0.2.4", "10.77.0.1", "198.51.100.4", "10.8.0.2"]
            #expect(
                line == "\(words), run on another machine: "
                    + places.map { "`beamroom \(at) \($0)`" }
                    .joined(separator: " or ") + ".")
        }

        @Test func aLinkLocalAddressIsSaidWithTheOtherMachinesInterface() throws {
            let desk = try PrivateMachine(hasDaemon: false)
            let sofa = try PrivateMachine(beside: desk, hasDaemon: false)
            try configure(desk, "ip -4 address flush dev lan0")
            let host = try start(desk, "share")
            defer { host.end() }
            try host.waitForWords("To watch")
            #expect(
                host.errorText.contains(
                    "run on another machine on the same cable or Wi-Fi: `beamroom watch fe80::1%eth0`. In place of eth0 "
                        + "write the network interface of that machine"), "\(host.errorText)")
            #expect(!host.errorText.contains("127.0.0.1"))
            // As it says: with the interface of the machine that watches.
            let viewer = try sofa.watch(["fe80::1%lan0"])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
        }

        @Test func withoutAnAddressItSaysSoAndNamesTheOneThatComes() throws {
            let machine = try PrivateMachine(hasDaemon: false)
            try configure(machine, "ip address flush dev lan0")
            let host = try start(machine, "share")
            defer { host.end() }
            try host.waitForWords("no address on a network")
            #expect(!host.errorText.contains("To watch, run"), "\(host.errorText)")
            try configure(machine, "ip address add 10.77.0.1/24 dev lan0")
            try host.waitForWords("To watch, run on another machine: `beamroom watch 10.77.0.1`.")
        }

        @Test func anAddressThatIsListenedOnIsTheOneThatIsNamed() throws {
            let machine = try PrivateMachine(hasDaemon: false)
            let places = [
                ("127.0.0.1", "To watch, run on this machine: `beamroom watch 127.0.0.1`."),
                ("0.0.0.0", "To watch, run on another machine: `beamroom watch 10.77.0.1`."),
                ("::", "To watch, run on another machine: `beamroom watch 10.77.0.1`."),
                ("10.77.0.1", "To watch, run on another machine: `beamroom watch 10.77.0.1`."),
            ]
            for (bound, words) in places {
                let host = try start(machine, "share", ["--bind", bound])
                defer { host.end() }
                try host.waitForWords(words)
                host.interrupt()
                _ = try host.waitForEnd()
            }
        }

        private func start(
            _ machine: PrivateMachine, _ command: String, _ more: [String] = []
        ) throws -> ProgramProcess {
            let what = command == "share" ? ["share", "--accept", "all"] + .pattern : ["room", "lab", "--no-watch"]
            return try machine.start(what + Self.rest + more)
        }

        private func configure(_ machine: PrivateMachine, _ commands: String) throws {
            let process = try machine.run(["bash", "-euc", commands])
            defer { process.end() }
            guard try process.waitForEnd() == .exited(0) else { throw HarnessError(process.errorText) }
        }
    }
}
