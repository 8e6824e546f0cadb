import BeamMedia
import BeamProtocol
import BeamViewer
import Foundation
import Glibc
import Synchronization

/// Tells the person at the viewer, and whoever reads the JSON events, what happens.
final class WatchReporter: Sendable {
    private struct State {
        var choose: (@Sendable (HostChoice) -> Void)?
        var choices: [HostChoice] = []
        var isReading = false
        var isSearching = false
        var lastReason: String?
        var hasPicture = false
    }

    private let context: CommandContext
    private let hasWindow: Bool
    private let state = Mutex(State())

    init(_ context: CommandContext, hasWindow: Bool) {
        self.context = context
        self.hasWindow = hasWindow
    }

    /// Where the person's choice of a host goes.
    var choose: (@Sendable (HostChoice) -> Void)? {
        get { state.withLock { $0.choose } }
        set { state.withLock { $0.choose = newValue } }
    }

    // MARK: What happens

    func handle(_ notice: ViewerNotice) {
        let console = context.console
        switch notice {
        case .session(let event): handle(event)
        case .searching(let name):
            let isNews = state.withLock { state in
                defer { state.isSearching = true }
                return !state.isSearching
            }
            if isNews {
                console.say("Looking for \(name ?? "hosts") on this network… (Ctrl-C ends)")
                context.events.write("searching", ["name": name.map { .string($0) }])
            }
        case .pick(let choices): offer(choices)
        case .chosen(let name): console.say("Found \(name).")
        case .firstFrame(let size):
            state.withLock { $0.hasPicture = true }
            console.say("The picture is there: \(size.width) × \(size.height).")
            context.events.write(
                "first-frame",
                [
                    "ms": .milliseconds(context.events.millisecondsSinceStart), "width": .integer(size.width),
                    "height": .integer(size.height),
                ])
        case .resized(let size): console.say("The picture is \(size.width) × \(size.height) now.")
        case .warning(let text): console.say("Warning: \(text)")
        case .failed(let reason): context.latch.end(.failed(reason))
        }
    }

    private func handle(_ event: ViewerEvent) {
        let console = context.console
        let events = context.events
        switch event {
        case .connecting(let attempt):
            events.write("connecting", ["attempt": .integer(attempt)])
        case .waitingForDecision(let code):
            let digits = code.description
            console.say("Waiting for the host to accept. Your code: \(digits.prefix(3)) \(digits.suffix(3))")
        case .paired(let session, let deviceName, let isNewSession):
            if isNewSession { console.say("\(deviceName ?? "The host") has accepted.") }
            events.write(
                "paired",
                [
                    "session": .string(session), "name": deviceName.map { .string($0) },
                    "isNew": .bool(isNewSession),
                ])
        case .refused(let reason):
            events.write("refused", ["reason": .string(reason)])
            if !hasWindow { context.latch.end(.peerLost(Self.refusal(reason))) }
        case .retrying(let delay, let reason):
            let isNews = state.withLock { state in
                defer { state.lastReason = reason }
                return state.lastReason != reason
            }
            // The same reason once is enough for a person.
            if isNews { console.say("No connection: \(reason). Trying again.") }
            events.write("retry", ["after": .milliseconds(delay.inSeconds), "reason": .string(reason)])
        case .broadcast(let isOn):
            console.say(isOn ? "The host is sharing." : "The host has stopped sharing. Waiting for it to start again.")
            events.write("broadcast", ["on": .bool(isOn)])
        case .stalled(let duration):
            events.write("stall", ["seconds": .milliseconds(duration.inSeconds)])
        case .mediaReconnecting:
            console.say("Nothing comes any more. Reconnecting.")
            events.write("reconnect", ["what": .string("media")])
        case .mediaResumed:
            console.say("The picture moves again.")
            events.write("resumed")
        case .controlLost(let reason):
            console.say("The control connection is lost (\(reason)). The picture goes on; reconnecting.")
            events.write("reconnect", ["what": .string("control"), "reason": .string(reason)])
        case .controlRestored:
            state.withLock { $0.lastReason = nil }
            console.say("The control connection stands again.")
            events.write("restored")
        }
    }

    // MARK: Picking a host in the terminal

    private func offer(_ choices: [HostChoice]) {
        state.withLock { state in
            state.choices = choices
            state.isSearching = false
        }
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            if !hasWindow {
                let names = choices.map(\.name).joined(separator: ", ")
                context.latch.end(.failed("Several hosts are there: \(names). Say which: `beamroom watch NAME`."))
            }
            return
        }
        context.console.say("Several hosts are there:")
        for (index, choice) in choices.enumerated() {
            context.console.say("  \(index + 1)  \(choice.name)  (\(choice.addresses.first ?? ""))")
        }
        context.console.say("Which one? Its number:")
        let mustStart = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        // Reading can't be broken off: the thread is left behind when the program ends.
        if mustStart { Thread.detachNewThread { [self] in readChoice() } }
    }

    private func readChoice() {
        while let line = readLine() {
            let (choice, choose) = state.withLock { state -> (HostChoice?, (@Sendable (HostChoice) -> Void)?) in
                let number = Int(line.trimmingCharacters(in: .whitespaces)) ?? 0
                let isKnown = (1...max(1, state.choices.count)).contains(number) && !state.choices.isEmpty
                return (isKnown ? state.choices[number - 1] : nil, state.choose)
            }
            guard let choice else {
                context.console.say("Please type one of the numbers.")
                continue
            }
            choose?(choice)
            return
        }
    }

    // MARK: Figures

    func tick(_ viewer: Viewer) {
        let report = viewer.takeReport()
        context.console.live(
            "\(ShareReporter.number(report.framesPerSecond.rounded())) frames/s   "
                + "\(ShareReporter.megabits(report.bitsPerSecond))/s   \(report.session.lost) lost")
        context.events.write("stats", fields(report))
    }

    func summarise(_ viewer: Viewer) {
        context.console.finish()
        context.events.write("summary", fields(viewer.summary()))
    }

    private func fields(_ report: ViewerReport) -> [String: EventWriter.Value?] {
        [
            "fps": .milliseconds(report.framesPerSecond), "kbps": .milliseconds(report.bitsPerSecond / 1000),
            "frames": .count(report.decoded), "bytes": .count(report.session.bytes),
            "keyframes": .count(report.session.keyframes), "shown": .count(report.shown),
            "replaced": .count(report.replaced), "datagrams": .count(report.session.datagrams),
            "lost": .count(report.session.lost), "dropped": .count(report.session.dropped),
            "width": report.size.map { .integer($0.width) }, "height": report.size.map { .integer($0.height) },
            "latencyMs": .latencies([
                "decode": report.decode, "present": report.present, "arrivalToWindow": report.total,
            ]),
        ]
    }

    /// The window's closing and the time limit are no failure, unless the host never let anybody in.
    func verdict(_ ending: Ending, _ viewer: Viewer) -> Ending {
        guard ending == .done else { return ending }
        if let refusal = viewer.refusal { return .peerLost(Self.refusal(refusal)) }
        return ending
    }

    private static func refusal(_ reason: String) -> String {
        "The host has refused: \(reason). Ask the person there, and try again."
    }
}
