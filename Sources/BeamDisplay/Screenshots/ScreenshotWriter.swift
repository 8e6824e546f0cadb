import BeamMedia
import Dispatch
import Glibc
import Synchronization

/// What became of a screenshot.
public enum ScreenshotOutcome: Sendable, Hashable {
    case written(path: String, PixelSize)
    /// A sentence.
    case failed(reason: String)
}

/// Writes screenshots into the person's folder of pictures, on a thread of its own: each whole, under a name that wasn't
/// there before, and readable by its owner only, as it holds what was on a screen.
public final class ScreenshotWriter: Sendable {
    /// So many may wait for a slow disk. Each holds its picture, which may have tens of megabytes.
    static let most = 3
    /// With so many of one second the person has leaned on the key.
    private static let mostNames = 99

    private let folder: @Sendable () -> String?
    private let queue = DispatchQueue(label: "beam-screenshot", qos: .utility)
    private let group = DispatchGroup()
    private let waiting = Mutex(0)

    public convenience init() { self.init(into: { PicturesFolder.find() }) }

    /// - Parameter folder: asked for each screenshot, on the writer's thread.
    init(into folder: @escaping @Sendable () -> String?) { self.folder = folder }

    /// Writes `picture`, at once or after those before it.
    ///
    /// - Parameters:
    ///   - pointer: drawn over it.
    ///   - source: the host's name, for that of the file; may be any text.
    ///   - onDone: called on the writer's thread.
    /// - Returns: false: too many wait already, and this one isn't taken.
    public func write(
        _ picture: Picture, _ pointer: ScreenPointer = .hidden, of source: String,
        onDone: @escaping @Sendable (ScreenshotOutcome) -> Void
    ) -> Bool {
        let isTaken = waiting.withLock { waiting in
            guard waiting < Self.most else { return false }
            waiting += 1
            return true
        }
        guard isTaken else { return false }
        let name = Self.name(source, at: Self.now)
        queue.async(group: group) { [self] in
            let outcome = write(picture, pointer, as: name)
            waiting.withLock { $0 -= 1 }
            onDone(outcome)
        }
        return true
    }

    /// Waits for those that are being written, but not for ever: a disk of the network may hang.
    public func finish() { _ = group.wait(timeout: .now() + 5) }

    // MARK: Names

    private static var now: tm {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return parts
    }

    /// `BeamRoom desk 2026-11-27 14-05-09`. Any file system takes it: no slash, colon, or control character, and at most
    /// 120 bytes of the source.
    static func name(_ source: String, at time: tm) -> String {
        let forbidden: Set<Character> = ["/", "\\", ":", "*", "?", "\"", "<", ">", "|", "\0"]
        let shown = VisibleText.name(source).map { forbidden.contains($0) ? "-" : $0 }
        let host = VisibleText.start(of: String(shown), bytes: 120).text
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(time.tm_year + 1900)-\(two(time.tm_mon + 1))-\(two(time.tm_mday))"
        let clock = "\(two(time.tm_hour))-\(two(time.tm_min))-\(two(time.tm_sec))"
        return (["BeamRoom"] + (host.isEmpty ? [] : [String(host)]) + [day, clock]).joined(separator: " ")
    }

    // MARK: Writing

    private func write(_ picture: Picture, _ pointer: ScreenPointer, as name: String) -> ScreenshotOutcome {
        guard let folder = folder() else {
            return .failed(reason: "The screenshot can't be saved: there is no home folder (HOME isn't set).")
        }
        func failed(_ number: CInt) -> ScreenshotOutcome {
            .failed(reason: "The screenshot can't be saved in \(folder): \(Self.words(number)).")
        }
        let part = folder + "/.beamroom-\(String(UInt64.random(in: 0...UInt64.max), radix: 36)).part"
        let file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return failed(errno) }
        var failure = PNGFile.write(picture, pointer, to: file)
        if failure == nil, fsync(file) != 0 { failure = errno }
        // Network file systems report a full disk here.
        if close(file) != 0, failure == nil, errno != EINTR { failure = errno }
        guard failure == nil else {
            unlink(part)
            return failed(failure ?? EIO)
        }
        switch Self.publish(part, in: folder, name) {
        case .success(let path): return .written(path: path, picture.size)
        case .failure(let error):
            unlink(part)
            return failed(error.number)
        }
    }

    private struct SystemError: Error { var number: CInt }

    /// Gives the complete file its name, which no other file has.
    private static func publish(_ part: String, in folder: String, _ name: String) -> Result<String, SystemError> {
        for number in 1...mostNames {
            let path = "\(folder)/\(name)\(number == 1 ? "" : " (\(number))").png"
            if link(part, path) == 0 {
                unlink(part)
                return .success(path)
            }
            switch errno {
            case EEXIST: continue
            case EPERM, EOPNOTSUPP, ENOSYS, EMLINK:
                // A file system without hard links: an empty file of that name is made first, and then replaced.
                let place = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
                if place < 0, errno == EEXIST { continue }
                guard place >= 0 else { return .failure(SystemError(number: errno)) }
                close(place)
                if rename(part, path) == 0 { return .success(path) }
                let number = errno
                unlink(path)
                return .failure(SystemError(number: number))
            default: return .failure(SystemError(number: errno))
            }
        }
        return .failure(SystemError(number: EEXIST))
    }

    private static func words(_ number: CInt) -> String {
        switch number {
        case ENOSPC, EDQUOT: "the disk is full"
        case EACCES, EPERM: "this folder can't be written"
        case EROFS: "this disk can only be read"
        case EEXIST: "there are too many of this second"
        case ENOMEM: "the memory is full"
        default: String(cString: strerror(number)).lowercased()
        }
    }
}
