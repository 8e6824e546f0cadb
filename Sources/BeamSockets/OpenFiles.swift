import Glibc

/// The process's open files and sockets.
package enum OpenFiles {
    /// More descriptors than a host with all its connections needs.
    private static let wanted: rlim_t = 16_384

    /// Raises the soft limit as far as the hard one allows. If that is too little, accepting pauses when descriptors
    /// run out.
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let next = min(wanted, limit.rlim_max)
        guard limit.rlim_cur < next else { return }
        limit.rlim_cur = next
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
