import Foundation
import Testing

@testable import BeamDoctor

/// What can't be broken from outside the program: firewalls, clocks, disks and services that hang.
struct DoctorTests {
    // MARK: Firewalls

    /// A folder that stands for `/`, with these files.
    private func root(_ files: [String: String]) throws -> URL {
        let root = FileManager.default.temporaryDirectory.appending(path: "beamroom-root-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return root
    }

    private func firewall(_ files: [String: String]) throws -> Finding {
        let root = try root(files)
        defer { try? FileManager.default.removeItem(at: root) }
        return FirewallCheck(root: root.path).finding()
    }

    private static let on = "# comment\nENABLED = yes\n"
    private static let accepted = "-A ufw-user-input -p tcp --dport 52345 -j ACCEPT"
    /// What ufw writes itself at the end of each file.
    private static let end = """

        ### RATE LIMITING ###
        -A ufw-user-limit -m limit --limit 3/minute -j LOG --log-prefix "[UFW LIMIT BLOCK] "
        -A ufw-user-limit -j REJECT
        -A ufw-user-limit-accept -j ACCEPT
        COMMIT

        """

    private func ufw(_ rules: String) throws -> Finding {
        try firewall(["etc/ufw/ufw.conf": Self.on, "etc/ufw/user.rules": rules + Self.end])
    }

    @Test func withoutAFirewallGuestsComeIn() throws {
        #expect(try firewall([:]).verdict == .good)
        #expect(try firewall(["etc/ufw/ufw.conf": "ENABLED=no\n", "etc/ufw/user.rules": ""]).verdict == .good)
    }

    @Test func rulesThatCannotBeReadMayKeepGuestsOut() throws {
        let finding = try firewall(["etc/ufw/ufw.conf": Self.on])
        #expect(finding.verdict == .improvable)
        #expect(finding.text.contains("sudo ufw allow 52345/tcp") && finding.text.contains("sudo ufw allow 52346/udp"))
        #expect(
            try firewall(["sys/fs/cgroup/system.slice/firewalld.service/cgroup.procs": "1"]).text.contains(
                "firewall-cmd --permanent --add-port=52346/udp"))
    }

    @Test(arguments: [
        ("", ["52345/tcp", "52346/udp"]),
        (accepted, ["52346/udp"]),
        ("-A ufw-user-input -p tcp --dport 52345 -s 192.0.2.7 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -p udp --dport 52345 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -p tcp --dport 52345 -j DROP", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -p udp -m multiport --dports 80,52340:52350 -j ACCEPT", ["52345/tcp"]),
        ("-A ufw-user-input -p tcp --dport 99999999999999999999 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -p tcp --dport 60000:1 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-output -o eth0 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -i wg0 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -d 192.0.2.7 -j ACCEPT", ["52345/tcp", "52346/udp"]),
        ("-A ufw-user-input -p tcp --dport 52345 -j DROP\n-A ufw-user-input -j ACCEPT", ["52345/tcp"]),
    ])
    func rulesThatKeepGuestsOutAreNamed(rules: String, missing: [String]) throws {
        let finding = try ufw(rules)
        #expect(finding.verdict == .broken)
        #expect(
            finding.text.hasPrefix("ufw keeps guests out: \(missing.joined(separator: " and ")) "), "\(finding.text)")
    }

    @Test(arguments: [
        "-A ufw-user-input -p tcp -j ACCEPT\n-A ufw-user-input -p udp -j ACCEPT",
        "-A ufw-user-input -j ACCEPT",
        "-A ufw-user-input -p tcp -m multiport --dports 52345,52347 -j ACCEPT\n"
            + "-A ufw-user-input -p udp --dport 52346:52348 -j ACCEPT",
        // `ufw allow BeamRoom` and `ufw allow 'BeamRoom Web'`.
        "-A ufw-user-input -p tcp --dport 52345 -j ACCEPT -m comment --comment 'dapp_BeamRoom'\n"
            + "-A ufw-user-input -p udp --dport 52346 -j ACCEPT -m comment --comment 'dapp_BeamRoom'\n"
            + "-A ufw-user-input -p tcp --dport 52347 -j ACCEPT -m comment --comment 'dapp_BeamRoom%20Web'\n"
            + "-A ufw-user-input -p udp --dport 52348 -j ACCEPT -m comment --comment 'dapp_BeamRoom%20Web'",
    ])
    func rulesThatLetGuestsInAreGood(rules: String) throws { #expect(try ufw(rules).verdict == .good) }

    @Test func aReceiversPortIsNamedUntilItIsAllowed() throws {
        let guests = "-A ufw-user-input -p tcp --dport 52345:52348 -j ACCEPT\n-A ufw-user-input -p udp -j ACCEPT"
        #expect(try ufw(guests).text.hasSuffix("run `sudo ufw allow 52349/tcp`."))
        let all = guests + "\n-A ufw-user-input -p tcp --dport 52349 -j ACCEPT"
        #expect(try ufw(all).text == "ufw lets guests in.")
    }

    @Test func rulesForGuestsAloneKeepBrowsersOut() throws {
        let finding = try ufw(Self.accepted + "\n-A ufw-user-input -p udp --dport 52346 -j ACCEPT")
        #expect(finding.verdict == .improvable)
        #expect(finding.text.contains("sudo ufw allow 52347/tcp") && finding.text.contains("sudo ufw allow 52348/udp"))
    }

    // MARK: The machine

    @Test func aClockThatNothingKeepsInStepIsNamed() {
        #expect(MachineCheck.clock(isSynchronised: true, now: 1_800_000_000).verdict == .good)
        #expect(MachineCheck.clock(isSynchronised: nil, now: 1_800_000_000).verdict == .good)
        #expect(MachineCheck.clock(isSynchronised: false, now: 1_800_000_000).verdict == .improvable)
        #expect(MachineCheck.clock(isSynchronised: true, now: 86_400).verdict == .broken)
    }

    @Test func anAvahiThatSaysNothingIsNamed() {
        #expect(DiscoveryCheck.finding(.init()).verdict == .broken)
        #expect(DiscoveryCheck.finding(.init(names: [], hasAnswered: true)).verdict == .good)
        #expect(DiscoveryCheck.finding(.init(names: ["desk"], hasAnswered: true)).text.contains("1 host is"))
        #expect(DiscoveryCheck.finding(.init(problem: "It is off.", hasAnswered: true)).text == "It is off.")
    }

    @Test func aDiskIsJudgedByWhatIsFree() {
        #expect(StoreCheck.disk(free: 5 << 30, folder: "/x").text.hasPrefix("5 GiB"))
        #expect(StoreCheck.disk(free: 900 << 20, folder: "/x").verdict == .improvable)
        #expect(StoreCheck.disk(free: 900 << 20, folder: "/x").text.contains("900 MiB"))
        #expect(StoreCheck.disk(free: 1000, folder: "/x").verdict == .broken)
    }

    @Test func addressesOfOneCableAreHalfGood() {
        #expect(NetworkCheck.addresses(["192.0.2.7"], hasLocalOnly: true).text.contains("192.0.2.7"))
        #expect(NetworkCheck.addresses([], hasLocalOnly: true).verdict == .improvable)
        #expect(NetworkCheck.addresses(["169.254.3.4"], hasLocalOnly: true).verdict == .improvable)
        let both = NetworkCheck.addresses(["192.0.2.7", "169.254.3.4"], hasLocalOnly: true)
        #expect(both.verdict == .good && !both.text.contains("169.254"))
        #expect(NetworkCheck.addresses([], hasLocalOnly: false).verdict == .broken)
        let inside = NetworkCheck.addresses(["172.17.0.1"], hasLocalOnly: true, leadNowhere: true)
        #expect(inside.verdict == .broken && inside.text.contains("172.17.0.1"))
    }

    @Test func aTunnelWithoutMulticastIsNamedIfThereIsNothingElse() {
        #expect(NetworkCheck.multicast(["wg0": false, "eth0": true]).text == "eth0 carries multicast.")
        let finding = NetworkCheck.multicast(["wg0": false])
        #expect(finding.verdict == .broken && finding.text.contains("wg0 doesn't carry multicast"))
    }

    // MARK: The examination

    @Test func aCheckThatHangsIsGivenUp() {
        let check = Doctor.Check("sound") {
            while true { sleep(60) }
        }
        let findings = Doctor.result(of: check, within: .milliseconds(100))
        #expect(findings.map(\.verdict) == [.broken] && findings[0].subject == "sound")
    }

    @Test func theWorstOfSeveralCounts() {
        #expect([Finding.Verdict.good, .broken, .improvable].max() == .broken)
        #expect([Finding.Verdict.good, .improvable].max() == .improvable)
    }
}
