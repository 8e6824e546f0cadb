import BeamMedia
import Foundation

/// A line of a captioner's output.
enum CaptionLine: Equatable {
    case partial(String, speaker: String?)
    case final(String, speaker: String?)
    /// Nothing to be shown.
    case empty
    /// The end of a sentence “line 5 is left out: …”.
    case bad(String)

    /// In bytes of UTF-8. Bytes that aren't UTF-8 make a text longer than its line.
    static let longestText = 64 << 10
    /// In characters.
    static let longestSpeaker = 64

    static let tooLong = "it is longer than 64 KiB"

    /// Reads a line: a JSON object, or text, which is final. Bytes that aren't UTF-8 become U+FFFD.
    init(_ bytes: [UInt8]) {
        var bytes = bytes[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        bytes = bytes.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let text = String(decoding: bytes, as: UTF8.self)
        if bytes.first == UInt8(ascii: "{") {
            self.init(json: text)
        } else {
            self.init(text: text, speaker: nil, isFinal: true)
        }
    }

    private init(json: String) {
        guard let object = try? JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)).object else {
            self = .bad("it begins with { but isn't a JSON object")
            return
        }
        let speaker = object["speaker"] ?? .null
        guard speaker == .null || speaker.string != nil else {
            self = .bad("“speaker” isn't a text")
            return
        }
        switch (object["partial"], object["final"]) {
        case (nil, nil): self = .bad("it has neither “partial” nor “final”")
        case (_?, _?): self = .bad("it has both “partial” and “final”")
        case (let value, nil), (nil, let value):
            guard let text = value?.string else {
                self = .bad("“\(object["final"] == nil ? "partial" : "final")” isn't a text")
                return
            }
            self.init(
                text: EscapeFilter.plain(text), speaker: speaker.string.map { EscapeFilter.plain($0) },
                isFinal: object["final"] != nil)
            // The captioner takes back what it believed to hear.
            if self == .empty { self = .partial("", speaker: Self.name(speaker.string)) }
        }
    }

    private init(text: String, speaker: String?, isFinal: Bool) {
        let text = ShownText.lines(text)
        guard !text.isEmpty else {
            self = .empty
            return
        }
        guard text.utf8.count <= Self.longestText else {
            self = .bad(Self.tooLong)
            return
        }
        let speaker = Self.name(speaker)
        self = isFinal ? .final(text, speaker: speaker) : .partial(text, speaker: speaker)
    }

    private static func name(_ speaker: String?) -> String? {
        guard let name = speaker.map(ShownText.line), !name.isEmpty else { return nil }
        return name.count > longestSpeaker ? name.prefix(longestSpeaker - 1) + "…" : name
    }
}
