import BeamDesktop
import BeamHost
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamSound
import BeamWire
import Synchronization

/// Reports what happens at a host: to the person, and as JSON events.
public final class ShareReporter: Sendable {
    private let context: CommandContext
    private let prompt: PairingPrompt
    private let door: DoorReporter
    private let invitation: DoorReporter.Invitation
    private let words: LogReporter
    /// Nil: the desktop shows none.
    private let notices: ShareNotices?
    /// Nil: no browsers are let in.
    private let web: WebReporter?
    private let text: ShareText
    private let state = Mutex(State())
    /// The event `ready` is the first one. Of the sound only the newest state counts then.
    private let earlyWords = EarlyEvents<LogEvent>()
    private let earlySound = EarlyEvents<SoundCaptureState>()

    private struct State {
        var last: HostReport?
        /// What that came to in the second before it.
        var rates: (all: StreamRate, viewers: [ViewerRate])?
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
        var visibility = SourceVisibility.visible
        /// The last notice says that somebody watches.
        var isAudienceShown = false
        /// How to reach this machine is to be said as soon as it has an address; nil: it was said.
        var addressless: AddressText?
    }

    /// The reason of a viewer that has said goodbye.
    private static let goodbye = "its program has ended"

    public init(
        _ context: CommandContext, prompt: PairingPrompt, invitation: DoorReporter.Invitation,
        notices: ShareNotices? = nil
    ) {
        self.notices = notices
        self.context = context
        self.prompt = prompt
        self.invitation = invitation
        text = ShareText(takesCommands: prompt.takesCommands)
        door = DoorReporter(context, person: prompt, invitation: invitation, guests: .viewers)
        words = LogReporter(context)
        web = invitation.web.map { WebReporter(context, $0, acceptance: invitation.acceptance) }
    }

    public func ready(_ host: some ServingHost) {
        door.setCode(host.code)
        let facts = host.description
        for warning in host.warnings { context.say("Warning: \(warning)") }
        context.say(ShareText.facts(facts))
        // By its name alone only once it is announced.
        let address = AddressText(
            purpose: "To watch", command: "watch", bindAddress: facts.bindAddress, port: facts.controlPort)
        context.say(address.sentence())
        if !address.isReachable() { state.withLock { $0.addressless = address } }
        invite()
        if let place = facts.web { web?.begin(place, bindAddress: facts.bindAddress, code: host.webCode) }
        showStatus(host, viewers: 0)
        context.events.write(.share(.ready(facts, metricsPort: context.metricsPort)))
        ServiceManager.current?.ready("“\(facts.name)” is shared")
        earlyWords.release { words.handle($0) }
        var sound: SoundCaptureState?
        earlySound.release { sound = $0 }
        if let sound { report(.sound(sound)) }
    }

    /// The last line of the terminal.
    private func showStatus(_ host: some ServingHost, viewers: Int, sheds: Shedding = .nothing) {
        context.console.setStatus(
            StatusLine(
                name: host.description.name, code: invitation.showsCode ? door.code : nil,
                facts: [StatusLine.audience(viewers)] + (host.isPaused ? ["paused"] : [])
                    + (sheds == .nothing ? [] : ["overloaded"]), keys: prompt.keys
            ))
    }

    /// Says how viewers are let in, and what the person can press.
    private func invite() {
        if !invitation.isTrustedOnly { door.sayCode() }
        let keys =
            (prompt.takesCommands ? "p pauses, n writes a note, x sends somebody away, ? lists all keys, " : "")
            + "Ctrl-C ends."
        context.say(invitation.words(keys: keys, isInBackground: prompt.isInBackground))
        guard invitation.allowsUnencrypted else { return }
        context.say(
            "Warning: Older apps are let in without encryption (--allow-unencrypted): everybody on this network can see their pictures."
        )
    }

    /// The key `w`: the address for browsers, their code, and both for a phone's camera; and what pages by themselves need.
    ///
    /// - Parameter gateways: by which browsers can watch now, and what is put behind the address of a page for each.
    public func showWeb(_ gateways: [(address: GatewayAddress, fragment: String)] = []) {
        web?.show()
        for door in gateways {
            context.say(
                "Behind the address of a page of `beamroom web-page --gateway \(door.address)`, whoever has this watches until "
                    + "the share ends: \(door.fragment)", as: .code)
        }
    }

    public func handle(_ notice: HostNotice) {
        switch notice {
        case .browserStarted(let session, _, _):
            state.withLock { _ = $0.arriving.remove(session) }
            report(notice)
        case .session(let event): handle(event)
        case .recordingInto(let path):
            let isFirst = state.withLock { state in
                defer { state.isRecording = true }
                return !state.isRecording
            }
            if isFirst { return report(notice) }
            context.tell(
                .share(.recording(path: path)),
                "The picture's size has changed: the recording goes on in \(path).")
        case .recordingFailed(let reason):
            state.withLock { $0.recordingFailure = reason }
            report(notice)
        case .sourceVisibility(let visibility):
            let before = state.withLock { state in
                defer { state.visibility = visibility }
                return state.visibility
            }
            context.tell(
                .share(.sourceVisible(visibility)), ShareText.sentence(visibility, after: before), as: .visibility)
        case .sound(let state): if !earlySound.hold(state) { report(notice) }
        case .ended(let reason, let farewell, let isWish):
            state.withLock { $0.farewell = farewell }
            context.latch.end(isWish ? context.ending(byWish: reason) : .failed(reason))
        default: report(notice)
        }
    }

    private func report(_ notice: HostNotice) {
        context.tell(
            ProgramEvent.Share(notice).map { .share($0) }, text.sentence(notice), as: Flood(notice))
    }

    /// What the viewers are told when the host ends; nil: that it has ended.
    public var farewell: String? { state.withLock { $0.farewell } }

    /// A host whose recording failed has failed, even if its viewers missed nothing.
    public func verdict(_ ending: Ending) -> Ending {
        guard ending == .done || ending == .timeLimit, let reason = state.withLock({ $0.recordingFailure }) else {
            return ending
        }
        return .failed("The recording isn't complete. \(reason)")
    }

    // MARK: Viewers

    private func handle(_ event: HostEvent) {
        if door.handle(event) { return }
        switch event {
        case .webCodeChanged(let change): web?.codeChanged(change)
        case .viewerPaired(let session, let visitor, let isResumed): letIn(visitor, session, isResumed: isResumed)
        case .room(let event): if !earlyWords.hold(event) { words.handle(event) }
        case .mediaStarted(let session, let address):
            // Expected of a viewer that was just let in, so nothing is said.
            let isArrival = state.withLock { $0.arriving.remove(session) != nil }
            door.tell(
                .visit, from: address.ip, .getsPicture(address, session: session),
                isArrival ? nil : "\(who(session)) gets the picture again, at \(address).")
        case .mediaStopped(let session, let reason):
            context.say("\(who(session)) no longer gets the picture: \(reason).", as: .interruption)
        case .viewerLeft(let session, let visitor, let reason):
            state.withLock { state in
                state.arriving.remove(session)
                state.viewers[session] = nil
            }
            door.tell(
                .visit, from: visitor.address, .left(visitor, session: session, reason: reason),
                reason == Self.goodbye ? "\(visitor) has stopped watching." : "\(visitor) has left: \(reason).")
        case .layerChanged(let session, let isReduced):
            context.tell(
                .share(.layer(session: session, isReduced: isReduced, why: .path)),
                ShareText.layer(isReduced: isReduced, who: who(session)), as: .layer)
        case .pictureLimited(let session, let limit):
            context.tell(
                .share(.viewerLimited(session: session, limit)),
                ShareText.pictureLimited(limit, who: who(session)))
        case .framesDropped(let count): context.say(ShareText.dropped(count), as: .drop)
        default: report(.session(event))
        }
    }

    private func letIn(_ visitor: Visitor, _ session: String, isResumed: Bool) {
        let watching = state.withLock { state in
            state.viewers[session] = visitor
            if !isResumed { state.arriving.insert(session) }
            return state.viewers.count
        }
        if let notices, !isResumed, context.floods.allows(.notice) {
            state.withLock { $0.isAudienceShown = true }
            notices.came(visitor, watching: watching)
        }
        door.letIn(visitor)
        var lines = ["\(visitor) \(isResumed ? "is connected again" : "is let in")."]
        if let name = visitor.newName, let known = visitor.name, !isResumed {
            lines.append(CommonText.newName(name, of: known, who: "It"))
        }
        if !visitor.isEncrypted, !isResumed {
            lines.append("Warning: The stream to \(visitor) is not encrypted: everybody on this network can see it.")
        }
        door.tell(
            .visit, from: visitor.address, .letIn(visitor, session: session, isResumed: isResumed),
            lines.joined(separator: "\n"))
    }

    /// The viewer of a session, for a message.
    private func who(_ session: String) -> String {
        state.withLock { $0.viewers[session] }.map { "\($0)" } ?? "A viewer"
    }

    // MARK: Figures

    public func tick(_ host: some ServingHost) {
        let report = host.report(sinceStart: false)
        door.tick { host.setCode($0) }
        web?.tick { host.setWebCode($0) }
        if let words = state.withLock({ $0.addressless }), words.isReachable() {
            state.withLock { $0.addressless = nil }
            context.say(words.sentence())
        }
        let previous = state.withLock { state in
            defer { state.last = report }
            return state.last
        }
        let rate = StreamRate(report, since: previous)
        let viewers = ViewerRate.all(report, since: previous)
        state.withLock { $0.rates = (rate, viewers) }
        context.console.live(
            [host.isPaused ? "paused" : CommonText.rate(rate)] + ViewerTable.lines(viewers.map(\.row))
                + report.gateways.compactMap { GatewayText.line($0) })
        showStatus(
            host, viewers: report.session.viewers + report.viewersAtGateways,
            sheds: report.session.sheds)
        context.events.write(.share(.stats(report, rate, viewers)))
        let watching = report.session.viewers + report.viewersAtGateways
        showAudience(watching)
        guard let service = ServiceManager.current else { return }
        let audience = StatusLine.audience(watching)
        service.show("“\(host.description.name)” is \(host.isPaused ? "paused" : "shared"), and \(audience)")
        // Not before the report: that was waited for at the network's event loop, which is alive then.
        service.live()
    }

    /// Shows that the last one has left, by whichever way, and that somebody watches whose coming wasn't shown.
    private func showAudience(_ reported: Int) {
        // Somebody may have come since the report.
        let (watching, isShown) = state.withLock { (max(reported, $0.viewers.count), $0.isAudienceShown) }
        guard let notices, isShown != (watching > 0), context.floods.allows(.notice) else { return }
        state.withLock { $0.isAudienceShown = watching > 0 }
        notices.show(watching: watching)
    }

    /// For another program of the user's.
    public func status(_ kind: RunningStatus.Kind, _ host: some ServingHost) -> RunningStatus {
        let (report, rates) = state.withLock { ($0.last, $0.rates) }
        let stream = RunningStatus.Stream(
            host.description, isPaused: host.isPaused, rate: rates?.all, viewers: rates?.viewers ?? [],
            viewersAtGateways: report?.viewersAtGateways ?? 0)
        return RunningStatus(kind, name: host.description.name, stream: stream, asking: prompt.asking)
    }

    public func summarise(_ host: some ServingHost) {
        context.console.finish()
        let report = host.report(sinceStart: true)
        let seconds = max(0.001, context.events.millisecondsSinceStart / 1000)
        context.tell(
            .share(.summary(report, StreamRate(report, in: seconds))), ShareText.summary(report, seconds: seconds))
        if let recording = report.recording { context.say(CommonText.recorded(recording)) }
        if let transcript = host.transcript { context.say(CommonText.written(transcript)) }
    }
}
