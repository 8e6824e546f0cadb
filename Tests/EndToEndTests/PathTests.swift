import Foundation
import Testing

/// `beamroom doctor HOST` on paths of which it is known what they do to packets.
extension EndToEnd {
    @Suite(.needsProgram)
    struct PathTests {
        /// What was found, by subject.
        private func findings(of process: ProgramProcess) throws -> [String: Event] {
            // It ends after 15 s by itself.
            _ = try process.waitForEnd(timeout: 60)
            #expect(process.events("diagnosis").count == 1, "\(process.errorText)")
            var findings: [String: Event] = [:]
            for finding in process.events("finding") {
                let subject = try #require(finding.string("subject"))
                #expect(findings[subject] == nil, "\(subject) twice")
                findings[subject] = finding
                expectPlainWords(finding.string("text") ?? "")
            }
            return findings
        }

        private func expect(
            _ findings: [String: Event], _ subject: String, _ verdict: String, _ words: String = "",
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let finding = findings[subject]
            let text = finding?.string("text") ?? ""
            let isExpected = finding?.string("verdict") == verdict && (words.isEmpty || text.contains(words))
            #expect(isExpected, "\(subject): \(finding?.description ?? "nothing")", sourceLocation: sourceLocation)
        }

        @Test(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func aGoodPathIsCalledGoodAndClientsThatAreKeptApartAreNamed() throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let host = try desk.share(name: "desk")
            defer { host.end() }
            // As on most desktops, everybody may send echoes.
            try allowEchoes(sofa)
            let good = try findings(of: sofa.start(["doctor", "desk", "--json"]))
            expect(good, "name", "good", "“desk” is announced on this network, at 10.77.0.1")
            expect(good, "route", "good", "lan0 leads to it directly")
            expect(good, "ping", "good")
            expect(good, "port", "good", "A BeamRoom host answers")
            expect(good, "clients kept apart", "good")
            expect(good, "loss", "good", "All 100 echoes")
            expect(good, "mtu", "good")
            #expect(good["name"]?.string("address") == "10.77.0.1" && good["route"]?.string("interface") == "lan0")
            #expect(good["mtu"]?.number("mtu") == 1500 && good["loss"]?.number("loss") == 0)
            #expect((good["round trip"]?.number("rttMs") ?? 1000) < 20 && (good["rate"]?.number("mbit") ?? 0) > 20)
            // Nobody there is asked, or told.
            #expect(host.errorText.split(separator: "\n").last?.hasPrefix("Announced on") == true, "\(host.errorText)")
            #expect(Set(host.events.map(\.name)).isSubset(of: ["ready", "share", "stats"]))

            // What an access point does that isolates its clients: multicast passes, and nothing else.
            _ = try desk.run(["ip", "link", "set", "lan0", "arp", "off"]).waitForEnd()
            _ = try sofa.run(["ip", "neigh", "flush", "all"]).waitForEnd()
            let apart = try findings(of: sofa.start(["doctor", "desk", "--json"]))
            expect(apart, "name", "good", "announced")
            expect(apart, "ping", "does-not-work")
            expect(apart, "port", "does-not-work")
            expect(apart, "clients kept apart", "does-not-work", "client isolation")
            #expect(apart["mtu"] == nil && apart["rate"] == nil)
        }

        private func allowEchoes(_ machine: PrivateMachine) throws {
            let allow = try machine.run(["sh", "-c", "echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range"])
            try #require(try allow.waitForEnd() == .exited(0))
        }

        @Test(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
        func aSlowPathWithASmallMTUIsMeasured() throws {
            let desk = try PrivateMachine(hasDaemon: false)
            let sofa = try PrivateMachine(beside: desk, hasDaemon: false)
            for command in [
                "tc qdisc add dev lan0 root tbf rate 10mbit burst 4k latency 200ms", "ip link set lan0 mtu 1280",
            ] {
                let words = command.split(separator: " ").map { String($0) }
                let process = try sofa.run(words)
                try #require(try process.waitForEnd() == .exited(0), "\(process.errorText)")
            }
            let found = try findings(of: sofa.start(["doctor", desk.address, "--json"]))
            expect(found, "port", "does-not-work", "nothing listens at TCP port 52345")
            expect(found, "mtu", "good", "lan0 takes no larger ones")
            #expect(found["mtu"]?.number("mtu") == 1280)
            expect(found, "rate", "could-be-better", "Mbit/s")
            let mbit = try #require(found["rate"]?.number("mbit"))
            #expect((7...13).contains(mbit), "\(mbit) Mbit/s")
        }

        @Test(.enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
        func aPathThatLosesPacketsAndAllLargeOnesIsNamed() throws {
            let network = try LossyNetwork("loss=5%,size=1337")
            let found = try findings(of: network.examine())
            expect(found, "loss", "could-be-better", "echoes were lost")
            // 5 % each way are 9.75 % of echoes.
            let loss = try #require(found["loss"]?.number("loss"))
            #expect((0.02...0.25).contains(loss), "\(loss)")
            expect(found, "mtu", "could-be-better", "Larger ones vanish")
            #expect(found["mtu"]?.number("mtu") == 1337)
            #expect(try network.end()["lost"] ?? 0 > 0)
        }
    }
}
