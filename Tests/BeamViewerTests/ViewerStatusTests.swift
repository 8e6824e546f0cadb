import BeamMedia
import BeamNetwork
import BeamTrust
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamViewer
@testable import BeamWire

/// The window always shows a text or a picture, and the text is true.
@MainActor struct ViewerStatusTests {
    let code = PairingCode("482913")!

    static func paired(_ name: String? = "desk", isNew: Bool = true) -> ViewerEvent {
        .paired(session: "S", deviceName: name, isNewSession: isNew, isEncrypted: true)
    }

    /// A status whose picture is live.
    static func watching() -> ViewerStatus {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
        status.handle(paired())
        _ = status.pictureArrived()
        return status
    }

    /// Strangers aren't told who is in a room, so the words are about the room.
    @Test func aNewcomerAtARoomsDoorReadsOfTheRoom() {
        var full = ViewerStatus.atRoomDoor("10.99.0.11:36441")
        full.handle(.refused(.other(says: "The room “study” is full: 8 members are here")))
        #expect(full.words?.headline == "You can't enter the room")
        #expect(full.words?.detail == "It says “The room 'study' is full: 8 members are here”.")
        #expect(full.words?.isFinal == true && full.isOver)

        var door = ViewerStatus.atRoomDoor("192.0.2.7:52345")
        #expect(door.words?.sentence == "Connecting to 192.0.2.7:52345…")
        door.handle(.codeNeeded(CodeQuestion(host: "study", mayAsk: true)))
        #expect(door.words?.headline == "Type the code that the screens in “study” show")
        #expect(door.codeHeadline == door.words?.headline)
        door.personAsked()
        #expect(door.words?.headline == "The people in “study” are asked to let you in")
        door.handle(.refused(.declined))
        #expect(door.words?.headline == "You weren't let into “study”")
        #expect(door.words?.detail?.contains("beamroom watch") == false)
    }

    @Test func aMemberThatHasPausedIsShownSo() {
        var status = Self.watching()
        #expect(!status.isPaused && status.words == nil && status.tileWords == nil)
        status.heldByMember(true)
        #expect(status.isPaused && status.words?.headline == "“desk” has paused")
        #expect(status.tileWords?.state == "Paused")
        status.heldByMember(false)
        #expect(!status.isPaused && status.words == nil)
        var waiting = ViewerStatus(connectingTo: "desk")
        waiting.heldByMember(true)
        waiting.handle(Self.paired())
        let before = waiting.words
        #expect(before?.detail == "Its last picture stays until it resumes.")
        _ = waiting.pictureArrived()
        #expect(waiting.words?.sentence == before?.sentence, "one sentence, said once")
    }

    /// The last picture of a share that has ended, or isn't for this viewer, isn't seen any more.
    @Test func whatIsOverIsCovered() {
        for event in [
            ViewerEvent.hostEnded(says: nil), .broadcast(false), .refused(.forgotten(says: "no")),
            .refused(.other(says: "no")),
        ] {
            var status = Self.watching()
            #expect(!status.isOver)
            status.handle(event)
            #expect(status.isOver, "\(event)")
        }
        for event in [
            ViewerEvent.controlLost(reason: "gone"), .stalled(.seconds(3), .nothingArrives),
            .sourceVisibility(.windowHidden),
        ] {
            var status = Self.watching()
            status.handle(event)
            #expect(!status.isOver, "\(event)")
        }
    }

    /// At a receiver nobody has asked to be let in.
    @Test func aReceiverSaysThatASenderIsAboutToShowItsScreen() {
        let trust = ViewerOptions.Trust(store: TrustStore(path: "/nowhere"), deviceName: "Hall")
        var options = ViewerOptions(target: .anyHost, trust: trust)
        options.sender = ViewerOptions.Sender(
            endpoint: Endpoint(host: "192.0.2.7", port: 1), device: DeviceKey([UInt8](repeating: 7, count: 32))!,
            name: "Sofa")
        var status = Viewer.firstStatus(options)
        let words = "“Sofa” is about to show its screen. Waiting for the picture…"
        #expect(status.words?.sentence == words)
        status.handle(Self.paired("Sofa"))
        #expect(status.words?.sentence == words)
    }

    @Test func aTextIsShownUntilThePictureComes() {
        var status = ViewerStatus(connectingTo: "desk")
        #expect(status.words?.sentence == "Connecting to “desk”…")
        status.handle(.waitingForDecision(code: code))
        #expect(status.words?.digits == code)
        #expect(
            status.words?.sentence
                == "The person at “desk” compares these digits: 482 913. If both screens show the same, that person lets you in."
        )
        status.handle(Self.paired("Anna’s desk"))
        #expect(status.words?.sentence == "“Anna’s desk” has let you in. Waiting for the picture…")
        #expect(status.hostName == "Anna’s desk")
        let isNews = status.pictureArrived()
        #expect(isNews && status.words == nil)
        let isNewsAgain = status.pictureArrived()
        #expect(!isNewsAgain)
    }

    static func alert(_ alert: LogAlert) -> ViewerEvent {
        let line = LogLine(
            author: DeviceKey([UInt8](repeating: 7, count: 32))!, name: "desk", isOwn: false, isKeepers: true,
            content: .alert(alert), time: .zero, age: .zero)
        return .room(.lines([line]))
    }

    @Test func aPausedHostHasItsWordsWithAndWithoutAPicture() {
        var status = Self.watching()
        status.handle(Self.alert(.paused))
        #expect(
            status.isPaused && status.words?.sentence == "“desk” has paused. Its last picture stays until it resumes.")
        // A loss says more.
        status.handle(.stalled(.seconds(2), .nothingArrives))
        #expect(status.words?.headline == "Nothing arrives from “desk”")
        status.handle(.mediaResumed)
        #expect(status.words?.headline == "“desk” has paused")
        status.handle(Self.alert(.resumed))
        #expect(!status.isPaused && status.words == nil)

        var late = ViewerStatus(connectingTo: "desk")
        late.handle(Self.paired())
        late.handle(Self.alert(.paused))
        #expect(late.words?.sentence == "“desk” has paused. Its last picture stays until it resumes.")
        late.handle(Self.alert(.resumed))
        _ = late.pictureArrived()
        #expect(late.words == nil)
    }

    @Test func anOldPauseIsNotShownWhileTheHistoryComes() {
        var status = Self.watching()
        for event in [.room(.catchingUp), Self.alert(.paused)] { status.handle(event) }
        #expect(!status.isPaused && status.words == nil)
        status.handle(Self.alert(.resumed))
        status.handle(.room(.caughtUp(host: "desk")))
        #expect(!status.isPaused && status.words == nil)
        // A new session in the same room, before a picture.
        status.handle(Self.alert(.paused))
        status.handle(Self.paired())
        for event in [.room(.catchingUp), Self.alert(.resumed), Self.alert(.paused)] { status.handle(event) }
        #expect(status.words?.headline == "“desk” has let you in", "it isn't known yet")
        status.handle(.room(.caughtUp(host: "desk")))
        #expect(status.words?.headline == "“desk” has paused")
    }

    @Test func anotherRoomOrVersionIsNotPaused() {
        var status = Self.watching()
        status.handle(Self.alert(.paused))
        status.handle(.hostEnded(says: nil))
        #expect(status.words?.headline == "“desk” has ended its share")
        status.handle(Self.paired())
        #expect(status.isPaused, "the same room may go on")
        #expect(status.words?.headline == "“desk” has let you in", "or another one begins")
        status.handle(.room(.began(completeSince: .zero, takesNotes: true)))
        #expect(!status.isPaused)
        status.handle(Self.alert(.paused))
        status.handle(.paired(session: "S", deviceName: "desk", isNewSession: true, isEncrypted: false))
        #expect(!status.isPaused)
    }

    @Test func aHostThatWasNeverReachedIsConnectedTo() {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
        for number in 1...3 {
            status.handle(.connecting(attempt: number))
            status.handle(.hostNamed("desk"))
            status.handle(.retrying(after: .seconds(1), reason: "192.0.2.7:52345: nobody shares there"))
            #expect(
                status.words?.sentence
                    == "Connecting to 192.0.2.7:52345… 192.0.2.7:52345: nobody shares there. Trying again.")
        }
    }

    /// A name that can't be discovered is no use in a command, and a host that was never named has none.
    @Test(arguments: [ViewerRefusal.unknownThere, .forgottenHere, .notPaired])
    func aCommandNamesWhatWasWatched(_ refusal: ViewerRefusal) {
        for name in [nil, "desk"] {
            var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
            if let name { status.handle(.hostNamed(name)) }
            status.handle(.refused(refusal))
            #expect(status.words?.detail?.contains("`beamroom watch '192.0.2.7:52345'`") == true)
        }
    }

    @Test func aHostThatHasEndedHasOneSentence() {
        var status = Self.watching()
        status.handle(.hostEnded(says: nil))
        let sentence = "“desk” has ended its share. The picture returns when it shares again."
        let rest: [ViewerEvent] = [
            .connecting(attempt: 1), .retrying(after: .seconds(1), reason: "refused"),
            .stalled(.seconds(3), .nothingArrives), .mediaReconnecting, .mediaResumed, .connecting(attempt: 2),
        ]
        for event in rest {
            status.handle(event)
            #expect(status.words?.sentence == sentence, "\(event)")
        }
        // A frame that was being decoded.
        _ = status.pictureArrived()
        #expect(status.words?.sentence == sentence)
        status.handle(Self.paired())
        #expect(status.words?.sentence == "“desk” has let you in. Waiting for the picture…")
        _ = status.pictureArrived()
        #expect(status.words == nil)
    }

    @Test func aHostSaysWhyItHasEnded() {
        var status = Self.watching()
        status.handle(.hostEnded(says: "The shared window was closed"))
        #expect(
            status.words?.sentence
                == "“desk” has ended its share. It says “The shared window was closed”. The picture returns when it shares again."
        )
    }

    @Test(arguments: [
        (SourceVisibility.windowHidden, "The shared window is hidden", "The window is hidden"),
        (.monitorOff, "The shared monitor is off", "The monitor is off"),
        (.regionOutside, "The shared part of the screen is gone", "The shared part is gone"),
        (.screenLocked, "The shared screen is locked", "The screen is locked"),
        (.consentAwaited, "The desktop at “desk” asks what to share", "The desktop there asks"),
        (.hostLost, "What “desk” passes on can't be reached", "The host behind it is lost"),
        (.hostEnded, "What “desk” passes on isn't shared any more", "The host behind it has ended"),
    ])
    func whatCannotBeSeenIsTold(visibility: SourceVisibility, headline: String, tile: String) {
        var status = Self.watching()
        status.handle(.sourceVisibility(visibility))
        #expect(status.words?.headline == headline)
        #expect(status.tileWords?.state == tile)
        status.handle(.sourceVisibility(.visible))
        #expect(status.words == nil && status.tileWords == nil)
    }

    @Test func reconnectingControlIsNotShownWhileThePictureMoves() {
        var status = Self.watching()
        let mending: [ViewerEvent] = [
            .controlLost(reason: "reset"), .connecting(attempt: 1), .retrying(after: .seconds(1), reason: "refused"),
            .waitingForDecision(code: code), Self.paired(nil, isNew: false), .controlRestored,
        ]
        for event in mending {
            status.handle(event)
            #expect(status.words == nil, "\(event)")
        }
    }

    @Test func aStallSaysWhy() {
        var seen: Set<String> = []
        for cause in [StallCause.nothingArrives, .loss, .tooSlow] {
            var status = Self.watching()
            status.handle(.stalled(.seconds(3), cause))
            #expect(status.stalledSeconds == 3)
            seen.insert(status.words?.headline ?? "")
            // The seconds aren't part of the words, which are said once.
            let words = status.words
            status.handle(.stalled(.seconds(4), cause))
            #expect(status.words == words && status.stalledSeconds == 4)
            status.handle(.mediaReconnecting)
            #expect(status.words == words)
            status.handle(.mediaResumed)
            #expect(status.words == nil && status.stalledSeconds == nil)
        }
        #expect(seen.count == 3)
    }

    @Test func aPictureThatNeverComesIsExplained() {
        var status = ViewerStatus(connectingTo: "desk")
        status.handle(Self.paired())
        status.handle(.stalled(.seconds(1), .nothingArrives))
        #expect(status.words?.headline == "No picture arrives from “desk”")
        status.handle(.mediaResumed)
        status.handle(.stalled(.seconds(1), .loss))
        #expect(status.words?.headline.contains("is lost on the way") == true)
        // The first picture is shown in any case.
        let isNews = status.pictureArrived()
        #expect(isNews && status.words == nil)
    }

    @Test func nowAndThenAPictureIsNoLivePicture() {
        var status = Self.watching()
        status.handle(.stalled(.seconds(1), .loss))
        let isNews = status.pictureArrived()
        #expect(!isNews && status.words != nil)
    }

    /// The control connection to a host that stands still is lost, too. Nothing is guessed about why it doesn't answer.
    @Test func aSilentHostStaysSilent() {
        var status = Self.watching()
        status.handle(.stalled(.seconds(1), .nothingArrives))
        let words = status.words
        let time = TimeOfDay(hour: 9, minute: 3, second: 7)
        status.handle(.controlLost(reason: "reset"), at: time)
        #expect(status.words == words && words?.headline == "Nothing arrives from “desk”")
        status.handle(.retrying(after: .seconds(1), reason: "it has accepted the connection, but sent nothing for 5 s"))
        let lost = status.words
        #expect(
            lost?.sentence
                == "“desk” hasn't been reachable since 09:03:07. The network or that machine may be down. The picture goes on when it is back."
        )
        // The time is that of the loss, whatever comes later, and the words are said once.
        let later = TimeOfDay(hour: 10, minute: 0, second: 0)
        let rest: [ViewerEvent] = [
            .stalled(.seconds(9), .nothingArrives), .connecting(attempt: 2), .controlLost(reason: "reset"),
            .retrying(after: .seconds(2), reason: "refused"), .connection(.connecting), .mediaReconnecting,
        ]
        for event in rest {
            status.handle(event, at: later)
            #expect(status.words == lost, "\(event)")
        }
        #expect(status.stalledSeconds == 9, "how long is shown beside them")
    }

    @Test func aHostThatIsBackIsNotLostAnyMore() {
        func lost() -> ViewerStatus {
            var status = Self.watching()
            status.handle(.controlLost(reason: "reset"))
            status.handle(.retrying(after: .seconds(1), reason: "refused"))
            #expect(status.words == nil, "the picture still moves")
            status.handle(.stalled(.seconds(1), .nothingArrives))
            #expect(status.words?.headline.hasPrefix("“desk” hasn't been reachable since ") == true)
            return status
        }
        // Another run of the host, perhaps at another address and under another name.
        var status = lost()
        status.handle(Self.paired("attic"))
        #expect(status.words?.headline == "“attic” has let you in" && status.lostSince == nil)
        // The same run.
        status = lost()
        status.handle(Self.paired(nil, isNew: false))
        status.handle(.mediaResumed)
        #expect(status.words == nil && status.lostSince == nil)
        status.handle(.stalled(.seconds(1), .nothingArrives))
        #expect(status.words?.headline == "Nothing arrives from “desk”")
        // It says goodbye.
        status = lost()
        status.handle(.hostEnded(says: nil))
        #expect(status.words?.headline == "“desk” has ended its share" && status.lostSince == nil)
    }

    @Test func anUnstableConnectionIsNamed() {
        var status = Self.watching()
        status.handle(.controlLost(reason: "reset"), at: TimeOfDay(hour: 12, minute: 3, second: 10))
        status.handle(.connection(.unstable))
        #expect(status.words == nil)
        status.handle(.retrying(after: .seconds(1), reason: "refused"))
        status.handle(.stalled(.seconds(1), .nothingArrives))
        #expect(
            status.words?.sentence
                == "“desk” hasn't been reachable since 12:03:10. The connection broke right away; trying again. The picture goes on when it is back."
        )
        status.handle(Self.paired())
        _ = status.pictureArrived()
        #expect(status.words == nil)
        // Lost before there was a picture.
        status.handle(Self.paired())
        status.handle(.controlLost(reason: "reset"))
        status.handle(.retrying(after: .seconds(1), reason: "refused"))
        #expect(status.words?.headline.hasPrefix("“desk” hasn't been reachable since ") == true)
    }

    @Test func theEndOfSharingStaysShownDuringTheStallThatFollows() {
        var status = Self.watching()
        status.handle(.broadcast(false))
        status.handle(.stalled(.seconds(1), .nothingArrives))
        status.handle(.mediaReconnecting)
        #expect(status.words?.headline == "“desk” isn't sharing at the moment")
        status.handle(.broadcast(true))
        #expect(status.words?.headline == "“desk” has let you in")
    }

    /// The picture comes by UDP, is decoded by a thread of its own, and so may be here before the word of its share. On a
    /// still screen no other one follows.
    @Test(arguments: [ViewerEvent.broadcast(false), .hostEnded(says: nil)])
    func aPictureThatComesBeforeItsShareIsShown(_ end: ViewerEvent) {
        var first = ViewerStatus(connectingTo: "desk")
        first.handle(Self.paired())
        first.handle(.broadcast(false))
        _ = first.pictureArrived()
        #expect(first.words?.headline == "“desk” isn't sharing at the moment")
        #expect(!first.isOver, "the window keeps the picture")
        first.handle(.broadcast(true))
        #expect(first.words == nil && first.isLive)

        // A picture of before isn't one of the next share, however late it is decoded.
        var again = Self.watching()
        let before = MediaTime.now
        again.handle(end)
        let isNews = again.pictureArrived(before - .milliseconds(1))
        #expect(!isNews && again.isOver)
        again.handle(.broadcast(true))
        #expect(again.words?.headline == "“desk” has let you in")
        _ = again.pictureArrived()
        #expect(again.isLive)
    }
}
