import Glibc

/// Keeps this process's secrets out of the files that a crash leaves.
public enum ProcessHardening {
    /// From now on a crash writes no core dump: the private key, media keys and the pairing code are in memory, and dumps
    /// end up in working directories, in the journal and in bug reports.
    ///
    /// The limit is one byte, not none: the kernel ignores a limit of 0 when dumps go to a program (systemd-coredump,
    /// apport; core(5)), but takes 1 to mean that there shall be none; for dumps to files both are too small for any.
    ///
    /// Not PR_SET_DUMPABLE. It would also keep other programs of the same user from tracing this one, but those can read
    /// the key file all the same, so it protects nothing; and it hands /proc/self to root, which takes away debuggers
    /// and perf, and makes desktop portals refuse the process.
    ///
    /// The limit is a hard one, so that nothing in this process raises it again. It can't fail: limits may always be lowered.
    public static func apply() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit = rlimit(rlim_cur: min(1, limit.rlim_max), rlim_max: min(1, limit.rlim_max))
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}
