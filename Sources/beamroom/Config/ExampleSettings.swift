import BeamTerminal

/// A file of settings to begin with: every option, and what it does, commented out. A line without a blank after its `#`
/// is a setting.
enum ExampleSettings {
    static func text(of commands: [SettingsCommand]) -> String {
        let head = """
            # Settings of beamroom: of share, watch, room and relay. Remove the # before a setting that you want; `beamroom config`
            # shows what is in force. The options of the command line stand above this file. For one start, --unset NAME
            # leaves a setting out, and --no-config the whole file.
            #
            # A profile is a table of its own, such as [share.talk], and stands above the command's table:
            # `beamroom share --profile talk` uses it. In a profile, unset = ["accept"] leaves out what the command's table sets.
            # With a code in it, this file must be yours alone (chmod 600).

            """
        return head + commands.map(section).joined()
    }

    private static func section(_ command: SettingsCommand) -> String {
        let settings = command.options.filter(\.isSetting).map { option in
            let help = TerminalText.wrapped(option.help, columns: 119).split(separator: "\n").map { "# \($0)" }
            return help.joined(separator: "\n") + "\n#\(option.name) = \(value(of: option))\n"
        }
        return "\n[\(command.name)]\n" + settings.joined()
    }

    private static func value(of option: DeclaredOption) -> String {
        if option.kind == .flag { return "true" }
        let isNumber = option.usual.map { Double($0) != nil && $0.first != "0" } ?? false
        let value =
            isNumber ? option.usual ?? "" : quoted(option.defaultText ?? option.values.first ?? option.valueName)
        return option.isList ? "[\(value)]" : value
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
