import Foundation
import Synchronization

/// A program that runs beside the test; ended in `deinit`.
///
/// Foundation's `Process` takes a program for ended as soon as it closes inherited descriptors, which PulseAudio does,
/// and then waits for it in vain.
final class ChildProcess: Sendable {
    private let identifier: pid_t
    /// The program hasn't been waited for.
    private let isPresent = Mutex(true)
    /// What the program prints; nil if nobody asked for it.
    let output: FileHandle?

    /// Throws if the program can't be started.
    init(_ path: String, _ arguments: [String], environment: [String: String], keepsOutput: Bool = false) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor: CInt in 0...2 {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var ends: [CInt] = [-1, -1]
        if keepsOutput {
            let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        }
        output = keepsOutput ? FileHandle(fileDescriptor: ends[0], closeOnDealloc: true) : nil
        // The thread's mask would be inherited, and may hold back SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var identifier: pid_t = 0
        let error = posix_spawn(&identifier, path, &actions, &attributes, &words, &variables)
        if keepsOutput { close(ends[1]) }
        guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .ENOENT) }
        self.identifier = identifier
    }

    deinit { kill() }

    func signal(_ number: CInt) {
        isPresent.withLock { if $0 { _ = Glibc.kill(identifier, number) } }
    }

    /// Ends the program as a crash does, and waits for that.
    func kill() {
        signal(SIGKILL)
        wait()
    }

    /// Waits for the program's end; true if it succeeded.
    @discardableResult func wait() -> Bool {
        isPresent.withLock { isPresent in
            guard isPresent else { return false }
            isPresent = false
            var status: CInt = -1
            while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
            return status == 0
        }
    }
}
