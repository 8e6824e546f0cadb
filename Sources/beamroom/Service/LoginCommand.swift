/// A command that systemd can start in each of a person's graphical sessions.
enum LoginCommand: Sendable {
    case share
    case receiver

    /// As it is typed after the program's name.
    var words: String {
        switch self {
        case .share: "share"
        case .receiver: "watch --wait"
        }
    }

    /// What the unit is for, in systemd's lists.
    var purpose: String {
        switch self {
        case .share: "BeamRoom shares this screen"
        case .receiver: "BeamRoom shows the screens that are sent here"
        }
    }

    /// Units are named after the application's ID: a desktop knows the application by it, and its portal keeps a person's
    /// consent for it. What follows an @ tells several units of one application apart (systemd, "Desktop Environment
    /// Integration").
    var unitName: String {
        switch self {
        case .share: "app-\(Self.application).service"
        case .receiver: "app-\(Self.application)@receiver.service"
        }
    }

    private static let application = "org.beamroom.BeamRoom"

    /// What the unit runs of a command line: the same without `--at-login`. A receiver's has `--wait` in any case.
    ///
    /// - Parameter arguments: all of the command line after the program's name.
    func kept(of arguments: [String]) -> [String] {
        var kept: [String] = []
        var isAfter = false
        for argument in arguments {
            defer { isAfter = argument == "--at-login" }
            if argument == "--at-login" || argument.hasPrefix("--at-login=") { continue }
            if isAfter, Switch(rawValue: argument) != nil { continue }
            kept.append(argument)
        }
        // It may come from the file of settings, and be removed there later.
        if self == .receiver, !kept.contains("--wait") { kept.append("--wait") }
        return kept
    }
}
