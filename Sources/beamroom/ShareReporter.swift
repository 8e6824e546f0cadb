import BeamClock
import BeamCodec
import BeamHost
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamSound
import Synchronization

/// Reports what happens: to the person at the host, and as JSON events.
final class ShareReporter: Sendable {
    private let context: CommandContext
    private let prompt: PairingPrompt
    private let door: DoorReporter
    private let invitation: DoorReporter.Invitation
    private let room: LogReporter
    private let state = Mutex(State())

    private struct State {
        var last: HostReport?
        /// The recording's first file was reported.
        var isRecording = false
        /// Why the recording ended before the host.
        var recordingFailure: String?
        /// The admitted viewers, by session; never more than the host admits.
        var viewers: [String: Visitor] = [:]
        /// Those of them that were let in a moment ago, and don't get the picture yet.
        var arriving: Set<String> = []
        /// Why the host ends, for its viewers; nil: the usual reason.
        var farewell: String?
        /// What a paired viewer can cause as often as it likes.
        var interruptions = WordLimit()
        var layers = WordLimit()
        var drops = WordLimit()
        var loads = WordLimit()
        var visibility = SpokenVisibility()
        var captions = WordLimit()
        var sound = WordLimit()
        /// How to reach this machine is to be said as soon as it has an address; nil: it was said.
        var addressless: AddressText?
        /// What was written in the room before the event `ready`, which is the first one; nil: that was written.
        var early: [LogEvent]? = []
        /// The sound's state before that.
        var earlySound: SoundCaptureState?
    }

    /// The reason of a viewer that has said goodbye.
    private static let goodbye = "its program has ended"

    init(_ context: CommandContext, prompt: PairingPrompt, invitation: DoorReporter.Invitation) {
        self.context = context
        self.prompt = prompt
        self.invitation = invitation
        door = DoorReporter(context, prompt: prompt, invitation: invitation, guests: .viewers)
        room = LogReporter(context)
    }

    func ready(_ host: Host) {
        door.setCode(host.code)
        let facts = host.description
        for warning in host.warnings { context.console.say("Warning: \(warning)") }
        context.console.say(
            "Sharing \(facts.source), \(facts.size.width) × \(facts.size.height), "
                + "at most \(Self.number(facts.frameRate)) \(facts.frameRate == 1 ? "frame" : "frames") and "
                + "\(Self.megabits(Double(facts.bitRate))) a second "
                + "(\(facts.encoder)).")
        // By its name alone only once it is announced.
        let words = AddressText(
            purpose: "To watch", command: "watch", bindAddress: facts.bindAddress, port: facts.controlPort)
        context.console.say(words.sentence())
        if !words.isReachable() { state.withLock { $0.addressless = words } }
        invite(host)
        showStatus(host, viewers: 0)
        context.events.write(
            "ready",
            [
                "name": .string(facts.name), "port": .integer(Int(facts.controlPort)),
                "mediaPort": .integer(Int(facts.mediaPort)), "width": .integer(facts.size.width),
                "height": .integer(facts.size.height), "encoder": .string(facts.encoder),
                "source": .string(facts.source),
            ])
        while let events = takeEarly() { for event in events { room.handle(event) } }
        // From here on a state is reported when it comes, and takes the place of this one.
        if let sound = state.withLock({ $0.earlySound.take() }) { report(sound) }
    }

    /// Nil: all were reported, and later ones aren't held back.
    private func takeEarly() -> [LogEvent]? {
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
    private var keys: String {
        (prompt.takesCommands ? "p pauses, n writes a note, x sends somebody away, ? lists all keys, " : "")
            + "Ctrl-C ends."
    }

    /// The last line of the terminal.
    private func showStatus(_ host: Host, viewers: Int, sheds: Shedding = .nothing) {
        context.console.setStatus(
            StatusLine(
                name: host.description.name, code: invitation.showsCode ? door.code : nil,
                facts: [StatusLine.audience(viewers)] + (host.isPaused ? ["paused"] : [])
                    + (sheds == .nothing ? [] : ["overloaded"]), keys: prompt.keys
            ))
    }

    private func invite(_ host: Host) {
        let console = context.console
        if invitation.isTrustedOnly {
            console.say("Only viewers that were paired before are let in. \(keys)")
        } else {
            door.sayCode()
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

    func handle(_ notice: HostNotice) {
        switch notice {
        case .session(let event): handle(event)
        case .announced(let name):
            context.console.say("Announced on the network as “\(name)”: `beamroom watch` on another machine finds it.")
        case .warning(let text): context.console.say("Warning: \(text)")
        case .notDiscoverable(let address, let reason):
            context.console.say(
                "Warning: No automatic discovery on this machine. Viewers connect by address"
                    + "\(address.map { ": `beamroom watch \($0.port == WatchTarget.defaultPort ? $0.host : $0.description)`" } ?? ""). "
                    + reason)
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
        case .sourceVisibility(let visibility): sourceVisibility(visibility)
        case .captionLineRefused(let number, let reason):
            guard state.withLock({ $0.captions.allows(at: .now) }) else { break }
            context.console.say("Line \(number) of the captions was left out: \(reason).")
        case .captionsEnded: context.console.say("The captions have ended. Sharing goes on.")
        case .transcriptFailed(let reason):
            context.console.say("The transcript has ended: \(reason) Sharing goes on.")
            context.events.write("transcript-failed", ["reason": .string(reason)])
        case .sound(let sound):
            let isEarly = state.withLock { state in
                state.earlySound = state.early == nil ? nil : sound
                return state.early != nil
            }
            if !isEarly { report(sound) }
        case .soundFailed(let reason):
            context.events.write("sound", ["state": .string("failed"), "reason": .string(reason)])
            context.console.say("Warning: \(reason) The picture is shared without it.")
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

    private func report(_ sound: SoundCaptureState) {
        context.events.write("sound", SoundText.fields(sound))
        // A device may come and go as often as it likes.
        if state.withLock({ $0.sound.allows(at: .now) }) { context.console.say(sound.description) }
    }

    /// What the viewers are told when the host ends; nil: that it has ended.
    var farewell: String? { state.withLock { $0.farewell } }

    private func sourceVisibility(_ visibility: SourceVisibility) {
        context.events.write("source-visible", visibility.fields)
        if let words = state.withLock({ $0.visibility.words(for: visibility, now: .now) }) {
            context.console.say(words)
        }
    }

    /// A host whose recording failed has failed, even if its viewers missed nothing.
    func verdict(_ ending: Ending) -> Ending {
        guard ending == .done || ending == .timeLimit, let reason = state.withLock({ $0.recordingFailure }) else {
            return ending
        }
        return .failed("The recording isn't complete. \(reason)")
    }

    private func handle(_ event: HostEvent) {
        if door.handle(event) { return }
        let console = context.console
        let events = context.events
        switch event {
        case .viewerPaired(let session, let visitor, let isResumed):
            state.withLock { state in
                state.viewers[session] = visitor
                if !isResumed { state.arriving.insert(session) }
            }
            door.letIn(visitor)
            let verdict = door.verdict(on: .visit, from: visitor.address)
            if verdict.toPerson {
                console.say("\(visitor) \(isResumed ? "is connected again" : "is let in").")
                if let name = visitor.newName, let known = visitor.name, !isResumed {
                    console.say(CommonText.newName(name, of: known, who: "It"))
                }
                if !visitor.isEncrypted, !isResumed {
                    console.say(
                        "Warning: The stream to \(visitor) is not encrypted: everybody on this network can see it.")
                }
            }
            guard verdict.toProgram else { break }
            events.write(
                "paired",
                DoorReporter.fields(
                    visitor,
                    [
                        "session": .string(session), "resumed": .bool(isResumed),
                        "encrypted": .bool(visitor.isEncrypted),
                    ]))
        case .room(let event):
            if state.withLock({ $0.early?.append(event) }) == nil { room.handle(event) }
        case .mediaStarted(let session, let address):
            let verdict = door.verdict(on: .visit, from: address.ip)
            // Expected of a viewer that was just let in, so nothing is said.
            let isArrival = state.withLock { $0.arriving.remove(session) != nil }
            if verdict.toPerson, !isArrival { console.say("\(who(session)) gets the picture again, at \(address).") }
            if verdict.toProgram {
                events.write("viewer-joined", ["address": .string("\(address)"), "session": .string(session)])
            }
        case .mediaStopped(let session, let reason):
            guard state.withLock({ $0.interruptions.allows(at: .now) }) else { break }
            console.say("\(who(session)) no longer gets the picture: \(reason).")
        case .controlLost:
            break
        case .viewerLeft(let session, let visitor, let reason):
            state.withLock { state in
                state.viewers[session] = nil
                state.arriving.remove(session)
            }
            let verdict = door.verdict(on: .visit, from: visitor.address)
            if verdict.toPerson {
                console.say(
                    reason == Self.goodbye ? "\(visitor) has stopped watching." : "\(visitor) has left: \(reason).")
            }
            guard verdict.toProgram else { break }
            events.write(
                "viewer-left", DoorReporter.fields(visitor, ["session": .string(session), "reason": .string(reason)]))
        case .audience:
            break
        case .viewerAsks, .comparisonAsked, .digitsShown, .comparisonFailed, .askWithdrawn, .devicePaired, .codeChanged,
            .askTaken, .codeServed, .codeTried, .codeChecked, .wrongCode, .viewerRefused, .connectionRefused,
            .connectionsRefused, .acceptingPaused,
            .listeningFailed,
            .listeningAgain:
            break
        case .layerChanged(let session, let isReduced):
            if state.withLock({ $0.layers.allows(at: .now) }) {
                console.say(
                    isReduced
                        ? "\(who(session)) gets the smaller stream now: the network to it carries less than the full one."
                        : "\(who(session)) gets the full stream again.")
            }
            events.write("layer", ["session": .string(session), "reduced": .bool(isReduced), "why": .string("path")])
        case .layerFitted(let session, let isReduced):
            events.write("layer", ["session": .string(session), "reduced": .bool(isReduced), "why": .string("size")])
        case .pictureLimited(let session, let limit):
            console.say(CommonText.pictureLimited(limit, who: who(session)))
            events.write("viewer-limited", CommonText.fields(limit, session: session))
        case .overloaded(let sheds, let viewers):
            if state.withLock({ $0.loads.allows(at: .now) }) {
                console.say(CommonText.overloaded(sheds, viewers: viewers))
            }
            events.write("overload", CommonText.fields(sheds, viewers: viewers))
        case .framesDropped(let count):
            guard state.withLock({ $0.drops.allows(at: .now) }) else { break }
            console.say(
                "\(CommonText.count(count, "frame was", "frames were")) left out, because the network was down or carries less than "
                    + "the stream. If this goes on, a lower -b helps.")
        }
    }

    /// The viewer of a session, for a message.
    private func who(_ session: String) -> String {
        state.withLock { $0.viewers[session] }.map { "\($0)" } ?? "A viewer"
    }

    func tick(_ host: Host) {
        let report = host.report()
        door.tick { host.setCode($0) }
        if let words = state.withLock({ $0.addressless }), words.isReachable() {
            state.withLock { $0.addressless = nil }
            context.console.say(words.sentence())
        }
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
        let total = host.isPaused ? "paused" : rate
        context.console.live([total] + ViewerTable.lines(rates.map(\.row)))
        showStatus(host, viewers: viewers, sheds: report.session.sheds)
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
            "Ended after \(CommonText.time(.seconds(seconds))): "
                + (report.session.bytes == 0
                    ? "nothing was sent, because nobody watched."
                    : "\(CommonText.count(report.session.frames, "frame")), \(Self.megabytes(report.session.bytes)) sent to viewers.")
        )
        if let recording = report.recording { context.console.say(CommonText.recorded(recording)) }
        if let transcript = host.transcript { context.console.say(CommonText.written(transcript)) }
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
            "sheds": .string(report.session.sheds.rawValue),
            "pathKbps": report.session.pathRate.map { .rounded(Double($0) / 1000) },
            "width": .integer(report.size.width),
            "height": .integer(report.size.height),
            "soundPackets": report.soundPackets.map { .count($0) },
            "soundSent": report.soundPackets.map { _ in .count(report.session.soundPackets) },
            "soundRetransmitted": report.soundPackets.map { _ in .count(report.session.soundRetransmissions) },
            "recorded": report.recording.map { .count($0.frames) },
            "recordingDropped": report.recording.map { .count($0.dropped) },
            "layers": .array(report.layers.enumerated().filter(\.element.isWatched).map { $1.fields(number: $0) }),
            "latencyMs": .latencies(["capture": report.capture, "encode": report.encode]),
        ]
    }

    /// `30`, `59.94`.
    static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String((value * 100).rounded() / 100)
    }

    static func megabits(_ bits: Double) -> String { "\((bits / 100_000).rounded() / 10) Mbit" }

    private static func megabytes(_ bytes: UInt64) -> String { "\((Double(bytes) / 100_000).rounded() / 10) MB" }
}
