import Glibc

/// The name of a control socket: `PROCESS-SYSTEM.sock`. The same folder may be that of several machines, by a network's file
/// system, or be there since before the last boot: the number of a process says nothing there.
struct ControlName {
    let process: pid_t
    /// The beginning of the kernel's boot ID (random(4)).
    private let system: String

    private static let ending = ".sock"

    private static let thisSystem: String = {
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "0" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8)
        let count = read(file, &bytes, bytes.count)
        return count == bytes.count ? String(decoding: bytes, as: UTF8.self) : "0"
    }()

    init(process: pid_t) { (self.process, system) = (process, Self.thisSystem) }

    /// Nil: it is another file's name.
    init?(_ text: String) {
        guard text.hasSuffix(Self.ending) else { return nil }
        let parts = text.dropLast(Self.ending.count).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let process = pid_t(parts[0]), process > 0 else { return nil }
        (self.process, system) = (process, String(parts[1]))
    }

    var text: String { "\(process)-\(system)\(Self.ending)" }
    var isOfThisSystem: Bool { system == Self.thisSystem }
}
