import Foundation

/// Whether a firewall is on that keeps guests out, as far as a program without rights can see.
struct FirewallCheck {
    /// The folder that stands for `/`.
    var root = ""

    private static let ports = ["52345/tcp", "52346/udp"]
    /// Those of browsers, with `--web`.
    private static let webPorts = ["52347/tcp", "52348/udp"]
    /// That of a receiver, `watch --wait`.
    private static let receiverPorts = ["52349/tcp"]

    func finding() -> Finding {
        if isUFWOn { return ufw() }
        if exists("/sys/fs/cgroup/system.slice/firewalld.service") {
            func commands(_ ports: [String]) -> String {
                ports.map { "`sudo firewall-cmd --permanent --add-port=\($0)`" }.joined(separator: ", ")
            }
            return Finding(
                "firewall", .improvable,
                "firewalld is on. Unless you have done so, let guests in: \(commands(Self.ports)), for browsers also "
                    + "\(commands(Self.webPorts)), for a receiver \(commands(Self.receiverPorts)), then "
                    + "`sudo firewall-cmd --reload`.")
        }
        return Finding("firewall", .good, "Neither ufw nor firewalld is on. Other rules can't be seen from here.")
    }

    private func ufw() -> Finding {
        func commands(_ ports: [String]) -> String { ports.map { "`sudo ufw allow \($0)`" }.joined(separator: ", ") }
        guard let rules = text("/etc/ufw/user.rules") else {
            return Finding(
                "firewall", .improvable,
                "ufw is on, and its rules can't be read without rights. Unless you have done so, let guests in: "
                    + "\(commands(Self.ports)), for browsers also \(commands(Self.webPorts)), for a receiver "
                    + "\(commands(Self.receiverPorts)).")
        }
        let missing = Self.ports.filter { !Self.allows($0, rules) }
        guard missing.isEmpty else {
            return Finding(
                "firewall", .broken,
                "ufw keeps guests out: \(missing.joined(separator: " and ")) \(missing.count == 1 ? "isn't" : "aren't") "
                    + "allowed. Run \(commands(missing)).")
        }
        let missingWeb = Self.webPorts.filter { !Self.allows($0, rules) }
        guard missingWeb.isEmpty else {
            return Finding(
                "firewall", .improvable,
                "ufw lets guests in, but no browsers. To let them in, too, run \(commands(missingWeb)).")
        }
        let missingReceiver = Self.receiverPorts.filter { !Self.allows($0, rules) }
        return Finding(
            "firewall", .good,
            "ufw lets guests in."
                + (missingReceiver.isEmpty
                    ? "" : " For a receiver (`watch --wait`) also run \(commands(missingReceiver))."))
    }

    private var isUFWOn: Bool {
        text("/etc/ufw/ufw.conf")?.split(separator: "\n").contains {
            $0.filter { !$0.isWhitespace }.lowercased() == "enabled=yes"
        } ?? false
    }

    /// Whether ufw's rules, as it keeps them for iptables, accept the port from anywhere: the first rule for it decides.
    private static func allows(_ port: String, _ rules: String) -> Bool {
        for line in rules.split(separator: "\n") {
            let words = line.split(separator: " ")
            // Other chains of the file are ufw's own, or are for what goes out. With these options a rule is for some guests,
            // or for one interface only.
            guard words.starts(with: ["-A", "ufw-user-input"]), names(port, words),
                !words.contains(where: { ["-s", "-i", "-d", "--sport", "--sports"].contains($0) })
            else { continue }
            // A comment may follow: the application whose profile the rule is from.
            switch words.firstIndex(of: "-j").flatMap({ words.dropFirst($0 + 1).first }) {
            case "ACCEPT": return true
            case "DROP", "REJECT": return false
            default: continue
            }
        }
        return false
    }

    /// Whether a rule is for the port, maybe among others.
    private static func names(_ port: String, _ words: [Substring]) -> Bool {
        let parts = port.split(separator: "/")
        func value(_ names: String...) -> Substring? {
            words.indices.dropLast().first { names.contains(String(words[$0])) }.map { words[$0 + 1] }
        }
        guard value("-p") == parts[1] || value("-p") == nil else { return false }
        guard let named = value("--dport", "--dports") else { return true }
        return named.split(separator: ",").contains { range in
            let ends = range.split(separator: ":").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, let number = Int(parts[0]) else { return false }
            return (first...max(first, last)).contains(number)
        }
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + path) }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: root + path).map { String(decoding: $0, as: UTF8.self) }
    }
}
