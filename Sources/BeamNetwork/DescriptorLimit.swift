import BeamSockets
import Glibc

/// The process's limit of open files and sockets.
public enum DescriptorLimit {
    /// What a host or a viewer opens until its first picture; some 25 were counted.
    private static let needed = 32

    /// Raises the limit, and checks that it is enough to start: without a descriptor for its loop, NIO ends the process.
    ///
    /// - Throws: `tooFewDescriptors`.
    public static func prepare() throws(NetworkError) {
        OpenFiles.raiseLimit()
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
