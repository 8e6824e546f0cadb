import BeamDisplay
import BeamMedia
import BeamSession
import BeamSound
import BeamViewer
import BeamWire

/// What happens to what is watched, in words for the person at the viewer. (`ViewerAnnouncement` has the viewer's states.)
enum WatchText {
    static let liveAgain = "The picture is live again."
    static let soundIsOwn =
        "This host is this machine, so its sound isn't played again: it would be shared once more. "
        + "--audio-output NAME plays it."
    static let unencrypted = "Warning: This picture is not encrypted: everybody on this network can see it."

    /// Nil: nothing to tell a person.
    static func sound(_ state: SoundOutputState) -> String? {
        if case .playing = state { nil } else { state.description }
    }

    static func paired(_ name: String, isToBeRemembered: Bool) -> String {
        "Paired with “\(name)”\(isToBeRemembered ? ": next time no code is needed" : " for this session")."
    }

    /// That the host's picture is larger than this viewer takes, and how to take all of it, if that is possible; nil: it
    /// no longer is.
    static func pictureLimited(_ full: PixelSize?) -> String {
        guard let full else { return "The host sends its whole picture again." }
        let remedy =
            PictureBounds.possible.contains(full)
            ? " `--max-picture \(full)` shows all of it, if you trust the host." : ""
        return "The host shares \(full.width) × \(full.height) pixels, more than this viewer takes, and sends a "
            + "smaller picture.\(remedy)"
    }

    /// That the host sends what it sends everybody, whatever this viewer wishes; nil: it follows the wish.
    static func quality(_ wish: QualityWish, isTaken: Bool) -> String? {
        guard !isTaken, wish != .any else { return nil }
        return
            "This host can't send less to one viewer: it passes on another host's picture, or its program is older than "
            + "that. -b, -m and --max-fps have no effect here. At the sharing host they have one, for all viewers."
    }

    /// That the host `known` calls itself otherwise; `wasChosen`: it was chosen by that name.
    static func otherName(_ name: String, known: String, wasChosen: Bool) -> String {
        guard wasChosen else { return CommonText.newName(name, of: known, who: "“\(known)”") }
        return
            "“\(name)” is the machine that you know as “\(known)”. To \(PeerText.isCut(name) ? "give it another" : "use that") "
            + "name here: \(PeerText.renameCommand(known, to: name))."
    }

    static func screenshot(_ outcome: ScreenshotOutcome) -> String {
        switch outcome {
        case .written(let path, _): "The screenshot is in \(path)"
        case .failed(let reason): reason
        }
    }

    // MARK: Files

    static func writing(_ file: OutputPath, isContinued: Bool) -> String {
        switch (file.kind, isContinued) {
        case (.recording, false): "Recording into \(file.path)."
        case (.recording, true): "The picture's size has changed: the recording goes on in \(file.path)."
        case (.frames, false): "Writing the pictures into \(file.path)."
        case (.frames, true): "The picture's size or format has changed: the pictures go on in \(file.path)."
        case (.transcript, _): "Writing the transcript into \(file.path)."
        case (.sound, false): "Writing the sound into \(file.path)."
        case (.camera, _): "\(camera(file)) shows the picture to other programs."
        case (.sound, true): "A sound file takes 4 GB: the sound goes on in \(file.path)."
        }
    }

    /// By its name, or as the device that it is.
    private static func camera(_ file: OutputPath) -> String {
        file.path.hasPrefix("/") ? "The camera \(file.path)" : "The camera “\(file.path)”"
    }

    static func behind(_ file: OutputPath) -> String {
        let reader = file.path == "-" ? "The program that reads the pictures" : file.path
        let words =
            switch file.kind {
            case .recording: "The disk is too slow for the recording, which has gaps."
            case .transcript: "The disk is too slow for the transcript."
            case .sound: "The disk is too slow for the sound. Some of it is left out."
            // A camera is never behind: it shows the newest picture, and no other.
            case .frames, .camera: "\(reader) takes the pictures too slowly, or not at all. Some are left out."
            }
        return "Warning: \(words)"
    }

    static func caughtUp(_ file: OutputPath, leftOut: Int) -> String {
        let name = file.path == "-" ? "standard output" : file.path
        return file.kind == .sound
            ? "\(CommonText.number(Double(leftOut) / 100)) s of sound were left out of \(name)."
            : "\(CommonText.count(leftOut, "picture was", "pictures were")) left out of \(name)."
    }

    static func failed(_ file: OutputPath, _ reason: String, goesOn: Bool) -> String {
        let what =
            switch file.kind {
            case .recording: "The recording"
            case .frames: "The file of pictures"
            case .transcript: "The transcript"
            case .sound: "The file of the sound"
            case .camera: camera(file)
            }
        return "\(what) has ended: \(reason)\(goesOn ? " Watching goes on." : "")"
    }
}

extension ProgramEvent.Watch {
    /// Nil: programs aren't told, or elsewhere.
    init?(_ event: ViewerEvent) {
        switch event {
        case .connecting(let attempt): self = .connecting(attempt: attempt)
        case .connection(let state): self = .connection(state)
        case .waitingForPerson(let host, _): self = .asking(name: host)
        case .codeNeeded(let question): self = .codeNeeded(question)
        case .paired(let session, let name, let isNew, let isEncrypted):
            self = .letIn(session: session, name: name, isNew: isNew, isEncrypted: isEncrypted)
        case .refused(let refusal): self = .refused(refusal)
        case .retrying(let delay, let reason): self = .retrying(after: delay, reason: reason)
        case .hostEnded(let says): self = .hostEnded(reason: says)
        case .broadcast(let isOn): self = .broadcast(isOn)
        case .pictureLimited(let full): self = .pictureLimited(full)
        case .quality(let wish, let isTaken): self = .quality(wish, isTaken: isTaken)
        case .sourceVisibility(let visibility): self = .sourceVisible(visibility)
        case .stalled(let duration, let cause): self = .stalled(duration, cause)
        case .mediaReconnecting: self = .mediaReconnecting
        case .mediaResumed: self = .resumed
        case .controlLost(let reason): self = .controlLost(reason: reason)
        case .controlRestored: self = .controlRestored
        case .hostCallsItself, .hostReached, .hostNamed, .waitingForDecision, .hostRelays, .hostHasSound,
            .hostHasPatches, .hostPaired,
            .mistrusted, .screenAwaited,
            .room:
            return nil
        }
    }
}
