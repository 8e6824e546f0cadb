import Foundation
import Glibc

extension MeasureRecord.Machine {
    /// - Parameter beamroom: the program's version.
    public static func current(beamroom: String) -> Self {
        func lines(_ path: String) -> [Substring] {
            ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
        }
        func value(_ keys: [String], in path: String, separator: Character) -> String? {
            for line in lines(path) {
                let parts = line.split(separator: separator, maxSplits: 1)
                guard parts.count == 2, keys.contains(parts[0].trimmingCharacters(in: .whitespaces)) else { continue }
                return parts[1].trimmingCharacters(in: .whitespaces.union(CharacterSet(charactersIn: "\"")))
            }
            return nil
        }
        var names = utsname()
        uname(&names)
        let release = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let kind = withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let kilobytes = value(["MemTotal"], in: "/proc/meminfo", separator: ":")
            .flatMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        return Self(
            processor: value(["model name", "Model", "Hardware"], in: "/proc/cpuinfo", separator: ":") ?? kind,
            cores: ProcessInfo.processInfo.activeProcessorCount, memoryMB: (kilobytes ?? 0) / 1024,
            system: value(["PRETTY_NAME"], in: "/etc/os-release", separator: "=") ?? "Linux", kernel: release,
            beamroom: beamroom)
    }
}

/// CPU time and memory of a process so far.
struct ProcessorTimes {
    /// CPU seconds used by the process.
    var own: Double
    /// Peak resident memory in MB (10⁶ bytes).
    var peakMemoryMB: Double

    /// Nil if the process has ended.
    init?(of pid: pid_t) {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        else { return nil }
        // The second field is the name in brackets, which may contain blanks.
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        own = (user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
        let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kilobytes = peak.flatMap { $0.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first }
        peakMemoryMB = (kilobytes.flatMap { Double($0) } ?? 0) * 1024 / 1_000_000
    }

    /// CPU seconds used on the whole machine, without idle and iowait; nil if unknown.
    static func ofMachine() -> Double? {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let line = stat.split(separator: "\n").first, line.hasPrefix("cpu ")
        else { return nil }
        let ticks = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        // user, nice, system, idle, iowait, irq, softirq, steal; user already includes guests.
        guard ticks.count >= 8 else { return nil }
        let busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]
        return busy / Double(sysconf(CInt(_SC_CLK_TCK)))
    }
}
