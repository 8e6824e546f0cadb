import Glibc

/// A running host process on this machine. The start time distinguishes it from an earlier process with the same pid.
public struct HostRun: Hashable, Sendable {
    public let pid: Int32
    /// The process's start time in clock ticks since boot (proc(5), stat, field 22).
    let start: UInt64

    init(pid: Int32, start: UInt64) {
        self.pid = pid
        self.start = start
    }

    /// This process. Nil if the system doesn't tell its start time.
    public static var current: HostRun? { Self.start(of: getpid()).map { HostRun(pid: getpid(), start: $0) } }

    public var isRunning: Bool { Self.start(of: pid) == start }

    /// The files with the viewers that watch this host, and those that it has to evict.
    var guestsName: String { "guests-\(pid)-\(start).json" }
    var ordersName: String { "orders-\(pid)-\(start).json" }

    /// Parses one of these file names; nil for other files.
    init?(fileName: String) {
        guard fileName.hasSuffix(".json") else { return nil }
        let parts = fileName.dropLast(".json".count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "guests" || parts[0] == "orders", let pid = Int32(parts[1]), pid > 0,
            let start = UInt64(parts[2])
        else { return nil }
        self.init(pid: pid, start: start)
    }

    private static func start(of pid: Int32) -> UInt64? {
        guard let file = Descriptor(open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(file.number, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        // The second field is the name in brackets, which may contain anything, so continue after the last bracket.
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // A zombie (Z, X) has ended.
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
        return UInt64(fields[19])
    }
}
