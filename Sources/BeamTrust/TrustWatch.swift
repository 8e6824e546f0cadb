import BeamMedia
import Glibc
import Synchronization

/// Watches one file that is replaced as a whole, on its own thread, until it is cancelled or released.
public final class TrustWatch: Sendable {
    private let watcher: Watcher
    private let thread: StageThread

    /// - Parameters:
    ///   - reportsInitial: also call `onChange` for the state at the start.
    ///   - onChange: returns whether it succeeded. If not, it is called again each second until it does.
    init(
        directory: String, file: String, reportsInitial: Bool = false, onChange: @escaping @Sendable () -> Bool
    ) throws(TrustStoreError) {
        let watcher = try Watcher(directory: directory, file: file, reportsInitial: reportsInitial)
        self.watcher = watcher
        thread = StageThread("beam-trust") { watcher.run(onChange) }
    }

    deinit { cancel() }

    /// After this returns, `onChange` isn't called any more. If `onChange` itself calls this, that call is the last.
    public func cancel() {
        watcher.end()
        if !watcher.isCurrentThread { thread.join() }
    }
}

/// The thread's work: waits for inotify events of the directory. If inotify is unavailable (instance limit, directory
/// gone), it polls every 200 ms.
private final class Watcher: Sendable {
    private struct Stamp: Equatable {
        var device: UInt
        var inode: UInt
        var size: Int
        var modified: timespec
        var changed: timespec

        static func == (one: Stamp, other: Stamp) -> Bool {
            one.device == other.device && one.inode == other.inode && one.size == other.size
                && same(one.modified, other.modified) && same(one.changed, other.changed)
        }

        private static func same(_ one: timespec, _ other: timespec) -> Bool {
            one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec
        }
    }

    private static let pollMilliseconds: CInt = 200
    private static let retryMilliseconds: CInt = 1000

    private let directory: String
    private let file: String
    /// A pipe: writing to `wakeIn` wakes the thread, which polls `wakeOut`.
    private let wakeIn: Descriptor
    private let wakeOut: Descriptor
    private let first: Stamp?
    private let reportsInitial: Bool
    private let thread = Mutex<pthread_t?>(nil)

    init(directory: String, file: String, reportsInitial: Bool) throws(TrustStoreError) {
        self.reportsInitial = reportsInitial
        self.directory = directory
        self.file = directory + "/" + file
        var ends: [CInt] = [-1, -1]
        _ = pipe(&ends)
        guard let wakeOut = Descriptor(ends[0]), let wakeIn = Descriptor(ends[1]) else {
            throw .cannotUse(path: directory, reason: String(cString: strerror(errno)))
        }
        _ = fcntl(wakeOut.number, F_SETFD, FD_CLOEXEC)
        _ = fcntl(wakeIn.number, F_SETFD, FD_CLOEXEC)
        self.wakeOut = wakeOut
        self.wakeIn = wakeIn
        first = Self.stamp(self.file)
    }

    func end() { _ = write(wakeIn.number, [1], 1) }

    var isCurrentThread: Bool { thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false } }

    func run(_ onChange: () -> Bool) {
        thread.withLock { $0 = pthread_self() }
        defer { thread.withLock { $0 = nil } }
        var notice = DirectoryWatch(directory)
        var last = first
        var isDue = reportsInitial
        while true {
            // Read after the watch is in place, so that no change is missed in between.
            let stamp = Self.stamp(file)
            if stamp != last || isDue {
                last = stamp
                isDue = !onChange()
            }
            var waits = [
                pollfd(fd: wakeOut.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: notice?.number ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            let timeout = notice == nil ? Self.pollMilliseconds : isDue ? Self.retryMilliseconds : -1
            _ = poll(&waits, nfds_t(waits.count), timeout)
            if waits[0].revents != 0 { return }
            if notice == nil {
                notice = DirectoryWatch(directory)
            } else if waits[1].revents != 0, notice?.drain() == false {
                notice = nil
            }
        }
    }

    private static func stamp(_ path: String) -> Stamp? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return Stamp(
            device: UInt(status.st_dev), inode: UInt(status.st_ino), size: Int(status.st_size),
            modified: status.st_mtim, changed: status.st_ctim)
    }
}

/// An inotify(7) watch on a directory.
private struct DirectoryWatch: ~Copyable {
    private let descriptor: Descriptor

    var number: CInt { descriptor.number }

    /// Nil if inotify is unavailable.
    init?(_ directory: String) {
        guard let descriptor = Descriptor(inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))) else {
            return nil
        }
        let events = IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
        guard inotify_add_watch(descriptor.number, directory, UInt32(events) | UInt32(IN_ONLYDIR)) >= 0 else {
            return nil
        }
        self.descriptor = descriptor
    }

    /// Reads all pending events. False once the directory itself was moved or deleted.
    mutating func drain() -> Bool {
        let gone = UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)
        let header = MemoryLayout<inotify_event>.size
        var isHere = true
        withUnsafeTemporaryAllocation(byteCount: 8 << 10, alignment: 8) { buffer in
            while true {
                let count = read(descriptor.number, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset + header <= count {
                    let event = UnsafeRawBufferPointer(rebasing: buffer[offset...]).loadUnaligned(
                        as: inotify_event.self)
                    if event.mask & gone != 0 { isHere = false }
                    offset += header + Int(event.len)
                }
            }
        }
        return isHere
    }
}
