import BeamMedia
import BeamProtocol
import Testing

@testable import BeamViewer

/// The window always shows a text or a picture.
struct ViewerStatusTests {
    private let code = PairingCode("482913")!

    @Test func aTextIsShownUntilThePictureComes() {
        var status = ViewerStatus(connectingTo: "desk")
        #expect(status.words?.headline == "Connecting to desk…")
        status.handle(.waitingForDecision(code: code))
        #expect(status.words?.code == code)
        status.handle(.paired(session: "S", deviceName: "Anna’s desk", isNewSession: true, isEncrypted: true))
        #expect(status.words?.headline == "Waiting for the picture…")
        #expect(status.hostName == "Anna’s desk")
        status.pictureArrived()
        #expect(status.words == nil)
    }

    @Test func reconnectingControlIsNotShownWhileThePictureMoves() {
        var status = ViewerStatus(connectingTo: "desk")
        status.pictureArrived()
        let mending: [ViewerEvent] = [
            .controlLost(reason: "reset"), .connecting(attempt: 1), .retrying(after: .seconds(1), reason: "refused"),
            .waitingForDecision(code: code),
            .paired(session: "S", deviceName: nil, isNewSession: false, isEncrypted: true), .controlRestored,
        ]
        for event in mending {
            status.handle(event)
            #expect(status.words == nil, "\(event)")
        }
    }

    @Test func aStallIsShownUntilThePictureReturns() {
        var status = ViewerStatus(connectingTo: "desk")
        status.pictureArrived()
        status.handle(.stalled(.seconds(3), .nothingArrives))
        #expect(status.words?.headline == "No picture for 3 s")
        status.handle(.mediaReconnecting)
        #expect(status.words?.headline == "Reconnecting to desk…")
        status.handle(.mediaResumed)
        #expect(status.words == nil)
    }

    @Test func theEndOfSharingStaysShownDuringTheStallThatFollows() {
        var status = ViewerStatus(connectingTo: "desk")
        status.pictureArrived()
        status.handle(.broadcast(false))
        status.handle(.stalled(.seconds(1), .loss))
        status.handle(.mediaReconnecting)
        #expect(status.words?.headline == "desk isn't sharing")
        status.handle(.broadcast(true))
        #expect(status.words?.headline == "Waiting for the picture…")
    }

    @Test func aRefusalIsFinal() {
        var status = ViewerStatus(connectingTo: "desk")
        status.handle(.refused(reason: "Declined"))
        status.pictureArrived()
        #expect(status.refusal == "Declined")
        #expect(status.words?.headline == "desk has refused")
    }

    @Test func theSearchTextNamesTheHost() {
        #expect(ViewerStatus(searchingFor: "desk").words?.headline == "Looking for desk…")
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
