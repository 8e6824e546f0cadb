/// Text as it goes into a page.
enum HTML {
    /// Nothing in `text` is taken for markup, in an attribute neither; control characters are left out.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case _ where scalar.value < 32 && scalar != "\n" && scalar != "\t" || scalar.value == 127: continue
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
