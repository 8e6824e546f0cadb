import BeamMedia
import Glibc

/// Reads pictures of a YUV4MPEG2 stream from a named pipe that the viewer writes. Owns the descriptor; used by one
/// thread.
final class FrameReader {
    private let descriptor: CInt
    private let pool = PixelBufferPool(limit: 8)
    private(set) var header: Y4MHeader?
    private var pending: [UInt8] = []

    /// Creates a named pipe at `path` and opens it for reading without waiting for a writer.
    ///
    init(makingPipeAt path: String) throws(MeasureError) {
        guard mkfifo(path, 0o600) == 0 else { throw .file(path: path, reason: SystemError.message(errno)) }
        // A blocking open would wait for a writer, which may never come.
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(path: path, reason: SystemError.message(errno)) }
        _ = fcntl(descriptor, F_SETFL, 0)
        // 1 MiB, the default limit for unprivileged users, so that reader and writer alternate less often. 1031 is
        // F_SETPIPE_SZ, which Swift doesn't import.
        _ = fcntl(descriptor, 1031, 1 << 20)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Unblocks a reader that waits for its first writer; it sees the stream's end.
    static func release(_ path: String) {
        let writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        if writer >= 0 { close(writer) }
    }

    /// The next picture; nil at the stream's end or for an invalid stream.
    func next() -> PixelBuffer? {
        if header == nil {
            // Wait first, because read returns 0 (end of file) before the pipe has a writer.
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&entry, 1, -1) < 0, errno == EINTR {}
            guard let line = line(), let header = try? Y4MHeader(line: line) else { return nil }
            self.header = header
        }
        guard let header, line()?.hasPrefix("FRAME") == true else { return nil }
        let buffer = pool.buffer(format: header.format, size: header.size)
        for plane in 0..<header.format.planeCount {
            let (rowBytes, rows) = header.format.plane(plane, of: header.size)
            let target = buffer.planes[plane]
            if target.stride == rowBytes {
                guard fill(target.base, rowBytes * rows) else { return nil }
            } else {
                for row in 0..<rows where !fill(target.base + row * target.stride, rowBytes) { return nil }
            }
        }
        return buffer
    }

    /// Reads a line byte by byte, because the samples after it are read directly into their buffer.
    private func line() -> String? {
        pending.removeAll(keepingCapacity: true)
        var byte: UInt8 = 0
        while pending.count <= Y4MHeader.maxBytes {
            guard fill(&byte, 1) else { return nil }
            if byte == 0x0a { return String(decoding: pending, as: UTF8.self) }
            pending.append(byte)
        }
        return nil
    }

    private func fill(_ target: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        var done = 0
        while done < count {
            let got = read(descriptor, target + done, count - done)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return false }
            done += got
        }
        return true
    }
}
