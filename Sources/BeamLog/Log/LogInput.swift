import BeamMedia
import BeamWire

/// What a session needs to take part in a room.
public struct LogOptions: Sendable {
    public var signing: LogSigning
    /// Shown beside what this device writes.
    public var name: String
    /// A host takes the notes of its viewers.
    public var takesNotes: Bool

    public init(signing: LogSigning, name: String, takesNotes: Bool = true) {
        self.signing = signing
        self.name = name
        self.takesNotes = takesNotes
    }
}

/// What this device writes. What can't be written is answered by `LogEvent.unwritten` or `.undelivered`.
public enum LogInput: Sendable, Hashable {
    public enum Recipient: Sendable, Hashable {
        case all
        /// A member's name, or its key in hexadecimal digits.
        case named(String)
    }

    case caption(text: String, speaker: String?)
    /// What is just being said; an empty text: nothing any more.
    case partial(text: String, speaker: String?)
    case note(String)
    case alert(LogAlert)
    /// `json` is a valid JSON text in UTF-8 without line ends.
    case message(id: String, json: [UInt8], to: Recipient)
}

extension LogExchange {
    package mutating func handle(_ input: LogInput, now: MediaTime) {
        switch input {
        case .caption(let text, let speaker): attempt(.caption(text: text, speaker: speaker), now: now)
        case .partial(let text, let speaker): speak(text, speaker: speaker, now: now)
        case .note(let text): attempt(.note(text), now: now)
        case .alert(let alert): attempt(.alert(alert), now: now)
        case .message(let id, let json, let recipient):
            do throws(LogFailure) {
                try say(.message(id: id, json: json), to: try device(of: recipient), now: now)
            } catch {
                outputs.append(.event(.undelivered(id: id, reason: error)))
            }
        }
    }

    /// Answers `input`, which nobody here takes.
    package mutating func refuse(_ input: LogInput) {
        switch input {
        case .caption(let text, let speaker):
            outputs.append(.event(.unwritten(.caption(text: text, speaker: speaker), reason: .notOffered)))
        case .note(let text): outputs.append(.event(.unwritten(.note(text), reason: .notOffered)))
        case .message(let id, _, _): outputs.append(.event(.undelivered(id: id, reason: .notOffered)))
        case .partial, .alert: break
        }
    }

    func device(of recipient: LogInput.Recipient) throws(LogFailure) -> DeviceKey? {
        guard case .named(let name) = recipient else { return nil }
        guard let device = device(called: name) else { throw .nobody }
        return device
    }

    private mutating func attempt(_ content: LogContent, now: MediaTime) {
        do throws(LogFailure) {
            try say(content, now: now)
        } catch {
            outputs.append(.event(.unwritten(content, reason: error)))
        }
    }
}
