import Glibc

/// What this process uses, by the names that all of Prometheus' libraries give it
/// (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics).
public struct ProcessFigures: Sendable {
    public static let families = [
        MetricFamily("process_cpu_seconds_total", .counter, "Total user and system CPU time spent in seconds."),
        MetricFamily("process_open_fds", .gauge, "Number of open file descriptors."),
        MetricFamily("process_max_fds", .gauge, "Maximum number of open file descriptors."),
        MetricFamily("process_virtual_memory_bytes", .gauge, "Virtual memory size in bytes."),
        MetricFamily("process_resident_memory_bytes", .gauge, "Resident memory size in bytes."),
        MetricFamily("process_start_time_seconds", .gauge, "Start time of the process since unix epoch in seconds."),
    ]

    /// Since 1970. Made once: the clock may be set later.
    private let startTime: Double?

    public init() { startTime = Self.startTime() }

    /// What can't be read is left out.
    public func record(into set: MetricSet) {
        set.count("process_cpu_seconds_total", seconds: Self.processorTime())
        set.set("process_open_fds", Self.openFiles().map(Double.init))
        set.set("process_max_fds", Self.mostFiles())
        let memory = Self.memory()
        set.set("process_virtual_memory_bytes", memory?.virtual)
        set.set("process_resident_memory_bytes", memory?.resident)
        set.set("process_start_time_seconds", startTime)
    }

    private static func processorTime() -> Double? {
        var usage = rusage()
        guard getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return nil }
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    private static func openFiles() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) { if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 } }
        // Without the folder's own descriptor.
        return max(0, count - 1)
    }

    private static func mostFiles() -> Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Double(limit.rlim_cur)
    }

    /// In bytes.
    private static func memory() -> (virtual: Double, resident: Double)? {
        let fields = words("/proc/self/statm")
        guard fields.count > 1, let virtual = Double(fields[0]), let resident = Double(fields[1]) else { return nil }
        let page = Double(sysconf(CInt(_SC_PAGESIZE)))
        return (virtual * page, resident * page)
    }

    private static func startTime() -> Double? {
        // The second field, the program's name, may have blanks; after its bracket the first is the third (proc(5)).
        let text = contents("/proc/self/stat")
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst()
        guard let ticks = fields.dropFirst(22 - 3).first.flatMap({ Double($0) }) else { return nil }
        let sinceBoot = ticks / Double(sysconf(CInt(_SC_CLK_TCK)))
        return seconds(CLOCK_REALTIME) - (seconds(CLOCK_BOOTTIME) - sinceBoot)
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func words(_ path: String) -> [Substring] { contents(path).split(whereSeparator: \.isWhitespace) }

    /// Of a small file of the kernel's.
    private static func contents(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
