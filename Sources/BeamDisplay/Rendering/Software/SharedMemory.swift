import Glibc

/// System V shared memory segments of this process.
enum SharedMemory {
    /// Sets mode 0600 on the segment at `address`, if there is one. SDL creates the window's segment with mode 0777, so
    /// that any user of the machine could read the shared screen.
    static func restrict(_ address: UnsafeRawPointer) {
        guard let id = identifier(at: address) else { return }
        var segment = shmid_ds()
        guard shmctl(id, IPC_STAT, &segment) == 0 else { return }
        segment.shm_perm.mode = 0o600
        shmctl(id, IPC_SET, &segment)
    }

    /// The identifier of the segment at `address`.
    static func identifier(at address: UnsafeRawPointer) -> Int32? {
        segments().first { $0.start == UInt(bitPattern: address) }?.identifier
    }

    /// The segments attached to this process. /proc/self/maps shows a segment's identifier as the inode.
    static func segments() -> [(start: UInt, identifier: Int32)] {
        guard let file = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(file) }
        var found: [(start: UInt, identifier: Int32)] = []
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let line {
            let text = String(cString: line)
            guard text.contains("/SYSV") else { continue }
            let fields = text.split(separator: " ", omittingEmptySubsequences: true)
            if fields.count > 4, let start = UInt(text.prefix { $0 != "-" }, radix: 16),
                let identifier = Int32(fields[4])
            {
                found.append((start, identifier))
            }
        }
        return found
    }
}
