/// Joins an option and a negative number: the parser takes `-1` for another option, and would say that the value is
/// missing. Joined (`--time-limit=-1`), the option itself says what it takes.
enum NegativeValues {
    static func joined(_ arguments: [String]) -> [String] {
        var joined: [String] = []
        var isAfterOptions = false
        for argument in arguments {
            if let option = joined.last, !isAfterOptions, isNumber(argument), takesMore(option) {
                joined[joined.count - 1] = "\(option)=\(argument)"
            } else {
                joined.append(argument)
            }
            if argument == "--" { isAfterOptions = true }
        }
        return joined
    }

    /// `-1`, `-0.5`, `-8M`, `-.5`: no option begins like that.
    private static func isNumber(_ text: String) -> Bool {
        guard text.hasPrefix("-") else { return false }
        let digits = text.dropFirst()
        let first = digits.first == "." ? digits.dropFirst().first : digits.first
        return first.map { $0.isASCII && $0.isNumber } ?? false
    }

    /// `--name` or `-n`, without a value.
    private static func takesMore(_ option: String) -> Bool {
        option.hasPrefix("-") && option != "-" && option != "--" && !option.contains("=") && !isNumber(option)
            && (option.hasPrefix("--") || option.count == 2)
    }
}
