import Foundation
import Glibc

/// `results.jsonl`: one record per line.
public enum ResultsFile {
    /// In bytes; a typical line has about 2,000.
    static let maxLineBytes = 1 << 20
    static let maxFileBytes = 256 << 20

    /// The line for `record`, without a newline.
    public static func line(_ record: MeasureRecord) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding can't fail, because all numbers in a record are finite.
        return (try? encoder.encode(record)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Reads all records from the file at `path`.
    ///
    public static func read(_ path: String) throws(MeasureError) -> [MeasureRecord] {
        try records(in: contents(path), path: path)
    }

    private static func contents(_ path: String) throws(MeasureError) -> Data {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .file(path: path, reason: SystemError.message(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .file(path: path, reason: "it isn't a file. Name a results.jsonl that `beamroom measure` wrote")
        }
        guard status.st_size <= maxFileBytes else {
            throw .file(path: path, reason: "it is too long for a results.jsonl")
        }
        do {
            return try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw .file(path: path, reason: SystemError.message(access(path, R_OK) == 0 ? EIO : errno))
        }
    }

    static func records(in data: Data, path: String) throws(MeasureError) -> [MeasureRecord] {
        var records: [MeasureRecord] = []
        let decoder = JSONDecoder()
        for (index, line) in data.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
            func bad(_ reason: String) -> MeasureError { .badResults(path: path, line: index + 1, reason: reason) }
            guard line.contains(where: { $0 != 0x20 && $0 != 0x0d && $0 != 0x09 }) else { continue }
            guard line.count <= maxLineBytes else { throw bad("it is too long") }
            let record: MeasureRecord
            do {
                let version = try decoder.decode(Version.self, from: line)
                guard version.format == MeasureRecord.currentFormat else {
                    throw bad(
                        "it is of format \(version.format), and this program reads \(MeasureRecord.currentFormat)")
                }
                record = try decoder.decode(MeasureRecord.self, from: line)
            } catch let error as MeasureError {
                throw error
            } catch {
                throw bad(reason(error))
            }
            if let problem = record.problem { throw bad(problem) }
            records.append(record)
        }
        guard !records.isEmpty else { throw .noResults(path: path) }
        return records
    }

    private struct Version: Decodable {
        var format: Int
    }

    /// Describes what is wrong with a line.
    private static func reason(_ error: any Error) -> String {
        func name(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
        return switch error as? DecodingError {
        case .keyNotFound(let key, let context)?: "“\(name(context.codingPath + [key]))” is missing"
        case .typeMismatch(_, let context)? where !context.codingPath.isEmpty,
            .valueNotFound(_, let context)? where !context.codingPath.isEmpty,
            .dataCorrupted(let context)? where !context.codingPath.isEmpty:
            "“\(name(context.codingPath))” isn't what it should be"
        default: "it isn't a JSON object"
        }
    }
}

/// The system's message for an `errno`, to continue a sentence.
enum SystemError {
    static func message(_ code: CInt) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &text, text.count) == 0 else { return "error \(code)" }
        let words = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return words.prefix(1).lowercased() + words.dropFirst()
    }
}
