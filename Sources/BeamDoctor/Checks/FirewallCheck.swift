import Foundation

/// Whether a firewall is on that keeps guests out, as far as a program without rights can see.
struct FirewallCheck {
    /// The folder that stands for `/`.
    var root = ""

    private static let ports = ["52345/tcp", "52346/udp"]

    func finding() -> Finding {
        if isUFWOn {
            let commands = Self.ports.map { "`sudo ufw allow \($0)`" }.joined(separator: ", ")
            guard let rules = text("/etc/ufw/user.rules") else {
                return Finding(
                    "firewall", .improvable,
                    "ufw is on, and its rules can't be read without rights. Unless you have done so, let guests in: \(commands)."
                )
            }
            let missing = Self.ports.filter { !Self.allows($0, rules) }
            if missing.isEmpty { return Finding("firewall", .good, "ufw lets guests in.") }
            return Finding(
                "firewall", .broken,
                "ufw keeps guests out: \(missing.joined(separator: " and ")) \(missing.count == 1 ? "isn't" : "aren't") allowed. Run \(commands)."
            )
        }
        if exists("/sys/fs/cgroup/system.slice/firewalld.service") {
            let commands = Self.ports.map { "`sudo firewall-cmd --permanent --add-port=\($0)`" }.joined(separator: ", ")
            return Finding(
                "firewall", .improvable,
                "firewalld is on. Unless you have done so, let guests in: \(commands), then `sudo firewall-cmd --reload`."
            )
        }
        return Finding("firewall", .good, "Neither ufw nor firewalld is on. Other rules can't be seen from here.")
    }

    private var isUFWOn: Bool {
        text("/etc/ufw/ufw.conf")?.split(separator: "\n").contains {
            $0.filter { !$0.isWhitespace }.lowercased() == "enabled=yes"
        } ?? false
    }

    /// Whether ufw's rules, as it keeps them for iptables, accept the port from anywhere.
    private static func allows(_ port: String, _ rules: String) -> Bool {
        let parts = port.split(separator: "/")
        return rules.split(separator: "\n").contains { line in
            let words = line.split(separator: " ")
            guard words.first == "-A", line.hasSuffix("-j ACCEPT"), !words.contains("-s") else { return false }
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
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + path) }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: root + path).map { String(decoding: $0, as: UTF8.self) }
    }
}
