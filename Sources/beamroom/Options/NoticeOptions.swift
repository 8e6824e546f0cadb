import ArgumentParser
import BeamDesktop
import BeamTerminal
import BeamTrust

/// Notices on the desktop.
struct NoticeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whether the desktop shows notices: who asks to watch, with buttons to answer, who comes, and when the last one leaves.",
            valueName: "on|off"))
    var notifications = Switch.on

    /// Nil: none are wanted.
    ///
    /// - Parameters:
    ///   - quiet: silences other programs' notices.
    ///   - subject: what is watched, in a sentence.
    func open(_ quiet: DesktopQuiet? = nil, about subject: String = "your screen") -> ShareNotices? {
        notifications.isOn ? ShareNotices(icon: Self.application, subject: subject, quiet: quiet) : nil
    }

    /// By which the desktop knows the program.
    static let application = "org.beamroom.BeamRoom"
}

extension CaptureOptions {
    /// Silences other programs' notices, as far as the options want that; and puts back what an earlier program has left.
    func quiet() -> DesktopQuiet {
        DesktopQuiet(isOn: sharesScreen && !noQuiet, application: NoticeOptions.application) {
            // Without a place to remember it in, nothing is silenced that would stay so after a crash.
            try? TrustStore().claimQuiet()
        }
    }
}

extension QuietClaim: QuietMemory {}
