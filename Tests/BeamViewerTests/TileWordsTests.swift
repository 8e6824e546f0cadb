import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamViewer
@testable import BeamWire

/// A tile says in a few words what its host does, and nothing while its picture is live.
struct TileWordsTests {
    private func watching() -> ViewerStatus {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
        status.handle(.paired(session: "S", deviceName: "desk", isNewSession: true, isEncrypted: true))
        _ = status.pictureArrived()
        return status
    }

    @Test func aTileSaysWhatItsHostDoes() {
        var status = ViewerStatus(connectingTo: "192.0.2.7:52345", isAddress: true)
        #expect(status.tileWords == TileText(state: "Connecting…"))
        status.handle(.retrying(after: .seconds(1), reason: "nobody shares there"))
        #expect(status.tileWords == TileText(state: "Connecting…", detail: "Nobody shares there.", isFault: true))
        status.handle(.paired(session: "S", deviceName: "desk", isNewSession: true, isEncrypted: true))
        #expect(status.tileWords?.state == "Waiting for the picture…")
        _ = status.pictureArrived()
        #expect(status.tileWords == nil)
    }

    @Test func aLostHostIsAFaultWithItsTime() {
        var status = watching()
        status.handle(.controlLost(reason: "reset"), at: TimeOfDay(hour: 15, minute: 4, second: 20))
        status.handle(.retrying(after: .seconds(1), reason: "refused"))
        #expect(status.tileWords == nil, "the picture goes on")
        status.handle(.stalled(.seconds(3), .nothingArrives))
        #expect(status.tileWords?.state == "Lost since 15:04:20")
        #expect(status.tileWords?.isFault == true)
        status.handle(.paired(session: "T", deviceName: "desk", isNewSession: true, isEncrypted: true))
        _ = status.pictureArrived()
        #expect(status.tileWords == nil)
    }

    @Test func everyPhaseWithWordsForTheWindowHasWordsForATile() {
        var statuses: [ViewerStatus] = [ViewerStatus(searchingFor: "desk"), watching()]
        for event: ViewerEvent in [
            .waitingForPerson(host: "desk", takesCode: false), .waitingForDecision(code: PairingCode("482913")!),
            .codeNeeded(CodeQuestion(host: "desk", mayAsk: true)), .broadcast(false), .hostEnded(says: nil),
            .refused(.declined), .stalled(.seconds(2), .loss), .stalled(.seconds(2), .tooSlow),
        ] {
            var status = watching()
            status.handle(event)
            statuses.append(status)
        }
        for status in statuses { #expect((status.words == nil) == (status.tileWords == nil), "\(status)") }
    }
}
