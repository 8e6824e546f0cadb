import BeamMedia
import Glibc
import Synchronization
import Testing

@testable import BeamTerminal

/// F_SETPIPE_SZ (fcntl(2)), which Swift can't import.
private let setPipeSize: CInt = 1031

/// Lines that a thread of its own writes.
struct QueuedOutputTests {
    private func pipe() throws -> (read: CInt, write: CInt) {
        // As the program does: a reader that goes must not end the process.
        signal(SIGPIPE, SIG_IGN)
        var ends: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private func readAll(_ descriptor: CInt) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    private func makeOutput(_ descriptor: CInt, limit: Int = 4096) -> QueuedOutput {
        QueuedOutput(descriptor, limit: limit) { Array("[\($0) missing]\n".utf8) }
    }

    @Test func everythingIsWrittenInOrder() throws {
        let (read, write) = try pipe()
        let output = makeOutput(write, limit: 1 << 20)
        for index in 0..<1000 { output.add(Array("line \(index)\n".utf8)) }
        #expect(output.close())
        Glibc.close(write)
        #expect(readAll(read) == (0..<1000).map { "line \($0)\n" }.joined())
        Glibc.close(read)
    }

    @Test func withoutAReaderTheOldestLinesAreDroppedAndCounted() throws {
        let (read, write) = try pipe()
        // The smallest pipe is one page.
        let capacity = Int(fcntl(write, setPipeSize, 4096))
        // The queue holds more than the pipe, so that the writer blocks even if it starts only when all lines are
        // queued.
        let output = makeOutput(write, limit: 8192)
        let line = String(repeating: "x", count: 99)
        for index in 0..<1000 { output.add(Array("\(index) \(line)\n".utf8)) }
        #expect(!output.flush(), "a flush fails while nobody reads")
        // What can still be read: the pipe's content, the line being written, and the queue.
        let reader = Reader(read)
        #expect(output.close())
        Glibc.close(write)
        let lines = reader.finish().split(separator: "\n").map(String.init)
        let notices = lines.filter { $0.hasSuffix(" missing]") }
        let missing = notices.compactMap { Int($0.dropFirst().prefix { $0 != " " }) }.reduce(0, +)
        #expect(missing + lines.count - notices.count == 1000)
        #expect(missing >= 1000 - (capacity + 8192 + 8192) / 100)
        #expect(lines.last?.hasPrefix("999 ") == true, "the newest line is kept")
    }

    @Test func aFailingDescriptorLosesItsLinesOnly() throws {
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        let output = makeOutput(full)
        for _ in 0..<10 { output.add(Array("lost\n".utf8)) }
        #expect(output.close(), "closing doesn't wait")
        Glibc.close(full)
    }

    @Test func aFullNonBlockingDescriptorIsWaitedFor() throws {
        let (read, write) = try pipe()
        _ = fcntl(write, F_SETFL, O_NONBLOCK)
        _ = fcntl(write, setPipeSize, 4096)
        let output = makeOutput(write, limit: 1 << 20)
        let text = String(repeating: "y", count: 999) + "\n"
        for _ in 0..<200 { output.add(Array(text.utf8)) }
        let reader = Reader(read)
        #expect(output.close())
        Glibc.close(write)
        #expect(reader.finish() == String(repeating: text, count: 200))
    }

    @Test func theLiveLineStaysBelowTheOthers() throws {
        let (read, write) = try pipe()
        let output = makeOutput(write)
        output.setLive([Array("30 frames".utf8)])
        #expect(output.flush())
        output.add(Array("hello\n".utf8))
        #expect(output.flush())
        output.setLive([])
        #expect(output.close())
        Glibc.close(write)
        #expect(readAll(read) == "30 frames\r\u{1B}[Khello\n30 frames\r\u{1B}[K")
        Glibc.close(read)
    }

    @Test func severalLiveLinesAreErasedFromTheLastOneUp() throws {
        let (read, write) = try pipe()
        let output = makeOutput(write)
        output.setLive([Array("one".utf8), Array("two".utf8), Array("three".utf8)])
        #expect(output.flush())
        output.add(Array("hello\n".utf8))
        output.setLive([Array("four".utf8)])
        #expect(output.close())
        Glibc.close(write)
        let up = "\u{1B}[A\u{1B}[K"
        let text = readAll(read)
        // The writing thread may have run between the two calls, or not.
        #expect(text.hasPrefix("one\ntwo\nthree\r\u{1B}[K\(up)\(up)hello\n"))
        #expect(text.hasSuffix("four"))
        Glibc.close(read)
    }
}

/// Reads a descriptor to its end on a thread of its own, and closes it.
private final class Reader: Sendable {
    private final class Received: Sendable {
        let bytes = Mutex<[UInt8]>([])
    }

    private let received: Received
    private let thread: StageThread

    init(_ descriptor: CInt) {
        let received = Received()
        self.received = received
        thread = StageThread("reader") {
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                received.bytes.withLock { $0 += buffer[..<count] }
            }
            close(descriptor)
        }
    }

    func finish() -> String {
        thread.join()
        return received.bytes.withLock { String(decoding: $0, as: UTF8.self) }
    }
}
