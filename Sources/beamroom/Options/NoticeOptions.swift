import ArgumentParser
import BeamTerminal

/// Notices on the desktop.
struct NoticeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whether the desktop shows notices: who asks to watch, with buttons to answer, who comes, and when the last one leaves.",
            valueName: "on|off"))
    var notifications = Switch.on

    /// Nil: none are wanted.
    ///
    /// - Parameter subject: what is watched, in a sentence.
    func open(about subject: String = "your screen") -> ShareNotices? {
        notifications.isOn ? ShareNotices(icon: "org.beamroom.BeamRoom", subject: subject) : nil
    }
}
