import BeamMedia

/// Writes pictures into a YUV4MPEG2 file or pipe on a thread of its own, so that neither the decoder nor a window waits
/// for a disk, or for a program that doesn't read its pipe.
///
/// Pictures wait in a bounded queue. Those that find no room are left out and counted.
public final class BackgroundPictures: Sendable {
    /// Another file begins when the pictures' size or format changes.
    public typealias Handlers = BackgroundHandlers

    /// Half a second at 30 pictures a second.
    public static let mostPictures = 16
    /// In bytes: more than five pictures of 3840 × 2160 in 4:2:0.
    public static let mostBytes = 64 << 20

    private let writer: BackgroundWriter<Y4MWriter>

    /// Creates the file, which must not exist, or opens the pipe. `path` and `frameRate` are those of `Y4MWriter`.
    ///
    /// - Throws: what `Y4MWriter.init` does.
    public convenience init(path: String, frameRate: Double, handlers: Handlers) throws(CodecError) {
        try self.init(path: path, frameRate: frameRate, patience: .seconds(5), handlers: handlers)
    }

    init(path: String, frameRate: Double, patience: Duration, handlers: Handlers) throws(CodecError) {
        writer = BackgroundWriter(
            try Y4MWriter(path: path, frameRate: frameRate),
            queue: BoundedQueue(
                capacity: Self.mostPictures, weighing: { $0.buffer.byteCount }, atMost: Self.mostBytes),
            patience: patience, handlers: handlers)
    }

    public func start() { writer.start("beam-pictures") }

    /// Queues `picture`, or leaves it out. Never waits.
    public func push(_ picture: Picture) { writer.push(picture) }

    /// Completes the file. If it takes nothing for some seconds, what waits is given up, and reported as a failure.
    public func stop() { writer.stop() }
}
