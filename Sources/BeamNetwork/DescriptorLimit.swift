import Glibc

/// The process's limit of open files and sockets.
public enum DescriptorLimit {
    /// More descriptors than a host with all its connections needs.
    private static let wanted: rlim_t = 4096
    /// With fewer, host and viewer can't start: their threads, stores, displays and sockets take some 30.
    private static let least: rlim_t = 40

    /// Raises the soft limit as far as the hard one allows. If that is too little later, accepting pauses when
    /// descriptors run out.
    ///
    /// - Throws: `tooFewDescriptors` if it is too little to start with.
    public static func raise() throws(NetworkError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let next = min(wanted, limit.rlim_max)
        if limit.rlim_cur < next {
            limit.rlim_cur = next
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        guard limit.rlim_cur >= least else {
            throw .tooFewDescriptors(limit: Int(limit.rlim_cur), needed: Int(least))
        }
    }
}
