import BeamClock
import BeamCodec
import BeamHost
import BeamMedia
import BeamNetwork
import BeamProtocol
import Synchronization

/// Reports what happens: to the person at the host, and as JSON events.
final class ShareReporter: Sendable {
    private let context: CommandContext
    private let prompt: PairingPrompt
    private let invitation: Invitation
    private let room: RoomReporter
    private let state = Mutex(State())

    private struct State {
        var last: HostReport?
        /// The code from the file, once it was used.
        var usedCode: PairingCode?
        var code: PairingCode?
        var tally = PeerTally()
        /// The recording's first file was reported.
        var isRecording = false
        /// Why the recording ended before the host.
        var recordingFailure: String?
        /// The admitted viewers, by session; never more than the host admits.
        var viewers: [String: Visitor] = [:]
        /// When a code was last used up.
        var codeUsed: ContinuousClock.Instant?
        /// Why the host ends, for its viewers; nil: the usual reason.
        var farewell: String?
        /// What a paired viewer can cause as often as it likes.
        var interruptions = WordLimit()
        var layers = WordLimit()
        var drops = WordLimit()
        var visibility = WordLimit()
        var captions = WordLimit()
        /// What was written in the room before the event `ready`, which is the first one; nil: that was written.
        var early: [RoomEvent]? = []
    }

    /// How new viewers are admitted.
    struct Invitation: Sendable {
        var acceptance: HostSession.Acceptance
        var isTrustedOnly: Bool
        /// The code is shown on this terminal.
        var showsCode: Bool
        /// A code was given.
        var hasCode: Bool
        var codeFile: String?
        var allowsUnencrypted: Bool
    }

    init(_ context: CommandContext, prompt: PairingPrompt, invitation: Invitation) {
        self.context = context
        self.prompt = prompt
        self.invitation = invitation
        room = RoomReporter(context)
    }

    func ready(_ host: Host) {
        state.withLock { $0.code = host.code }
        let facts = host.description
        for warning in host.warnings { context.console.say("Warning: \(warning)") }
        context.console.say(
            "Sharing \(facts.source), \(facts.size.width) × \(facts.size.height), "
                + "at most \(Self.number(facts.frameRate)) \(facts.frameRate == 1 ? "frame" : "frames") and "
                + "\(Self.megabits(Double(facts.bitRate))) a second "
                + "(\(facts.encoder)).")
        let addresses = facts.bindAddress.map { [$0] } ?? LocalAddresses.list()
        // By its name alone only once it is announced.
        let commands = (addresses.isEmpty ? ["127.0.0.1"] : addresses).map {
            Self.watchCommand(Endpoint(host: $0, port: facts.controlPort))
        }
        context.console.say("To watch, run on another machine: " + commands.joined(separator: " or ") + ".")
        invite(host)
        context.events.write(
            "ready",
            [
                "name": .string(facts.name), "port": .integer(Int(facts.controlPort)),
                "mediaPort": .integer(Int(facts.mediaPort)), "width": .integer(facts.size.width),
                "height": .integer(facts.size.height), "encoder": .string(facts.encoder),
                "source": .string(facts.source),
            ])
        while let events = takeEarly() { for event in events { room.handle(event) } }
    }

    /// Nil: there are no more, and later ones aren't held back.
    private func takeEarly() -> [RoomEvent]? {
        state.withLock { state in
            guard let events = state.early, !events.isEmpty else {
                state.early = nil
                return nil
            }
            state.early = []
            return events
        }
    }

    /// What the person at the terminal can press.
    private var keys: String { (prompt.takesCommands ? "p pauses, n writes a note, " : "") + "Ctrl-C ends." }

    private static func watchCommand(_ address: Endpoint) -> String {
        "`beamroom watch \(address.port == WatchTarget.defaultPort ? address.host : address.description)`"
    }

    private func invite(_ host: Host) {
        let console = context.console
        if invitation.isTrustedOnly {
            console.say("Only viewers that were paired before are let in. \(keys)")
        } else {
            if invitation.showsCode, let code = host.code {
                console.say("Code to type at a new viewer: \(code.spaced)")
            }
            switch invitation.acceptance {
            case .ask where prompt.isInBackground:
                console.say(
                    "This job is in the background, where it can't ask about viewers without the code: bring it to the "
                        + "foreground (`fg`) when one comes.")
            case .ask: console.say("You are asked about viewers without the code. \(keys)")
            case .all:
                console.say(
                    "Warning: Every viewer is let in, without a code or a question (--accept all). \(keys)")
            case .none where invitation.showsCode || invitation.hasCode:
                console.say("Only paired viewers and viewers with the code are let in. \(keys)")
            case .none:
                console.say(
                    "Only viewers that were paired before are let in: there is no terminal to show a code on. "
                        + "To let in new viewers, give a code with --code-file FILE. Ctrl-C ends.")
            }
        }
        guard invitation.allowsUnencrypted else { return }
        console.say(
            "Warning: Older apps are let in without encryption (--allow-unencrypted): everybody on this network can see their pictures."
        )
    }

    /// A code was used, or the file holds a new one. Nil: no code until the file holds another.
    private func codeChanged(_ code: PairingCode?) {
        state.withLock { state in
            if code == nil { state.usedCode = state.code }
            if state.code != nil { state.codeUsed = .now }
            state.code = code
        }
        if let code {
            let used = invitation.codeFile == nil ? "This code was used. " : ""
            if invitation.showsCode { context.console.say("\(used)New code to type at a new viewer: \(code.spaced)") }
        } else if let file = invitation.codeFile {
            context.console.say(
                "The code in \(file) was used. To let in another viewer, write a new code into the file.")
        } else {
            context.console.say("The code was used, so it lets in nobody else.")
        }
    }

    /// Reads the file again after its code was used. A file that is incomplete or missing is read again a second later.
    private func rereadCode(_ host: Host) {
        guard let path = invitation.codeFile, let used = state.withLock({ $0.usedCode }),
            let code = try? CodeFile(path: path).read(), code != used
        else { return }
        state.withLock { $0.usedCode = nil }
        host.setCode(code)
    }

    /// Whether an event that anybody on the network can cause is reported now, or summed up later.
    private func verdict(on kind: PeerTally.Kind, from address: IPAddress) -> PeerTally.Verdict {
        sumUp()
        return state.withLock { $0.tally.note(kind, from: address, now: .now) }
    }

    /// Reports what was left out in the periods that are over.
    private func sumUp() {
        for summary in state.withLock({ $0.tally.takeSummaries(now: .now) }) {
            if summary.isForPerson { context.console.say(summary.words) }
            if summary.isForProgram {
                context.events.write(
                    "unknown-peers",
                    [
                        "what": .string(summary.kind.name), "count": .integer(summary.count),
                        "addresses": .integer(summary.addresses),
                        "seconds": .integer(Int(PeerTally.period.inSeconds)),
                    ])
            }
        }
    }

    func handle(_ notice: HostNotice) {
        switch notice {
        case .session(let event): handle(event)
        case .announced(let name):
            context.console.say("Announced on the network as “\(name)”: `beamroom watch` on another machine finds it.")
        case .warning(let text): context.console.say("Warning: \(text)")
        case .notDiscoverable(let address, let reason):
            context.console.say(
                "Warning: No automatic discovery on this machine. Viewers connect by address: "
                    + "\(Self.watchCommand(address)). \(reason)")
        case .resized(let size):
            context.console.say("The picture is now \(size.width) × \(size.height).")
        case .recordingInto(let path):
            let isFirst = state.withLock { state in
                defer { state.isRecording = true }
                return !state.isRecording
            }
            context.console.say(
                isFirst
                    ? "Recording into \(path)." : "The picture's size has changed: the recording goes on in \(path).")
            context.events.write("recording", ["file": .string(path)])
        case .recordingHasGaps:
            context.console.say(
                "Warning: The disk is too slow for the stream. The recording has gaps; viewers miss nothing.")
        case .recordingFailed(let reason):
            state.withLock { $0.recordingFailure = reason }
            context.console.say("The recording has ended: \(reason) Sharing goes on.")
            context.events.write("recording-failed", ["reason": .string(reason)])
        case .sourceVisible(let isVisible): sourceVisible(isVisible)
        case .captionLineRefused(let number, let reason):
            guard state.withLock({ $0.captions.allows(at: .now) }) else { break }
            context.console.say("Line \(number) of the captions was left out: \(reason).")
        case .captionsEnded: context.console.say("The captions have ended. Sharing goes on.")
        case .transcriptFailed(let reason):
            context.console.say("The transcript has ended: \(reason) Sharing goes on.")
            context.events.write("transcript-failed", ["reason": .string(reason)])
        case .paused(let isPaused):
            context.console.say(
                isPaused
                    ? "Paused: nothing is captured, and viewers keep the last picture.\(prompt.takesCommands ? " Press p to resume." : "")"
                    : "Resumed: viewers see the screen again.")
            context.events.write("paused", ["on": .bool(isPaused)])
        case .ended(let reason, let farewell):
            state.withLock { $0.farewell = farewell }
            context.latch.end(.failed(reason))
        }
    }

    /// What the viewers are told when the host ends; nil: that it has ended.
    var farewell: String? { state.withLock { $0.farewell } }

    private func sourceVisible(_ isVisible: Bool) {
        context.events.write("source-visible", ["visible": .bool(isVisible)])
        // Programs can hide and show a window as often as they like.
        guard state.withLock({ $0.visibility.allows(at: .now) }) else { return }
        context.console.say(
            isVisible
                ? "The shared window is visible again."
                : "The shared window is hidden: it is minimised, or on another workspace. Viewers keep its last picture."
        )
    }

    /// A host whose recording failed has failed, even if its viewers missed nothing.
    func verdict(_ ending: Ending) -> Ending {
        guard ending == .done || ending == .timeLimit, let reason = state.withLock({ $0.recordingFailure }) else {
            return ending
        }
        return .failed("The recording isn't complete. \(reason)")
    }

    private func handle(_ event: HostEvent) {
        let console = context.console
        let events = context.events
        switch event {
        case .viewerAsks(let connection, let code, let visitor):
            if verdict(on: .question, from: visitor.address).toProgram { events.write("pairing", Self.fields(visitor)) }
            prompt.ask(connection, code: code, from: visitor)
        case .comparisonAsked(let connection, let visitor):
            if verdict(on: .question, from: visitor.address).toProgram { events.write("pairing", Self.fields(visitor)) }
            prompt.askToCompare(connection, from: visitor)
        case .digitsShown(let connection, let digits, _):
            prompt.compare(connection, digits: digits)
        case .comparisonFailed(let visitor, let reason, let failures):
            console.say(
                "Comparing digits with \(visitor) failed: \(reason)."
                    + (failures < 3
                        ? "" : " \(failures) comparisons have failed within a day: somebody may be guessing digits."))
            events.write(
                "comparison-failed",
                Self.fields(visitor, ["reason": .string(reason), "failures": .integer(failures)]))
        case .askWithdrawn(let connection):
            prompt.withdraw(connection)
        case .devicePaired(_, let name, let isToBeRemembered):
            console.say(
                isToBeRemembered
                    ? "“\(name)” is paired: next time no code is needed."
                    : "“\(name)” is paired for this time only: when it is started again, it has to be let in again.")
            events.write("device-paired", ["name": .string(name), "remembered": .bool(isToBeRemembered)])
        case .codeChanged(let code):
            codeChanged(code)
        case .wrongCode(let visitor, let pause):
            let verdict = verdict(on: .wrongCode, from: visitor.address)
            let seconds = pause.map { Int($0.inSeconds.rounded(.up)) }
            if verdict.toPerson {
                console.say(
                    "\(visitor) typed a wrong code.\(hintOfUsedCode)"
                        + (seconds.map { " Too many wrong codes: the next one is checked in \($0) s." } ?? ""))
            }
            if verdict.toProgram {
                events.write("wrong-code", Self.fields(visitor, ["pause": seconds.map { .integer($0) }]))
            }
        case .viewerPaired(let session, let visitor, let isResumed):
            state.withLock { $0.viewers[session] = visitor }
            let verdict = verdict(on: .visit, from: visitor.address)
            if verdict.toPerson {
                console.say("\(visitor) \(isResumed ? "is connected again" : "is let in").")
                if let name = visitor.newName, let known = visitor.name, !isResumed {
                    console.say(Words.newName(name, of: known, who: "It"))
                }
                if !visitor.isEncrypted, !isResumed {
                    console.say(
                        "Warning: The stream to \(visitor) is not encrypted: everybody on this network can see it.")
                }
            }
            guard verdict.toProgram else { break }
            events.write(
                "paired",
                Self.fields(
                    visitor,
                    [
                        "session": .string(session), "resumed": .bool(isResumed),
                        "encrypted": .bool(visitor.isEncrypted),
                    ]))
        case .viewerRefused(let visitor, let reason):
            let verdict = verdict(on: .viewerRefused, from: visitor.address)
            if verdict.toPerson { console.say("\(visitor) was refused, and told: “\(reason).”") }
            if verdict.toProgram { events.write("refused", Self.fields(visitor, ["reason": .string(reason)])) }
        case .connectionRefused(let address, let reason):
            if verdict(on: .connectionRefused, from: address).toPerson {
                console.say("A connection from \(address) was closed: \(reason).")
            }
        case .connectionsRefused(let count, let addresses):
            console.say(
                "\(Words.count(count, "more connection or viewer", "more connections and viewers")) from "
                    + "\(Words.count(addresses, "address", "addresses")) \(count == 1 ? "was" : "were") refused in the last 10 s."
            )
            events.write("connections-refused", ["count": .integer(count), "addresses": .integer(addresses)])
        case .acceptingPaused(let reason):
            console.say(
                "New viewers have to wait: the system has no room for another connection (\(reason)). The host tries "
                    + "again twice a second. If this lasts, close other programs, or raise the limit with `ulimit -n` before "
                    + "`beamroom share`.")
        case .listeningFailed(let reason):
            console.say(
                "Warning: No new viewer can connect, because the port was lost (\(reason)). The host tries to open it "
                    + "again twice a second. Viewers that watch already aren't affected.")
            events.write("listening", ["on": .bool(false), "reason": .string(reason)])
        case .listeningAgain:
            console.say("New viewers can connect again.")
            events.write("listening", ["on": .bool(true)])
        case .room(let event):
            if state.withLock({ $0.early?.append(event) }) == nil { room.handle(event) }
        case .mediaStarted(let session, let address):
            let verdict = verdict(on: .visit, from: address.ip)
            if verdict.toPerson { console.say("\(who(session)) gets the picture, at \(address).") }
            if verdict.toProgram {
                events.write("viewer-joined", ["address": .string("\(address)"), "session": .string(session)])
            }
        case .mediaStopped(let session, let reason):
            guard state.withLock({ $0.interruptions.allows(at: .now) }) else { break }
            console.say("\(who(session)) no longer gets the picture: \(reason).")
        case .controlLost:
            break
        case .viewerLeft(let session, let visitor, let reason):
            state.withLock { $0.viewers[session] = nil }
            let verdict = verdict(on: .visit, from: visitor.address)
            if verdict.toPerson { console.say("\(visitor) has left: \(reason).") }
            guard verdict.toProgram else { break }
            events.write(
                "viewer-left", Self.fields(visitor, ["session": .string(session), "reason": .string(reason)]))
        case .audience:
            break
        case .layerChanged(let session, let isReduced):
            if state.withLock({ $0.layers.allows(at: .now) }) {
                console.say(
                    isReduced
                        ? "\(who(session)) gets the smaller stream now: the network to it carries less than the full one."
                        : "\(who(session)) gets the full stream again.")
            }
            events.write("lane", ["session": .string(session), "reduced": .bool(isReduced), "why": .string("path")])
        case .layerFitted(let session, let isReduced):
            events.write("lane", ["session": .string(session), "reduced": .bool(isReduced), "why": .string("size")])
        case .framesDropped(let count):
            guard state.withLock({ $0.drops.allows(at: .now) }) else { break }
            console.say(
                "\(Words.count(count, "frame was", "frames were")) left out, because the network was down or carries less than "
                    + "the stream. If this goes on, a lower -b helps.")
        }
    }

    /// The viewer of a session, for a message.
    private func who(_ session: String) -> String {
        state.withLock { $0.viewers[session] }.map { "\($0)" } ?? "A viewer"
    }

    /// Whoever types the code of a moment ago should know that it is the code that has changed.
    private var hintOfUsedCode: String {
        let (used, code) = state.withLock { ($0.codeUsed, $0.code) }
        guard let used, .now - used < .seconds(600) else { return "" }
        guard let code, invitation.showsCode else { return " A code lets in one viewer, and the last one was used." }
        return " A code lets in one viewer, and the last one was used. The code to type now: \(code.spaced)"
    }

    func tick(_ host: Host) {
        let report = host.report()
        sumUp()
        rereadCode(host)
        let previous = state.withLock { state in
            defer { state.last = report }
            return state.last
        }
        let frames = report.session.frames - (previous?.session.frames ?? 0)
        let bits = Double(report.session.bytes - (previous?.session.bytes ?? 0)) * 8
        let viewers = report.session.viewers
        let seconds = previous.map { max(0.001, (report.time - $0.time).inSeconds) } ?? 1
        let rates = report.viewers.map { viewer in
            ViewerRate(viewer, since: previous?.viewers.first { $0.session == viewer.session }, seconds: seconds)
        }
        let rate = "\(frames) \(frames == 1 ? "frame/s" : "frames/s")   \(Self.megabits(bits))/s"
        let total = "\(host.isPaused ? "paused" : rate)   \(Words.count(viewers, "viewer"))"
        context.console.live([total] + ViewerTable.lines(rates.map(\.row)))
        var fields = fields(report, framesPerSecond: Double(frames), bitsPerSecond: bits)
        fields["viewerStats"] = .array(rates.map(\.fields))
        context.events.write("stats", fields)
    }

    func summarise(_ host: Host) {
        context.console.finish()
        let report = host.report(sinceStart: true)
        let seconds = max(0.001, context.events.millisecondsSinceStart / 1000)
        context.events.write(
            "summary",
            fields(
                report, framesPerSecond: Double(report.session.frames) / seconds,
                bitsPerSecond: Double(report.session.bytes) * 8 / seconds))
        context.console.say(
            "Ended after \(Self.number(seconds.rounded())) s: \(Words.count(report.session.frames, "frame")), "
                + "\(Self.megabytes(report.session.bytes)) sent.")
        if let recording = report.recording { context.console.say(Words.recorded(recording)) }
        if let transcript = host.transcript { context.console.say(Words.written(transcript)) }
    }

    private func fields(
        _ report: HostReport, framesPerSecond: Double, bitsPerSecond: Double
    ) -> [String: EventWriter.Value?] {
        [
            "fps": .rounded(framesPerSecond), "kbps": .rounded(bitsPerSecond / 1000),
            "frames": .count(report.session.frames), "bytes": .count(report.session.bytes),
            "viewers": .integer(report.session.viewers), "keyframes": .count(report.session.keyframes),
            "captured": .count(report.captured), "encoded": .count(report.encoded),
            "replaced": .count(report.replaced), "datagrams": .count(report.session.datagrams),
            "dropped": .count(report.session.dropped), "retransmitted": .count(report.session.retransmissions),
            "parity": .count(report.session.parity), "keyframesWanted": .count(report.session.keyframeRequests),
            "pathKbps": report.session.pathRate.map { .rounded(Double($0) / 1000) },
            "width": .integer(report.size.width),
            "height": .integer(report.size.height),
            "recorded": report.recording.map { .count($0.frames) },
            "recordingDropped": report.recording.map { .count($0.dropped) },
            "lanes": .array(report.layers.enumerated().filter(\.element.isWatched).map { $1.fields(number: $0) }),
            "latencyMs": .latencies(["capture": report.capture, "encode": report.encode]),
        ]
    }

    private static func fields(
        _ visitor: Visitor, _ more: [String: EventWriter.Value?] = [:]
    ) -> [String: EventWriter.Value?] {
        var fields = more
        fields["address"] = .string("\(visitor.address)")
        fields["name"] = visitor.name.map { .string($0) }
        return fields
    }

    /// `30`, `59.94`.
    static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String((value * 100).rounded() / 100)
    }

    static func megabits(_ bits: Double) -> String { "\((bits / 100_000).rounded() / 10) Mbit" }

    private static func megabytes(_ bytes: UInt64) -> String { "\((Double(bytes) / 100_000).rounded() / 10) MB" }
}
