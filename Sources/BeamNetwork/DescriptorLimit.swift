import Glibc

/// The process's limit of open files and sockets.
public enum DescriptorLimit {
    /// More descriptors than a host with all its connections needs.
    private static let wanted: rlim_t = 4096

    /// Raises the soft limit as far as the hard one allows. If that is too little, accepting pauses when descriptors
    /// run out.
    static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let next = min(wanted, limit.rlim_max)
        guard limit.rlim_cur < next else { return }
        limit.rlim_cur = next
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// What a host or a viewer opens until its first picture; some 25 were counted.
    private static let needed = 32

    /// Raises the limit, and checks that it is enough to start: without a descriptor for its loop, NIO ends the process.
    ///
    /// - Throws: `tooFewDescriptors`.
    public static func prepare() throws(NetworkError) {
        raise()
        var opened: [CInt] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                // Without /dev/null nothing is known.
                guard errno == EMFILE || errno == ENFILE else { return }
                throw .tooFewDescriptors(free: opened.count, needed: needed)
            }
            opened.append(descriptor)
        }
    }
}
