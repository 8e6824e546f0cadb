import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A host that keeps changing its announcements.
struct AnnouncementTests {
    @Test func theFirstChangeIsReportedAtOnceAndLaterTheNewest() {
        var sharing = Announcement<Bool>()
        #expect(sharing.received(true, now: .zero) == true)
        #expect(sharing.received(true, now: .zero) == nil && sharing.deadline != nil)
        #expect(sharing.received(false, now: .at(0.1)) == nil)
        #expect(sharing.deadlineReached(now: .at(0.4)) == nil)
        #expect(sharing.deadlineReached(now: .at(0.5)) == false)
        #expect(sharing.deadline == nil)
        #expect(sharing.received(true, now: .at(2)) == true)
        // Changes that cancel out aren't reported.
        #expect(sharing.received(false, now: .at(2.1)) == nil && sharing.received(true, now: .at(2.2)) == nil)
        #expect(sharing.deadlineReached(now: .at(3)) == nil && sharing.deadline == nil)
    }

    @Test func aNewSessionsFirstValueIsReportedUnlessItIsTheUsualOne() {
        var visibility = Announcement<SourceVisibility>()
        visibility.forget(as: .visible)
        #expect(visibility.received(.visible, now: .zero) == nil && visibility.deadline == nil)
        #expect(visibility.received(.windowHidden, now: .at(0.1)) == .windowHidden)
        visibility.forget()
        #expect(visibility.received(.windowHidden, now: .at(1)) == .windowHidden)
    }

    @Test func aHostThatTogglesSharingDoesNotFloodThePerson() {
        var viewer = ViewerBench(code: "482913")
        viewer.pair()
        _ = viewer.take()
        var isOn = true
        for _ in 0..<500 {
            isOn.toggle()
            viewer.hear(#"{"on":\#(isOn)}"#, #"{"udpPort":\#(isOn ? 50001 : 50002)}"#)
            viewer.advance(by: .milliseconds(20))
        }
        let told = viewer.events.count { if case .broadcast = $0 { true } else { false } }
        let sockets = viewer.take().count { $0.contains("open media") }
        #expect((1...25).contains(told), "\(told) lines in 10 s")
        #expect(sockets <= 25, "\(sockets) sockets in 10 s")
        #expect(viewer.session.receiver.isBroadcasting == isOn)
    }
}
