import BeamMeasure
import Foundation
import Glibc

/// The directory with results and report. Used by one thread.
final class MeasureOutput {
    let resultsPath: String
    let reportPath: String
    private let directory: String
    private let descriptor: CInt

    /// In the working directory.
    static var defaultDirectory: String {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, "measure-%Y%m%d-%H%M%S", &parts)
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Makes the directory and an empty results.jsonl, to find out before measuring whether that is possible.
    ///
    /// - Throws: `file`.
    init(_ directory: String) throws(MeasureError) {
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw .file(path: directory, reason: "this directory can't be made. Name another one with -o")
        }
        self.directory = directory
        resultsPath = directory + "/results.jsonl"
        reportPath = directory + "/report.html"
        guard access(reportPath, F_OK) != 0 else {
            throw .file(path: reportPath, reason: "there is a report already. Name another directory with -o")
        }
        descriptor = open(resultsPath, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw .file(
                path: resultsPath,
                reason: errno == EEXIST
                    ? "there are results already. Name another directory with -o"
                    : "it can't be written (\(String(cString: strerror(errno)))). Name another directory with -o")
        }
    }

    deinit { close(descriptor) }

    /// Removes what `init` has made; the directory only if it is empty then.
    func discard() {
        unlink(resultsPath)
        rmdir(directory)
    }

    /// Appends a line with one write(2).
    func append(_ record: MeasureRecord) throws(MeasureError) {
        let bytes = Array((ResultsFile.line(record) + "\n").utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw .file(path: resultsPath, reason: "it can't be written (\(String(cString: strerror(errno))))")
        }
    }

    func write(report: String) throws(MeasureError) {
        do {
            try Data(report.utf8).write(to: URL(fileURLWithPath: reportPath))
        } catch {
            throw .file(path: reportPath, reason: "the report can't be written; the figures are in \(resultsPath)")
        }
    }

    /// - Throws: `nothingInCommon`.
    static func checkCommonCells(
        _ cells: [MeasureCell], _ old: [MeasureRecord], path: String
    ) throws(MeasureError) {
        let theirs = CellResults.grouped(old).map(\.cell)
        let ours = cells.map(\.name)
        guard ours.contains(where: theirs.contains) else {
            throw .nothingInCommon(path: path, theirs: theirs, ours: ours)
        }
    }
}

/// A temporary directory for named pipes and the processes' keys. The caller removes it.
struct ScratchDirectory {
    let path: String

    init() throws(MeasureError) {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array((parent + "/beamroom-measure-XXXXXX").utf8CString)
        // Only its owner may enter it.
        guard mkdtemp(&template) != nil else {
            throw .file(
                path: parent,
                reason: "no directory can be made in it (\(String(cString: strerror(errno)))). Set another TMPDIR")
        }
        path = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// A file that only its owner can read.
    func write(_ text: String, to name: String) throws(MeasureError) -> String {
        let file = path + "/" + name
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file(path: file, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw .file(path: file, reason: String(cString: strerror(errno)))
        }
        return file
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
