/// HTML escaping.
enum HTML {
    /// Escapes markup for text and attributes, and drops control characters.
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
