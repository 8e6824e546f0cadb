import Glibc

/// Keeps secrets out of core dumps.
public enum ProcessHardening {
    /// Disables core dumps of this process, because the private key, media keys and the pairing code are in its memory,
    /// and dumps end up in working directories, the journal and bug reports.
    ///
    /// The limit is one byte instead of 0: when dumps are piped to a program (systemd-coredump, apport; core(5)), the
    /// kernel ignores 0 but treats 1 as "no dump". For dumps to files, one byte is too small for any.
    ///
    /// PR_SET_DUMPABLE isn't used. It would also keep other programs of the same user from tracing this one, but those
    /// can read the key file anyway. It would make root the owner of /proc/self, which breaks debuggers, perf and
    /// desktop portals.
    ///
    /// The hard limit is lowered too, so that nothing in this process can raise it again. Lowering a limit can't fail.
    public static func apply() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit = rlimit(rlim_cur: min(1, limit.rlim_max), rlim_max: min(1, limit.rlim_max))
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}
