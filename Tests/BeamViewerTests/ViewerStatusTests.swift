import BeamMedia
import BeamProtocol
import Testing

@testable import BeamViewer

/// The window always shows a text or a picture, and the text is true.
struct ViewerStatusTests {
    private let code = PairingCode("482913")!

    private static func paired(_ name: String? = "desk", isNew: Bool = true) -> ViewerEvent {
        .paired(session: "S", deviceName: name, isNewSession: isNew, isEncrypted: true)
    }

    /// A status whose picture is live.
    private static func watching() -> ViewerStatus {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345")
        status.handle(paired())
        _ = status.pictureArrived()
        return status
    }

    @Test func aTextIsShownUntilThePictureComes() {
        var status = ViewerStatus(connectingTo: "desk")
        #expect(status.words?.sentence == "Connecting to desk…")
        status.handle(.waitingForDecision(code: code))
        #expect(status.words?.digits == code)
        #expect(
            status.words?.sentence
                == "The person at desk compares these digits: 482 913. If both screens show the same, that person lets you in."
        )
        status.handle(Self.paired("Anna’s desk"))
        #expect(status.words?.sentence == "“Anna’s desk” has let you in. Waiting for the picture…")
        #expect(status.hostName == "Anna’s desk")
        let isNews = status.pictureArrived()
        #expect(isNews && status.words == nil)
        let isNewsAgain = status.pictureArrived()
        #expect(!isNewsAgain)
    }

    @Test func aHostThatWasNeverReachedIsConnectedTo() {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345")
        for number in 1...3 {
            status.handle(.connecting(attempt: number))
            status.handle(.hostNamed("desk"))
            status.handle(.retrying(after: .seconds(1), reason: "192.0.2.7:52345: nobody shares there"))
            #expect(
                status.words?.sentence
                    == "Connecting to 192.0.2.7:52345… 192.0.2.7:52345: nobody shares there. Trying again.")
        }
    }

    @Test func aHostThatHasEndedHasOneSentence() {
        var status = Self.watching()
        status.handle(.hostEnded(says: nil))
        let sentence = "“desk” has ended its share. Watching again when it is back."
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
                == "“desk” has ended its share. It says “The shared window was closed”. Watching again when it is back."
        )
    }

    @Test func aHiddenWindowIsTold() {
        var status = Self.watching()
        status.handle(.sourceVisible(false))
        #expect(status.words?.headline == "The shared window is hidden")
        status.handle(.sourceVisible(true))
        #expect(status.words == nil)
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
        status.handle(.controlLost(reason: "reset"))
        status.handle(.retrying(after: .seconds(1), reason: "it took the connection and has answered nothing for 5 s"))
        status.handle(.stalled(.seconds(9), .nothingArrives))
        #expect(status.words == words && words?.headline == "Nothing arrives from “desk”")
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

    @Test func theQuestionForTheCodeStays() {
        var status = Self.watching()
        status.handle(.controlLost(reason: "reset"))
        status.handle(.codeNeeded(CodeQuestion(host: "desk", mayAsk: true)))
        let question = status.words
        #expect(question?.question?.mayAsk == true)
        status.handle(.stalled(.seconds(3), .nothingArrives))
        status.handle(.mediaReconnecting)
        _ = status.pictureArrived()
        #expect(status.words == question)
        status.personAsked()
        #expect(status.words?.question?.isAsking == true)
        status.handle(.connecting(attempt: 1))
        status.handle(.waitingForPerson(host: "desk", takesCode: true))
        #expect(status.words?.question?.isAsking == true, "the code can still be typed")
        status.codeEntered()
        #expect(status.words?.question?.isBeingChecked == true)
        status.handle(.connecting(attempt: 2))
        status.handle(.retrying(after: .seconds(4), reason: "too many wrong codes were typed there"))
        #expect(
            status.words?.sentence
                == "“desk” checks the code… Too many wrong codes were typed there. Trying again.")
        status.handle(.codeNeeded(CodeQuestion(host: "desk", problem: .wrong)))
        #expect(status.words?.question?.problem?.contains("isn't the code") == true)
    }

    @Test func aRefusalIsFinal() {
        var status = ViewerStatus(connectingTo: "desk")
        status.handle(.refused(.declined))
        _ = status.pictureArrived()
        status.handle(.stalled(.seconds(3), .nothingArrives))
        #expect(status.refusal == .declined)
        #expect(status.words?.sentence == "The person at desk has declined. Ask there, then watch again.")
        #expect(status.words?.isFinal == true)
    }

    @Test func anotherKeyIsRefusedByTheViewer() throws {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345")
        let other = ViewerRefusal.OtherKey(
            key: try #require(DeviceKey([UInt8](repeating: 7, count: 32))), expected: ["desk"],
            place: .address("192.0.2.7:52345"))
        status.handle(.refused(.otherKey(other)))
        let sentence = status.words?.sentence ?? ""
        #expect(sentence.hasPrefix("This viewer doesn't watch 192.0.2.7:52345. It shows another key"), "\(sentence)")
        #expect(sentence.contains("“desk”") && sentence.contains("--new-host"))
    }

    @Test func aKnownHostUnderAnotherNameIsNamedWithACommand() {
        var status = ViewerStatus(searchingFor: "desk")
        status.handle(.refused(.renamed(name: "desk", known: "Anna's eve")))
        // The names are quoted for a shell: the command can be copied.
        #expect(
            status.words?.detail?.contains(#"`beamroom devices rename 'Anna'\''s eve' 'desk'`"#) == true,
            "\(status.words?.detail ?? "")")
    }

    @Test func aRefusedStreamIsToldAgainAfterARestart() {
        var status = Self.watching()
        status.streamRefused("It is too large.")
        #expect(status.words?.sentence == "The picture of “desk” can't be shown. It is too large.")
        status.handle(.hostEnded(says: nil))
        status.handle(Self.paired())
        status.streamRefused("It is too large.")
        #expect(status.words?.headline == "The picture of “desk” can't be shown")
    }

    @Test func theSearchTextNamesTheHost() {
        var status = ViewerStatus(searchingFor: "desk")
        #expect(status.words?.headline == "Looking for desk…")
        // The name may be one that the system can resolve, so it is tried.
        status.handle(.connecting(attempt: 1))
        status.handle(.retrying(after: .seconds(1), reason: "the name desk is not known here"))
        #expect(status.words?.headline == "Looking for desk…")
        status.discovery(problem: "The Avahi daemon isn't running on this machine.")
        #expect(status.words?.sentence == "Looking for desk… The Avahi daemon isn't running on this machine.")
        status.found()
        #expect(status.words?.sentence == "Connecting to desk…")
        #expect(ViewerStatus(searchingFor: nil).words?.headline == "Looking for hosts…")
    }
}

struct RatesTests {
    private static func time(_ seconds: Int) -> MediaTime { MediaTime.zero + .seconds(seconds) }

    @Test func ratesAreOfTheIntervalAndTotalsSinceTheStart() {
        var rates = Rates()
        #expect(rates.measure(frames: 0, bytes: 0, now: .zero, sinceStart: false) == (0, 0))
        _ = rates.measure(frames: 10, bytes: 1000, now: Self.time(1), sinceStart: false)
        let second = rates.measure(frames: 40, bytes: 3000, now: Self.time(2), sinceStart: false)
        #expect(second.frames == 30)
        #expect(second.bits == 16_000)
        let total = rates.measure(frames: 70, bytes: 5000, now: Self.time(3), sinceStart: true)
        #expect(total.frames == 30, "60 frames in the 2 s since the first bytes")
    }
}
