import Foundation
import Glibc
import Logging
import Synchronization

/// Writes what swift-log's loggers say into the console's lines.
///
/// All loggers of a console have its level, so that a change of the settings reaches each of them.
struct ConsoleLog: LogHandler {
    let console: Console
    var metadata: Logger.Metadata = [:]

    init(_ console: Console) { self.console = console }

    var logLevel: Logger.Level {
        get { console.level }
        set { console.setLevel(newValue) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let facts = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        console.say("\(event.message)\(facts)", level: event.level)
    }
}

extension Logger.Level {
    /// Of a line for the person: the texts themselves say whether they warn.
    init(ofLine line: String, as flood: Flood?) {
        self = line.hasPrefix("Warning: ") ? .warning : flood?.level ?? .notice
    }

    /// Before each line for the journal, which takes it away again (sd-daemon(3)).
    var journalPrefix: String {
        switch self {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        case .critical: "<2>"
        }
    }
}

extension Flood {
    /// Who comes and goes is of note; how the stream adapts is for whoever looks for it.
    var level: Logger.Level {
        switch self {
        case .interruption, .layer, .drop, .load, .visibility, .captions, .size, .status, .slowing, .version: .info
        case .connectionRefused, .viewerRefused, .wrongCode, .violation, .warning: .warning
        case .question, .visit, .sound, .code, .note, .alert, .people, .refusal, .relay, .windowCode, .gateway, .notice:
            .notice
        }
    }
}

/// The journal of systemd.
enum Journal {
    /// Whether it reads this descriptor (systemd.exec(5), `JOURNAL_STREAM`).
    static func reads(_ descriptor: CInt) -> Bool {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        return fstat(descriptor, &status) == 0 && String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }
}
