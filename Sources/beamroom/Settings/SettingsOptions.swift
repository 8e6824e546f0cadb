import ArgumentParser

/// How the file of settings is used. `GivenArguments` reads these before the others are parsed.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use this profile of the file of settings (see `beamroom config`), on top of the command's own settings.",
            valueName: "name"))
    var profile: String?
    @Option(
        help: ArgumentHelp(
            "Leave out what the file of settings says about this option, named without dashes: --unset web. Can be given several times.",
            valueName: "option"))
    var unset: [String] = []
    @Flag(help: "Leave the file of settings alone.")
    var noConfig = false

    /// Whether this argument of the command line is an option that says something about the file.
    static func isAboutFile(_ argument: String) -> Bool {
        ["--profile", "--unset"].contains { argument == $0 || argument.hasPrefix($0 + "=") }
    }

    func validate() throws {
        guard profile == nil || !noConfig else {
            throw ValidationError("--profile is in the file of settings: leave --no-config out.")
        }
    }
}
