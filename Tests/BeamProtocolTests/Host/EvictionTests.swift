import BeamMedia
import Testing

@testable import BeamProtocol

/// Whoever was let in can be sent away, however it came in.
struct EvictionTests {
    private static let hello = SecureMessage.hello(
        SecureMessage.Hello(instance: 1, name: "viewer"))

    private func join(_ host: inout HostBench, _ id: UInt64, device: DeviceKey = .viewer) -> [SecureMessage] {
        host.openSecurely(id, device: device)
        host.say(id, Self.hello, .join)
        return host.takeMessages(id)
    }

    private func isIn(_ messages: [SecureMessage]) -> Bool {
        messages.contains { if case .session = $0 { true } else { false } }
    }

    private func refusal(_ messages: [SecureMessage]) -> SecureMessage.Refusal? {
        messages.compactMap { if case .refused(let refusal, _) = $0 { refusal } else { nil } }.first
    }

    @Test func aGuestOfAnOpenDoorIsSentAwayAndKeptOut() throws {
        var host = HostBench(.all)
        #expect(isIn(join(&host, 1)))
        #expect(isIn(join(&host, 2, device: .made(7))))
        #expect(host.session.guests.map(\.identity) == [.device(.viewer), .device(.made(7))])
        host.handle(.block(.viewer))
        #expect(refusal(host.takeMessages(1)) == .forgotten)
        #expect(host.isClosed(1) && !host.isClosed(2))
        #expect(host.session.guests.map(\.identity) == [.device(.made(7))])
        // What it holds opens nothing from now on: the other one is given a new key.
        #expect(host.takeMessages(2).contains { if case .mediaKey = $0 { true } else { false } })
        let again = join(&host, 3)
        #expect(!isIn(again) && refusal(again) == .forgotten)
        #expect(host.events.contains { if case .viewerLeft(_, _, "it was sent away") = $0 { true } else { false } })
    }

    @Test func whoeverIsJustComingInIsSentAwayToo() {
        var host = HostBench(.all)
        host.openSecurely(1)
        host.say(1, Self.hello)
        _ = host.takeMessages(1)
        host.handle(.block(.viewer))
        #expect(host.isClosed(1))
        host.say(1, .join)
        #expect(!isIn(host.takeMessages(1)))
    }

    @Test func aViewerOfVersionOneIsSentAwayByItsAddress() {
        var host = HostBench(.all)
        host.introduce(1)
        host.introduce(2, from: .v4(5))
        #expect(host.session.guests.map(\.identity) == [.address(HostBench.viewer), .address(.v4(5))])
        _ = host.take(1)
        host.hello(40000)
        host.handle(.blockAddress(HostBench.viewer))
        #expect(host.isClosed(1) && !host.isClosed(2))
        host.frame(TestFrame.make(1))
        #expect(host.bursts.isEmpty, "nothing is sent to it any more")
        host.introduce(3)
        #expect(host.take(3).joined().contains(#""ok":false"#))
        #expect(host.isClosed(3))
        #expect(host.session.guests.count == 1)
    }

    @Test func whoWasForgottenDoesNotComeBackByAnOpenDoor() {
        var host = HostBench(.all, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        #expect(isIn(join(&host, 1)))
        host.handle(.remembered([:]))
        #expect(refusal(host.takeMessages(1)) == .forgotten)
        #expect(!isIn(join(&host, 2)))
        #expect(isIn(join(&host, 3, device: .made(7))), "the door is open to the others")
        // Paired again it is known again.
        host.handle(.remembered([.viewer: "viewer"]))
        #expect(isIn(join(&host, 4)))
    }

    @Test func whileTheListCannotBeReadNobodyComesInByIt() {
        let known: [DeviceKey: String] = [.viewer: "viewer", .made(7): "other"]
        var host = HostBench(.none, trust: HostTrust(own: .host, remembered: known, code: .none))
        #expect(isIn(join(&host, 1)))
        host.handle(.rememberedUnreadable)
        #expect(!host.isClosed(1), "who watches stays")
        let other = join(&host, 2, device: .made(7))
        #expect(!isIn(other) && refusal(other) == .busy, "it comes again")
        #expect(isIn(join(&host, 3)), "and so does its new connection")
        host.handle(.remembered([.made(7): "other"]))
        #expect(refusal(host.takeMessages(3)) == .forgotten, "what could not be read is done now")
        #expect(isIn(join(&host, 4, device: .made(7))))
    }

    // MARK: The viewer that waits for a host

    @Test(arguments: [true, false])
    func somebodyElsesCertificateEndsNoWaiting(asksThePerson: Bool) {
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.trust.required = [.host]
        configuration.trust.pairs = asksThePerson
        for input in [
            ViewerSession.Input.controlSecured(.made(7)),
            .controlClosed(reason: "its certificate can't be used", .refusedCertificate),
        ] {
            var viewer = ViewerBench(configuration)
            _ = viewer.take()
            viewer.handle(input)
            let isRefused = viewer.events.contains { if case .refused = $0 { true } else { false } }
            #expect(isRefused == asksThePerson)
            _ = viewer.take()
            viewer.advance(by: .seconds(9))
            #expect(viewer.take() == [], "slowly")
            viewer.advance(by: .seconds(2))
            let tries = viewer.take().count { $0.hasSuffix("connect securely") }
            #expect(tries == (asksThePerson ? 0 : 1))
        }
    }
}
