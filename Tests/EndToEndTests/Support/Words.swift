import BeamMedia
import Foundation

/// A named pipe, and the end that captions are written to.
final class CaptionPipe: Sendable {
    let path: String
    private let directory: ScratchDirectory
    private let descriptor = Monitor<Int32>(-1)

    init() throws {
        directory = try ScratchDirectory()
        path = directory.file("captions")
        guard mkfifo(path, 0o600) == 0 else { throw HarnessError.system("making a pipe") }
    }

    deinit { close() }

    /// Writes as it is; opens the pipe the first time, which waits for its reader.
    func write(_ text: String) throws {
        let bytes = Array(text.utf8)
        try descriptor.withLock { descriptor in
            if descriptor < 0 { descriptor = open(path, O_WRONLY | O_CLOEXEC) }
            guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
                throw HarnessError.system("writing captions")
            }
        }
    }

    func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }
}

extension ProgramProcess {
    /// The texts of the final captions, in the order of their events.
    var captions: [String] { roomEvents("caption").filter { $0.fields["partial"] == .bool(false) }.map(\.text) }
    var notes: [Event] { roomEvents("note") }

    /// Events of one name. The other lines aren't decoded, because there may be thousands.
    func roomEvents(_ name: String) -> [Event] {
        let mark = "\"event\":\"\(name)\""
        return process.state.current.output.filter { $0.contains(mark) }.compactMap(Event.init(line:))
            .filter { $0.name == name }
    }

    /// Lines on standard output of one event, as they are.
    func rawLines(_ name: String) -> [String] {
        process.state.current.output.filter { $0.contains("\"event\":\"\(name)\"") }
    }

    /// Writes a line that a program writes.
    func write(_ line: String) { process.type(line) }

    /// Waits until it has `count` final captions.
    func waitForCaptions(_ count: Int, timeout: Double = 30) throws {
        let mark = "\"event\":\"caption\""
        let isThere = process.state.wait(timeout: timeout) { state in
            state.output.count { $0.contains(mark) && $0.contains("\"partial\":false") } >= count ? true : nil
        }
        guard isThere == true else {
            throw HarnessError("\(captions.count) of \(count) captions within \(timeout.short) s\n\(errorText)")
        }
    }
}

extension Event {
    var text: String { string("text") ?? "" }
}

extension JSONValue {
    /// As one line, for standard input.
    var line: String { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "" }
}
