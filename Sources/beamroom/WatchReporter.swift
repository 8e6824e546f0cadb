import BeamMedia
import BeamProtocol
import BeamViewer
import Foundation
import Synchronization

/// Reports what happens: to the person at the viewer, and as JSON events.
final class WatchReporter: Sendable {
    private struct State {
        var viewer: Viewer?
        var isSearching = false
        var lastReason: String?
        var hasPicture = false
        /// What a host can cause with each picture: new sizes, and pictures that are refused for another reason.
        var sizes = WordLimit()
        var warnings = WordLimit()
    }

    private let context: CommandContext
    private let hasWindow: Bool
    private let state = Mutex(State())
    private let terminal: TerminalQuestions

    init(_ context: CommandContext, hasWindow: Bool) {
        self.context = context
        terminal = TerminalQuestions(context.console)
        self.hasWindow = hasWindow
    }

    /// Where the person's answers go.
    func connect(to viewer: Viewer) { state.withLock { $0.viewer = viewer } }

    // MARK: Events

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
        case .chosen(let name): console.say("Found “\(PeerText.name(name))”.")
        case .firstFrame(let size):
            state.withLock { $0.hasPicture = true }
            console.say("The first picture is here: \(size.width) × \(size.height).")
            context.events.write(
                "first-frame",
                [
                    "ms": .rounded(context.events.millisecondsSinceStart), "width": .integer(size.width),
                    "height": .integer(size.height),
                ])
        case .resized(let size):
            guard state.withLock({ $0.sizes.allows(at: .now) }) else { break }
            console.say("The picture is now \(size.width) × \(size.height).")
        case .warning(let text):
            guard state.withLock({ $0.warnings.allows(at: .now) }) else { break }
            console.say("Warning: \(text)")
        case .failed(let reason): context.latch.end(.failed(reason))
        }
    }

    private func handle(_ event: ViewerEvent) {
        let console = context.console
        let events = context.events
        switch event {
        case .connecting(let attempt):
            events.write("connecting", ["attempt": .integer(attempt)])
        case .waitingForPerson(let host):
            console.say("Asking “\(host)” to let you in. When the person there agrees, both screens show digits.")
            events.write("asking", ["name": .string(host)])
        case .hostCallsItself(let name, let known):
            console.say(
                "“\(known)” calls itself “\(name)” now. To use that name here: `beamroom devices rename \"\(known)\" \"\(name)\"`."
            )
        case .hostReached: break
        case .waitingForDecision(let code):
            console.say("Waiting for the host to accept. It must show the same digits: \(code.spaced)")
        case .codeNeeded(let host, let wasWrong):
            events.write("code-needed", ["name": .string(host), "wasWrong": .bool(wasWrong)])
            if wasWrong { console.say("That wasn't the code.") }
            askForCode(host, isRepeated: wasWrong)
        case .hostPaired(_, let name, let isToBeRemembered):
            console.say(
                "Paired with “\(name)”\(isToBeRemembered ? "; next time it needs no code" : " for this session").")
            events.write("device-paired", ["name": .string(name), "remembered": .bool(isToBeRemembered)])
        case .paired(let session, let deviceName, let isNewSession, let isEncrypted):
            if isNewSession { console.say("\(deviceName.map { "“\($0)”" } ?? "The host") has accepted.") }
            if isNewSession, !isEncrypted {
                console.say("Warning: this picture is not encrypted: everybody on this network can see it.")
            }
            events.write(
                "paired",
                [
                    "session": .string(session), "name": deviceName.map { .string($0) },
                    "isNew": .bool(isNewSession), "encrypted": .bool(isEncrypted),
                ])
        case .refused(let reason):
            events.write("refused", ["reason": .string(reason)])
            if !hasWindow { context.latch.end(.peerLost(Self.refusal(reason))) }
        case .retrying(let delay, let reason):
            let isNews = state.withLock { state in
                defer { state.lastReason = reason }
                return state.lastReason != reason
            }
            // A repeated reason is printed once.
            if isNews { console.say("No connection: \(reason). Trying again.") }
            events.write("retry", ["after": .rounded(delay.inSeconds), "reason": .string(reason)])
        case .broadcast(let isOn):
            console.say(isOn ? "The host is sharing." : "The host has stopped sharing. Waiting for it to start again.")
            events.write("broadcast", ["on": .bool(isOn)])
        case .stalled(let duration, let cause):
            events.write("stall", ["seconds": .rounded(duration.inSeconds), "cause": .string(cause.word)])
        case .mediaReconnecting:
            console.say("The stream has stopped. Reconnecting.")
            events.write("reconnect", ["what": .string("media")])
        case .mediaResumed:
            console.say("The picture moves again.")
            events.write("resumed")
        case .controlLost(let reason):
            console.say("The control connection was lost (\(reason)). The picture goes on. Reconnecting.")
            events.write("reconnect", ["what": .string("control"), "reason": .string(reason)])
        case .controlRestored:
            state.withLock { $0.lastReason = nil }
            console.say("The control connection is restored.")
            events.write("restored")
        }
    }

    // MARK: Questions in the terminal

    private func offer(_ choices: [HostChoice]) {
        state.withLock { $0.isSearching = false }
        guard TerminalQuestions.hasPerson else {
            if !hasWindow {
                let names = choices.map { "“\(PeerText.name($0.name))”" }.joined(separator: ", ")
                context.latch.end(.failed("Several hosts were found: \(names). Name one: `beamroom watch NAME`."))
            }
            return
        }
        context.console.say("Several hosts were found:")
        for (index, choice) in choices.enumerated() {
            context.console.say("  \(index + 1)  “\(PeerText.name(choice.name))”  (\(choice.addresses.first ?? ""))")
        }
        terminal.ask(
            TerminalQuestions.Question(words: "Which one? Type its number:") { [self] line in
                guard let number = Int(line.trimmingCharacters(in: .whitespaces)), choices.indices.contains(number - 1)
                else { return .unclear("Please type one of the numbers.") }
                return .answer { [self] in state.withLock { $0.viewer }?.choose(choices[number - 1]) }
            })
    }

    private func askForCode(_ host: String, isRepeated: Bool) {
        guard TerminalQuestions.hasPerson else { return }
        terminal.ask(
            TerminalQuestions.Question(
                words: "“\(host)” shows six digits. Type them here\(hasWindow ? ", or in the window" : ""):"
            ) { [self] line in
                guard let code = PairingCode(line.filter { $0 != " " }) else {
                    return .unclear("Please type the six digits.")
                }
                return .answer { [self] in state.withLock { $0.viewer }?.enter(code) }
            }, isRepeated: isRepeated)
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
            "fps": .rounded(report.framesPerSecond), "kbps": .rounded(report.bitsPerSecond / 1000),
            "frames": .count(report.decoded), "bytes": .count(report.session.bytes),
            "keyframes": .count(report.session.keyframes), "shown": .count(report.shown),
            "replaced": .count(report.replaced), "datagrams": .count(report.session.datagrams),
            "lost": .count(report.session.lost), "malformed": .count(report.session.malformed),
            "dropped": .count(report.session.dropped), "skipped": .count(report.session.skipped),
            "missed": .count(report.session.missed),
            "retransmitted": .count(report.session.recovered), "repaired": .count(report.session.reconstructed),
            "keyframesRequested": .count(report.session.keyframesRequested),
            "estimatedKbps": report.session.estimatedRate.map { .rounded(Double($0) / 1000) },
            "usedKbps": report.session.usedRate.map { .rounded(Double($0) / 1000) },
            "bufferMs": .rounded(report.session.buffer.inMilliseconds),
            "decoder": report.decoder.map { .string($0) },
            "width": report.size.map { .integer($0.width) }, "height": report.size.map { .integer($0.height) },
            "latencyMs": .latencies(Dictionary(uniqueKeysWithValues: report.times.map { ($0.rawValue, $1) })),
            "rttMs": report.session.roundTrip.map { .rounded($0.inMilliseconds) },
            "clockErrorMs": report.session.clockError.map { .rounded($0.inMilliseconds) },
        ]
    }

    /// Closing the window and the time limit are failures only if the host has refused this viewer.
    func verdict(_ ending: Ending, _ viewer: Viewer) -> Ending {
        guard ending == .done else { return ending }
        if let refusal = viewer.refusal { return .peerLost(Self.refusal(refusal)) }
        return ending
    }

    private static func refusal(_ reason: String) -> String {
        "The host was not watched: \(reason)."
    }
}
