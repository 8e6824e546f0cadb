import Glibc

/// One run of a host on this machine, told from others that had the same process number before.
public struct HostRun: Hashable, Sendable {
    public let pid: Int32
    /// When the process began, in the kernel's clock ticks since the machine's start (proc(5), stat, field 22).
    let start: UInt64

    init(pid: Int32, start: UInt64) {
        self.pid = pid
        self.start = start
    }

    /// This process. Nil where the system doesn't tell when it began.
    public static var current: HostRun? { Self.start(of: getpid()).map { HostRun(pid: getpid(), start: $0) } }

    public var isRunning: Bool { Self.start(of: pid) == start }

    /// The viewers that it has, and those that it is to send away.
    var guestsName: String { "guests-\(pid)-\(start).json" }
    var ordersName: String { "orders-\(pid)-\(start).json" }

    /// From one of these names; nil for every other file's.
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
        // The second field is the name in brackets, which may hold anything; the third comes after the last bracket.
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // A process that has ended and isn't reaped yet (Z, X) runs no more.
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
        return UInt64(fields[19])
    }
}
