import Glibc

/// How many files and sockets the process may have open.
enum DescriptorLimit {
    /// More than a host with all its connections needs; beyond that there is no gain.
    private static let wanted: rlim_t = 4096

    /// Raises the soft limit as far as is needed and allowed. Where it isn't, accepting pauses when there are none left.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let next = min(wanted, limit.rlim_max)
        guard limit.rlim_cur < next else { return }
        limit.rlim_cur = next
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
