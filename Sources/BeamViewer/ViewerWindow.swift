import BeamClock
import BeamDisplay
import BeamMedia
import BeamProtocol

/// Shows the newest picture, the status while there is none, the hosts to pick from, and figures on request.
///
/// Runs on the main thread, as SDL requires.
@MainActor
public final class ViewerWindow {
    private let viewer: Viewer
    private let window: VideoWindow
    /// What the window shows now, so that only changes are passed to it.
    private var shownMessage: WindowMessage?
    private var shownChoices: [HostChoice]?
    private var shownName: String?

    /// Prepares the environment for the window, and finds out whether there is a display. Call it before `viewer` starts.
    public static func prepare(for viewer: Viewer) throws(DisplayError) {
        if let options = viewer.options.window { try VideoWindow.prepareEnvironment(options) }
    }

    /// Opens the window that `viewer`'s options ask for.
    ///
    /// - Parameter whenLost: called on a thread of its own when the X server has gone; the main thread is blocked from
    ///   then on. It has to stop `viewer` and to end the process with `_exit`.
    public init(_ viewer: Viewer, whenLost: @escaping @Sendable () -> Never) throws(DisplayError) {
        let options = viewer.options.window ?? WindowOptions(title: Self.program)
        self.viewer = viewer
        // The decoder starts when the window is open: otherwise the display's libraries, which are small, would wait
        // for the decoder's.
        window = try VideoWindow(options, whenConnected: { viewer.decode.start() }, whenLost: whenLost)
        let window = self.window
        viewer.shared.setWindow { window.wake() }
    }

    private static let program = "BeamRoom"

    /// Runs the window until the person closes it, or `Viewer.endWindow` does.
    public func run() {
        defer { viewer.shared.setWindow(nil) }
        showState()
        // A picture may have been decoded while the window was opening.
        showPicture()
        while !viewer.shared.read({ $0.isWindowEnded }) {
            for event in window.waitForEvents(timeout: nil) {
                switch event {
                case .quit: return
                case .chosen(let index): choose(index)
                case .codeEntered(let digits): if let code = PairingCode(digits) { viewer.enter(code) }
                case .offerTaken: viewer.askPerson()
                // The person doesn't give the code, so there is nothing to watch.
                case .codeGivenUp: return
                case .wake, .statistics, .resized, .fullscreen: break
                }
            }
            showState()
            showPicture()
            showStatistics()
        }
    }

    private static let unencrypted = WindowWarning(
        words: "Not encrypted: everybody on this network can see this picture")

    /// The screen for the host's code. It stays while the person at the host is asked, and while the code is checked.
    private static func prompt(_ words: ViewerAnnouncement, host: String) -> CodePrompt? {
        guard let question = words.question else { return nil }
        let offer: String? =
            if question.isAsking || question.isBeingChecked {
                [words.headline + (words.headline.hasSuffix("…") ? "" : "."), words.detail].compactMap { $0 }
                    .joined(separator: " ")
            } else if question.mayAsk {
                "No code at hand? Press Enter, and the person there is asked to let you in."
            } else {
                nil
            }
        return CodePrompt(
            headline: "Type the six digits that \(host) shows", problem: question.problem, offer: offer,
            takesOffer: question.mayAsk && !question.isAsking && !question.isBeingChecked,
            isWaiting: question.isBeingChecked)
    }

    private static func message(_ words: ViewerAnnouncement, stalledFor seconds: Int?) -> WindowMessage {
        let time = seconds.map { "No new picture for \($0) s." }
        let detail = [words.detail, time].compactMap { $0 }.joined(separator: " ")
        return WindowMessage(
            headline: words.headline, detail: detail.isEmpty ? nil : detail, code: words.digits?.description)
    }

    private func showPicture() {
        guard let picture = viewer.slot.takeIfPresent() else { return }
        guard window.show(picture) else { return }
        let end = MediaTime.now
        viewer.shared.change { $0.presentation.record(picture, at: end) }
    }

    private func choose(_ index: Int) {
        guard let choices = shownChoices, choices.indices.contains(index) else { return }
        viewer.choose(choices[index])
    }

    private func showState() {
        let (status, choices) = viewer.shared.read { ($0.status, $0.choices) }
        let words = status.words
        let name = status.quotedName
        window.setCodeEntry(words.flatMap { Self.prompt($0, host: name ?? "the host") })
        window.setWarning(status.isUnencrypted ? Self.unencrypted : nil)
        if choices != shownChoices {
            shownChoices = choices
            window.setPicker(
                choices.map { choices in
                    choices.map { PickerEntry(name: PeerText.name($0.name), detail: $0.addresses.first ?? "") }
                })
        }
        let message = words.map { Self.message($0, stalledFor: status.stalledSeconds) }
        if message != shownMessage {
            shownMessage = message
            window.setMessage(message)
        }
        if name != shownName {
            shownName = name
            window.title = name.map { "\($0) - \(Self.program)" } ?? Self.program
        }
    }

    /// After the picture, so that it doesn't wait; only while the overlay is visible.
    private func showStatistics() {
        guard window.showsStatistics else { return }
        let (status, report) = viewer.shared.read { ($0.status, $0.report) }
        window.setOverlay(
            StatisticsOverlay.lines(report, isEncrypted: !status.isUnencrypted, renderer: window.rendererName))
    }
}

/// The figures that the overlay shows.
enum StatisticsOverlay {
    static func lines(_ report: ViewerReport?, isEncrypted: Bool, renderer: String) -> [String] {
        guard let report, let size = report.size else { return ["No picture yet"] }
        let session = report.session
        let expected = session.datagrams + session.lost
        let loss = expected == 0 ? 0 : Double(session.lost) * 100 / Double(expected)
        return [
            "Picture\t\(size.width) × \(size.height), \(renderer)",
            "Stream\t\(isEncrypted ? "encrypted" : "not encrypted")",
            "Rate\t\(rounded(report.framesPerSecond, 1)) frames/s, \(rounded(report.bitsPerSecond / 1_000_000, 2)) Mbit/s",
            "Lost\t\(session.lost) of \(expected) datagrams (\(rounded(loss, 2)) %), "
                + "\(session.dropped) \(session.dropped == 1 ? "frame" : "frames")"
                + (session.skipped > 0 ? ", \(session.skipped) skipped" : ""),
        ] + network(session) + [
            "Stages\t\(stages(report))",
            "Arrival to window\t\(times(report.times[.arrivalToWindow]))",
        ] + glass(report)
    }

    /// Loss, recovery and the path's rate, if the host reports them (version 2).
    private static func network(_ session: ViewerStatistics) -> [String] {
        guard let estimated = session.estimatedRate, let used = session.usedRate else { return [] }
        let trip = session.roundTrip.map { "\(rounded($0.inMilliseconds, 1)) ms" } ?? "–"
        return [
            "Repaired\t\(session.missed) missed, \(session.recovered) sent again, \(session.reconstructed) by parity, "
                + "\(session.keyframesRequested) \(session.keyframesRequested == 1 ? "keyframe" : "keyframes")",
            "Path\t\(megabits(used)) of \(megabits(estimated)) Mbit/s, round trip \(trip), "
                + "buffer \(rounded(session.buffer.inMilliseconds, 1)) ms",
        ]
    }

    private static func megabits(_ rate: Int) -> String { String(rounded(Double(rate) / 1_000_000, 2)) }

    /// Latency from screen to window, if the host reports capture times.
    private static func glass(_ report: ViewerReport) -> [String] {
        guard let times = report.times[.captureToWindow], let error = report.session.clockError else { return [] }
        return ["Screen to window\t\(Self.times(times)), ± \(rounded(error.inMilliseconds, 1)) ms"]
    }

    /// The known spans, one by one.
    private static func stages(_ report: ViewerReport) -> String {
        let parts = [FrameSpan.capture, .encode, .network, .reassembly, .decode, .present].compactMap { span in
            report.times[span].map { "\(span.rawValue) \(rounded($0.median, 1))" }
        }
        return parts.isEmpty ? "–" : parts.joined(separator: ", ") + " ms"
    }

    private static func times(_ summary: LatencyHistogram.Summary?) -> String {
        guard let summary else { return "–" }
        return "\(rounded(summary.median, 1)) ms, 95 %: \(rounded(summary.p95, 1)) ms"
    }

    private static func rounded(_ value: Double, _ digits: Int) -> String {
        let scale = digits == 1 ? 10.0 : 100.0
        return String((value * scale).rounded() / scale)
    }
}
