import BeamHost
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWire

/// What happens to a share, in words for the person who shares.
struct ShareText: Sendable {
    /// In a room of equals; otherwise viewers watch a host.
    var isInRoom = false
    /// Keys in the terminal are commands.
    var takesCommands: Bool

    /// Nil: nothing is said.
    func sentence(_ notice: HostNotice) -> String? {
        switch notice {
        case .warning(let text): "Warning: \(text)"
        case .resized(let size): "\(isInRoom ? "Your" : "The") picture is now \(size.width) × \(size.height)."
        case .captionLineRefused(let number, let reason):
            "Line \(number) of the captions was left out: \(reason)."
        case .captionsEnded: "The captions have ended.\(goesOn)"
        case .transcriptFailed(let reason): "The transcript has ended: \(reason)\(goesOn)"
        case .sound(let state): state.description
        case .soundFailed(let reason):
            "Warning: \(reason) \(isInRoom ? "Your screen" : "The picture") is shared without it."
        case .paused(true):
            "Paused: nothing is captured, and \(isInRoom ? "the others" : "viewers") keep the last picture."
                + (takesCommands ? " Press p to resume." : "")
        case .paused(false):
            isInRoom ? "Resumed: the others see your screen again." : "Resumed: viewers see the screen again."
        case .session(.overloaded(let sheds, let viewers)): Self.overloaded(sheds, viewers: viewers)
        case .announced, .notDiscoverable, .recordingInto, .recordingHasGaps, .recordingFailed: ofHost(notice)
        case .gateway(let name, let event): GatewayText.sentence(event, at: name)
        case .session, .browserStarted, .sourceVisibility, .ended: nil
        }
    }

    private var goesOn: String { isInRoom ? "" : " Sharing goes on." }

    private func ofHost(_ notice: HostNotice) -> String? {
        switch notice {
        case .announced(let name):
            return "Announced on the network as “\(name)”: `beamroom watch` on another machine finds it."
        case .notDiscoverable(let address, let reason):
            let command = address.map { ": `beamroom watch \(AddressText.typed($0))`" } ?? ""
            return "Warning: No automatic discovery on this machine. Viewers connect by address\(command). \(reason)"
        case .recordingInto(let path): return "Recording into \(path)."
        case .recordingHasGaps:
            return "Warning: The disk is too slow for the stream. The recording has gaps; viewers miss nothing."
        case .recordingFailed(let reason): return "The recording has ended: \(reason) Sharing goes on."
        default: return nil
        }
    }

    /// That the source can't be seen any more, or again after `before`.
    static func sentence(_ visibility: SourceVisibility, after before: SourceVisibility) -> String {
        switch (visibility, before) {
        case (.windowHidden, _):
            "The shared window is hidden: it is minimised, or on another workspace. Viewers keep its last picture."
        case (.monitorOff, _):
            "The shared monitor is off or unplugged. Viewers keep its last picture; it goes on when it is back."
        case (.regionOutside, _):
            "The shared region lies outside the screen, which has become smaller. Viewers keep the last picture."
        case (.screenLocked, _):
            "The screen is locked, and the desktop shares nothing meanwhile. Viewers keep its last picture; it goes on when "
                + "the screen is unlocked."
        case (.consentAwaited, _):
            "The desktop asks again what to share: answer its dialog, on this machine's screen. Viewers keep the last picture."
        case (.hostLost, _): "The host can't be reached. Viewers keep its last picture; it goes on when it is back."
        case (.hostEnded, _):
            "The host has ended its share. Viewers keep its last picture; it goes on when it shares again."
        case (.visible, .hostLost), (.visible, .hostEnded): "The host is there again."
        case (.visible, .screenLocked), (.visible, .consentAwaited): "The desktop is shared again."
        case (.visible, .monitorOff): "The shared monitor is back."
        case (.visible, .regionOutside): "The shared region is on the screen again."
        case (.visible, _): "The shared window is visible again."
        }
    }

    /// What this machine sends less of because it can't send everything to so many viewers.
    private static func overloaded(_ sheds: Shedding, viewers: Int) -> String {
        let they = viewers == 1 ? "it gets" : "they get"
        let less: String
        switch sheds {
        case .nothing: return "This machine keeps up again: viewers get everything."
        case .rate: less = "\(they) a lower bit rate"
        case .frames: less = "\(they) a lower bit rate and fewer frames"
        case .places:
            less = "\(they) a lower bit rate and fewer frames, and nobody else is let in until there is room"
        }
        return "This machine can't send everything to \(CommonText.count(viewers, "viewer")): \(less)."
    }

    /// That a viewer, which begins the sentence, doesn't take the whole picture; nil: it does again.
    static func pictureLimited(_ limit: PictureLimit?, who: String) -> String {
        limit.map {
            "\(who) gets a smaller picture, \($0.sent.width) × \($0.sent.height) of "
                + "\($0.full.width) × \($0.full.height): it takes no more than \($0.bounds)."
        } ?? "\(who) gets the whole picture again."
    }

    static func layer(isReduced: Bool, who: String) -> String {
        isReduced
            ? "\(who) gets the smaller stream now: the network to it carries less than the full one."
            : "\(who) gets the full stream again."
    }

    static func dropped(_ frames: Int) -> String {
        "\(CommonText.count(frames, "frame was", "frames were")) left out, because the network was down or carries less than "
            + "the stream. If this goes on, a lower -b helps."
    }

    /// What is shared: the host's first line.
    static func facts(_ facts: HostDescription) -> String {
        if facts.isRelay {
            return "Passing on what “\(PeerText.name(facts.source))” shares as “\(facts.name)”, "
                + "\(facts.size.width) × \(facts.size.height), as it comes."
        }
        return "Sharing \(facts.source), \(facts.size.width) × \(facts.size.height), "
            + "at most \(CommonText.number(facts.frameRate)) \(facts.frameRate == 1 ? "frame" : "frames") and "
            + "\(CommonText.megabits(Double(facts.bitRate))) a second (\(facts.encoder))."
    }

    /// The same for a member of a room.
    func began(_ facts: HostDescription) -> String {
        "You share \(facts.source), \(facts.size.width) × \(facts.size.height), with everybody in the room."
            + (takesCommands ? " s ends that." : "")
    }

    /// The last line.
    static func summary(_ report: HostReport, seconds: Double) -> String {
        let gateways = report.gateways.reduce(0) { $0 + $1.bytes }
        var parts: [String] = []
        if report.session.bytes > 0 {
            parts.append(
                "\(CommonText.count(report.session.frames, "frame")), \(CommonText.megabytes(report.session.bytes)) sent to viewers"
            )
        }
        if gateways > 0 { parts.append("\(CommonText.megabytes(gateways)) sent to gateways") }
        return "Ended after \(CommonText.time(.seconds(seconds))): "
            + (parts.isEmpty ? "nothing was sent, because nobody watched." : parts.joined(separator: ", ") + ".")
    }
}

extension ProgramEvent.Share {
    /// Nil: programs aren't told.
    init?(_ notice: HostNotice) {
        switch notice {
        case .paused(let isPaused): self = .paused(isPaused)
        case .sourceVisibility(let visibility): self = .sourceVisible(visibility)
        case .sound(let state): self = .sound(state)
        case .soundFailed(let reason): self = .soundFailed(reason: reason)
        case .recordingInto(let path): self = .recording(path: path)
        case .recordingFailed(let reason): self = .recordingFailed(reason: reason)
        case .transcriptFailed(let reason): self = .transcriptFailed(reason: reason)
        case .session(.layerChanged(let session, let isReduced)):
            self = .layer(session: session, isReduced: isReduced, why: .path)
        case .session(.layerFitted(let session, let isReduced, let isForWish)):
            self = .layer(session: session, isReduced: isReduced, why: isForWish ? .wish : .size)
        case .session(.pictureLimited(let session, let limit)): self = .viewerLimited(session: session, limit)
        case .session(.overloaded(let sheds, let viewers)): self = .overload(sheds, viewers: viewers)
        case .browserStarted(let session, let time, let gateway):
            self = .browserStarted(session: session, milliseconds: time.inMilliseconds, gateway: gateway)
        case .gateway(let name, let event): self = .gateway(name, event)
        case .session, .announced, .warning, .notDiscoverable, .resized, .recordingHasGaps, .captionLineRefused,
            .captionsEnded, .ended:
            return nil
        }
    }
}

extension Flood {
    /// Nil: the notice comes seldom, or causes nothing to be said.
    init?(_ notice: HostNotice) {
        switch notice {
        case .sound: self = .sound
        case .gateway: self = .gateway
        case .captionLineRefused: self = .captions
        case .session(.overloaded): self = .load
        default: return nil
        }
    }
}
