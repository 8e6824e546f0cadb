import BeamMedia
import BeamWire

extension LogAlert {
    /// For the person who watches, with the host's name.
    public func words(host: String) -> String {
        switch self {
        case .paused: "“\(host)” has paused: the last picture stays."
        case .resumed: "“\(host)” has resumed."
        case .locked: "The screen of “\(host)” is locked."
        case .unlocked: "The screen of “\(host)” is unlocked."
        case .batteryLow(let percent): "The battery of “\(host)” is at \(percent) % and isn't charging."
        case .batteryFine: "The battery of “\(host)” is no longer low."
        case .leaving: "“\(host)” has ended its share."
        }
    }
}

extension LogPartial {
    /// As `TranscriptLine.voice` of a caption; nil if the captioner told no speaker.
    public func voice(author: String) -> String? {
        speaker.map { TranscriptLine.voice(of: PeerText.name($0), author: PeerText.name(author), isClaim: isClaim) }
    }
}

extension LogLine {
    /// As transcripts show it, without characters that would change a window, a file or a terminal; nil if nothing of it
    /// is to be shown.
    public var transcriptLine: TranscriptLine? {
        let author = PeerText.name(name)
        func line(_ kind: TranscriptLine.Kind, _ text: String, speaker: String? = nil) -> TranscriptLine? {
            let text = ShownText.lines(text)
            return text.isEmpty
                ? nil
                : TranscriptLine(
                    kind: kind, author: author, speaker: speaker, isClaim: isClaim, text: text, time: time)
        }
        switch content {
        case .caption(let text, let speaker): return line(.caption, text, speaker: speaker.map { PeerText.name($0) })
        case .note(let text): return line(.note, text)
        case .alert(let alert):
            return isKeepers ? line(.alert, alert.words(host: author)) : nil
        case .shareBegan, .shareEnded, .message, .member: return nil
        }
    }
}
