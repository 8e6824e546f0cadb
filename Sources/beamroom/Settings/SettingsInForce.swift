/// Which settings of a file are in force for a command: the command line's options stand above a profile, a profile above
/// the command's own table.
struct SettingsInForce {
    let path: String
    let command: SettingsCommand
    /// One for each option at most. What the command line says isn't among them.
    private(set) var settings: [Setting] = []
    /// About the dialog of a Wayland desktop, where none is asked: they are for another session, and do nothing here.
    private(set) var idle: [Setting] = []
    /// What the profile leaves out of the command's table, and doesn't set itself.
    let unset: [Unset]

    /// - Parameters:
    ///   - given: the command line, which takes the place of the file's settings; nil: of no start in particular.
    ///   - isInWaylandSession: of the start.
    init(
        _ book: SettingsBook, _ command: SettingsCommand, profile: String?, given: GivenArguments? = nil,
        isInWaylandSession: Bool = false
    ) throws(SettingsError) {
        path = book.path
        self.command = command
        var layers = [SettingsBook.Layer(settings: book.chapters[command.name]?.settings ?? [])]
        if let profile { layers.insert(try book.profile(profile, of: command.name), at: 0) }
        let left = Set(given?.unset ?? [])
        var taken = command.replaced(by: given?.names ?? []).union(left)
        var turnedOff = left
        for layer in layers {
            let heard = layer.settings.filter { !taken.contains($0.name) }
            turnedOff.formUnion(heard.filter(\.isTurnedOff).map(\.name))
            // What details a flag or a list (--web-port) means nothing without it.
            let details = turnedOff.filter(command.hasDetails).map { $0 + "-" }
            let found = heard.filter { setting in !details.contains { setting.name.hasPrefix($0) } }
            settings += found
            taken.formUnion(command.replaced(by: Set(found.map(\.name))))
            let unset = layer.unset.map(\.name)
            taken.formUnion(unset)
            turnedOff.formUnion(unset)
        }
        let set = Set(settings.map(\.name))
        unset = layers.flatMap(\.unset).filter { !set.contains($0.name) }
        guard let given else { return }
        if !given.lists.isEmpty { keepForList(given, source: layers.lazy.compactMap { $0.value(of: "source") }.first) }
        if !asksDesktop(given, isInWaylandSession) { setDialogAside() }
    }

    /// Monitors, windows and sound devices are listed whatever the file says. Of that only the display is used, and whether
    /// its monitors are those of wlroots.
    ///
    /// - Parameter source: the file's.
    private mutating func keepForList(_ given: GivenArguments, source: String?) {
        let isWlrInFile = source == "wlr"
        // Windows are listed of X11 only.
        let isWlr = given.source.map { $0 == "wlr" } ?? (isWlrInFile && given.lists == ["list-monitors"])
        settings = settings.filter { setting in
            switch setting.name {
            case "source": isWlr
            // The other kind of display has another name.
            case "display": given.lists != ["list-audio"] && isWlr == isWlrInFile
            default: false
            }
        }
    }

    /// Whether --source auto means the dialog of a Wayland desktop; true of another source, which is the options' to judge.
    private func asksDesktop(_ given: GivenArguments, _ isInWaylandSession: Bool) -> Bool {
        let source = given.source ?? settings.first { $0.name == "source" }?.values.first ?? "auto"
        let names = given.names.union(settings.filter { !$0.isTurnedOff }.map(\.name))
        return source != "auto" || isInWaylandSession && names.isDisjoint(with: CaptureOptions.namesOfX11)
    }

    private mutating func setDialogAside() {
        idle = settings.filter { CaptureOptions.namesOfDialog.contains($0.name) }
        settings.removeAll { CaptureOptions.namesOfDialog.contains($0.name) }
    }

    /// As the parser takes them: options first, and what has no name behind all the rest.
    func arguments(before rest: [String], hasTerminator: Bool) -> [String] {
        let unnamed = settings.filter { $0.option.kind == .positional }.flatMap(\.values)
        return settings.flatMap(\.arguments) + rest + (unnamed.isEmpty || hasTerminator ? [] : ["--"]) + unnamed
    }

    /// A command line on which the parser judges the values of `idle`; nil: there are none.
    var argumentsOfIdle: [String]? {
        idle.isEmpty ? nil : [command.name, "--source=portal"] + idle.flatMap(\.arguments)
    }
}

extension Setting {
    /// As options; empty for what has no name.
    fileprivate var arguments: [String] {
        switch option.kind {
        case .flag: isTurnedOff ? [] : ["--\(name)"]
        // The parser takes `--name=` for a value that is missing.
        case .option: values.flatMap { $0.isEmpty ? ["--\(name)", ""] : ["--\(name)=\($0)"] }
        case .positional: []
        }
    }
}
