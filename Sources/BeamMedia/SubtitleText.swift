/// A line of a transcript as a subtitle.
extension TranscriptLine {
    /// How long a subtitle with `text` is shown, unless another one follows: time to read it at 15 characters a second
    /// (the usual rate of subtitles for adults), at least 1.5 s and at most 7 s.
    public static func readingTime(of text: String) -> Duration {
        .milliseconds(min(max(text.count * 1000 / 15, 1500), 7000))
    }

    /// The text as a subtitle, after `ShownText`, with the name of the speaker if the captioner told it. A note has
    /// the name of the machine that it came from; an alert's text names it. Empty if nothing can be shown.
    public var subtitle: String {
        let text = ShownText.lines(self.text)
        let name: String? =
            switch kind {
            case .caption: speaker == nil ? nil : voice
            case .note, .alert: voice
            }
        guard let name, !name.isEmpty, !text.isEmpty else { return text }
        return "\(name): \(text)"
    }
}

/// SubRip, which has no specification and no way to quote: players take some texts as styles, positions or times.
public enum SubRip {
    /// `text`, cleaned by `ShownText`, so that a reader shows it as it is: an arrow of times becomes `→`, the `<` of what
    /// may be a style becomes `‹`, and `{\an8}` or `{c:…}` gets a blank.
    public static func payload(_ text: String) -> String {
        let text = ShownText.lines(text)
        // Nearly all texts.
        guard text.unicodeScalars.contains(where: { $0 == "<" || $0 == ">" || $0 == "{" }) else { return text }
        let scalars = Array(text.unicodeScalars)
        // From the end, to know which bracket comes next.
        var nextBracket: Unicode.Scalar?
        var reversed: [Unicode.Scalar] = []
        for (index, scalar) in scalars.enumerated().reversed() {
            switch scalar {
            case "<": reversed.append(nextBracket == ">" ? "‹" : "<")
            case "{" where beginsCode(scalars[(index + 1)...]): reversed.append(contentsOf: [" ", "{"])
            default: reversed.append(scalar)
            }
            if scalar == "<" || scalar == ">" { nextBracket = scalar }
        }
        var result = String.UnicodeScalarView()
        for scalar in reversed.reversed() {
            if scalar == ">", result.suffix(2).elementsEqual(["-", "-"]) {
                result.removeLast(2)
                result.append("→")
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// What follows a brace makes it an override of SubStation Alpha, or a code of MicroDVD.
    private static func beginsCode(_ text: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = text.first else { return false }
        return first == "\\" || (first.properties.isAlphabetic && text.dropFirst().first == ":")
    }
}
