import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamViewer
@testable import BeamWire

/// Refusals, questions, and what follows them.
extension ViewerStatusTests {
    @Test func whoIsTrustedAgainWaitsForAPictureThatWasRemoved() {
        var status = Self.watching()
        status.handle(.mistrusted(.unproven(reason: "no key")))
        #expect(status.isOver)
        status.handle(Self.paired(isNew: false))
        #expect(status.isWaitingForPicture)
        _ = status.pictureArrived()
        #expect(status.isLive && !status.isWaitingForPicture)
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
        #expect(
            status.words?.sentence
                == "The person at “desk” has declined. To ask again, run `beamroom watch 'desk'`. With the code that the screen of “desk” shows, nobody is asked: `beamroom watch 'desk' --code NNNNNN`."
        )
        #expect(status.words?.isFinal == true)
    }

    @Test func whoWasForgottenLearnsWhatToDo() {
        var status = Self.watching()
        status.handle(.refused(.forgotten(says: "This viewer was forgotten here")))
        #expect(
            status.words?.sentence
                == "“desk” has ended this viewer's access. It says “This viewer was forgotten here”. Only the person there can let it in again: ask for the code that the screen of “desk” shows, and run `beamroom watch '192.0.2.7:52345' --code NNNNNN`."
        )
    }

    @Test func anotherKeyIsRefusedByTheViewer() throws {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
        let other = ViewerRefusal.OtherKey(
            key: try #require(DeviceKey([UInt8](repeating: 7, count: 32))), expected: ["desk"],
            place: .address("192.0.2.7:52345"))
        status.handle(.refused(.otherKey(other)))
        let sentence = status.words?.sentence ?? ""
        #expect(
            sentence.hasPrefix("192.0.2.7:52345 isn't the machine you paired with. It shows another key"), "\(sentence)"
        )
        #expect(sentence.contains("“desk”") && sentence.contains("--new-host"))
    }

    @Test func whoWasSentAwayIsNotAskedForDigits() {
        var status = Self.watching()
        status.handle(.refused(.sentAway(says: "This viewer was sent away")))
        let sentence = status.words?.sentence ?? ""
        #expect(sentence == "“desk” has sent this viewer away. It says “This viewer was sent away”.", "\(sentence)")
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
        #expect(status.words?.headline == "Looking for “desk”…")
        // The name may be one that the system can resolve, so it is tried.
        status.handle(.connecting(attempt: 1))
        status.handle(.retrying(after: .seconds(1), reason: "desk:52345: nobody shares there"))
        #expect(
            status.words?.sentence
                == "Looking for “desk”… No host of that name is announced on this network. Also tried: desk:52345: nobody shares there. Trying again."
        )
        status.discovery(problem: "The Avahi daemon isn't running on this machine.")
        #expect(
            status.words?.sentence
                == "Looking for “desk”… The Avahi daemon isn't running on this machine. Also tried: desk:52345: nobody shares there. Trying again."
        )
        status.discovery(problem: "The Avahi daemon isn't running on this machine.", triesAddresses: true)
        #expect(
            status.words?.sentence
                == "Looking for “desk”… Trying the addresses where “desk” was last. Discovery (Avahi) doesn't work on this machine, so a new address isn't found."
        )
        status.found()
        #expect(status.words?.sentence == "Connecting to “desk”…")
        #expect(ViewerStatus(searchingFor: nil).words?.headline == "Looking for hosts…")
    }

    /// After a refusal the window offers what can be done there; nothing hides a key that isn't the expected one.
    @Test func aRefusalCanBeAnswered() {
        let offers: [(ViewerRefusal, isCode: Bool?)] = [
            (.declined, true), (.usedCode, true), (.forgotten(says: "no"), true), (.unknownThere, true),
            (.notPaired, true), (.notTrusted(says: ""), false), (.other(says: "It is full"), false),
            (.noCodeTaken, false), (.unencryptedImpostor, nil), (.notEncrypted, nil), (.unproven(reason: "no"), nil),
        ]
        for (refusal, isCode) in offers {
            var status = Self.watching()
            status.handle(.refused(refusal))
            #expect(status.isRefused && status.words?.isAnsweredInWindow == (isCode != nil), "\(refusal)")
            switch status.retry {
            case .codeOrPerson: #expect(isCode == true, "\(refusal)")
            case .again: #expect(isCode == false, "\(refusal)")
            case nil: #expect(isCode == nil, "\(refusal)")
            }
            #expect((ViewerPane.prompt(status, hasList: false) != nil) == (isCode == true), "\(refusal)")
            #expect(ViewerPane.prompt(status, hasList: false)?.offer?.contains("`") != true, "no command for a shell")
            status.tryingAgain()
            #expect(
                status.refusal == nil && status.retry == nil && status.words?.headline.hasPrefix("Connecting") == true)
        }
    }

    @Test func theCodeIsOnAScreen() {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
        status.handle(.codeNeeded(CodeQuestion(host: "study")))
        #expect(status.words?.headline == "Type the code that the screen of “study” shows")
        status = .atRoomDoor("192.0.2.7:52345")
        status.handle(.codeNeeded(CodeQuestion(host: "study")))
        #expect(status.words?.headline == "Type the code that the screens in “study” show")
        #expect(ViewerPane.prompt(status, hasList: false)?.headline == status.words?.headline)
    }

    /// A picture of a host that was given up is no picture of the next one.
    @Test func aLatePictureIsNotTheNextHosts() {
        var status = ViewerStatus(searchingFor: nil)
        let isNews = status.pictureArrived()
        #expect(!isNews && status.words?.headline == "Looking for hosts…")
        status.picking()
        let isNewsAgain = status.pictureArrived()
        #expect(!isNewsAgain && !status.isLive)
    }
}
