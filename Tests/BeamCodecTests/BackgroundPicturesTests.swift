import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCodec

/// Pictures into a pipe whose reader stops and goes on.
@Suite struct BackgroundPicturesTests {
    private final class Told: Sendable {
        let files = Mutex<[String]>([])
        let behind = Mutex(0)
        let leftOut = Mutex<[Int]>([])
        let failures = Mutex<[CodecError]>([])

        var handlers: BackgroundPictures.Handlers {
            BackgroundPictures.Handlers(
                onFile: { path, _ in self.files.withLock { $0.append(path) } },
                onBehind: { _ in self.behind.withLock { $0 += 1 } },
                onCaughtUp: { _, count in self.leftOut.withLock { $0.append(count) } },
                onFailure: { _, error in self.failures.withLock { $0.append(error) } })
        }
    }

    private final class Box: Sendable {
        let bytes = Mutex<[UInt8]>([])
    }

    /// A pipe of 4096 bytes with a reader, and its path.
    private static func pipe(in directory: TemporaryDirectory) throws -> (path: String, reader: CInt) {
        // As the program does: a reader that goes must not end the process.
        signal(SIGPIPE, SIG_IGN)
        let path = directory.file("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        // F_SETPIPE_SZ, which Swift can't import.
        try #require(reader >= 0 && fcntl(reader, 1031, 4096) == 4096)
        return (path, reader)
    }

    private static func picture(_ value: UInt8, size: PixelSize = PixelSize(width: 64, height: 64)) -> Picture {
        let buffer = PixelBuffer(format: .i420, size: size)
        buffer.fill(value, 128, 128)
        return Picture(buffer: buffer, time: .zero)
    }

    @Test func aPipeThatNobodyReadsLeavesPicturesOutAndBlocksNobody() async throws {
        let directory = try TemporaryDirectory()
        let (path, reader) = try Self.pipe(in: directory)
        let told = Told()
        let pictures = try BackgroundPictures(path: path, frameRate: 30, handlers: told.handlers)
        pictures.start()
        // Each is more than a megabyte, which the writer doesn't buffer: the first one blocks it.
        let size = PixelSize(width: 1024, height: 768)
        let frameBytes = 6 + size.width * size.height * 3 / 2
        let header = Array("YUV4MPEG2 W1024 H768 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\n".utf8)
        let count = 2 * BackgroundPictures.mostPictures
        for number in 0..<count { pictures.push(Self.picture(UInt8(number), size: size)) }
        #expect(told.behind.withLock { $0 } == 1 && told.leftOut.withLock(\.isEmpty))

        _ = fcntl(reader, F_SETFL, 0)
        let copy = Box()
        let copier = StageThread("copier") {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(reader, &buffer, buffer.count)
                guard count > 0 else { break }
                copy.bytes.withLock { $0 += buffer[..<count] }
            }
        }
        try await eventually { !told.leftOut.withLock(\.isEmpty) }
        // Written to the end, those after the gap, too.
        pictures.push(Self.picture(250, size: size))
        pictures.stop()
        copier.join()
        close(reader)
        let bytes = copy.bytes.withLock { $0 }
        let leftOut = told.leftOut.withLock { $0.reduce(0, +) }
        #expect(leftOut > 0 && told.failures.withLock(\.isEmpty) && told.files.withLock { $0 } == [path])
        #expect(bytes.count == header.count + (count + 1 - leftOut) * frameBytes)
        #expect(bytes.starts(with: header))
        // The last picture is whole.
        #expect(bytes.suffix(frameBytes).starts(with: Array("FRAME\n".utf8) + [250, 250]))
    }

    @Test func theEndWaitsForNoReaderThatHasStopped() async throws {
        let directory = try TemporaryDirectory()
        let (path, reader) = try Self.pipe(in: directory)
        defer { close(reader) }
        let told = Told()
        let pictures = try BackgroundPictures(
            path: path, frameRate: 30, patience: .milliseconds(200), handlers: told.handlers)
        pictures.start()
        for number in 0..<3 { pictures.push(Self.picture(UInt8(number))) }
        try await eventually { !told.files.withLock(\.isEmpty) }
        pictures.stop()
        guard case .cannotWriteFile(path, _)? = told.failures.withLock(\.first) else {
            Issue.record("the failure isn't reported")
            return
        }
        // Nothing is taken any more, and nothing reported.
        pictures.push(Self.picture(0))
        #expect(told.behind.withLock { $0 } == 0 && told.failures.withLock(\.count) == 1)
    }

    @Test func aFileThatNothingWasWrittenIntoIsRemoved() throws {
        let directory = try TemporaryDirectory()
        for isStarted in [false, true] {
            let pictures = try BackgroundPictures(
                path: directory.file("a.y4m"), frameRate: 30, handlers: Told().handlers)
            #expect(FileManager.default.fileExists(atPath: directory.file("a.y4m")))
            if isStarted { pictures.start() }
            pictures.stop()
            #expect(!FileManager.default.fileExists(atPath: directory.file("a.y4m")))
        }
    }
}
