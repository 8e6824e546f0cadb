import Foundation
import Glibc

/// Which program of this machine listens on a TCP port, as far as this user may know.
public enum PortHolder: Sendable, Equatable {
    /// Another BeamRoom; `command`: `share`, `room` …
    case beamroom(pid: pid_t, command: String)
    case program(name: String, pid: pid_t)
    /// It may be another user's.
    case unknown

    private static let programName = "beamroom"

    static func find(port: Int) -> PortHolder {
        let sockets = ["/proc/net/tcp", "/proc/net/tcp6"].reduce(into: Set<String>()) { sockets, path in
            if let table = try? String(contentsOfFile: path, encoding: .utf8) {
                sockets.formUnion(listening(on: port, table))
            }
        }
        guard !sockets.isEmpty, let processes = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
            return .unknown
        }
        let links = Set(sockets.map { "socket:[\($0)]" })
        for process in processes {
            guard let pid = pid_t(process), holds(pid, links) else { continue }
            let name = text("/proc/\(pid)/comm").trimmingCharacters(in: .whitespacesAndNewlines)
            let words = text("/proc/\(pid)/cmdline").split(separator: "\0", omittingEmptySubsequences: false)
            return name == programName
                ? .beamroom(pid: pid, command: words.count > 1 ? String(words[1]) : "")
                : .program(name: name, pid: pid)
        }
        return .unknown
    }

    /// The inodes of the sockets that listen on the port, of `/proc/net/tcp` or `tcp6` (proc_net(5)).
    static func listening(on port: Int, _ table: String) -> Set<String> {
        let listens = "0A"
        return Set(
            table.split(separator: "\n").dropFirst().compactMap { line in
                let fields = line.split(separator: " ")
                guard fields.count > 9, fields[3] == listens, let colon = fields[1].lastIndex(of: ":"),
                    Int(fields[1][colon...].dropFirst(), radix: 16) == port
                else { return nil }
                return String(fields[9])
            })
    }

    private static func holds(_ pid: pid_t, _ links: Set<String>) -> Bool {
        let folder = "/proc/\(pid)/fd"
        // Other users' can't be read.
        guard let descriptors = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return false }
        return descriptors.contains { descriptor in
            var buffer = [CChar](repeating: 0, count: 64)
            let count = readlink("\(folder)/\(descriptor)", &buffer, buffer.count)
            guard count > 0 else { return false }
            return links.contains(String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Sentences: who has the port, and what to do.
    func words(port: Int, place: String) -> String {
        let other = "use another port with --port (--port \(port == 52350 ? 52360 : 52350))."
        return switch self {
        case .beamroom(let pid, "room"):
            "This machine is in a room already, which has TCP port \(port)\(place) (process \(pid)). Leave it, or \(other)"
        case .beamroom(let pid, _):
            "This machine already shares: process \(pid) has TCP port \(port)\(place). End that one, or \(other)"
        case .program(let name, let pid):
            "Another program, “\(name)” (process \(pid)), has TCP port \(port)\(place). End it, or \(other)"
        case .unknown: "Another program of this machine has TCP port \(port)\(place). End it, or \(other)"
        }
    }
}
