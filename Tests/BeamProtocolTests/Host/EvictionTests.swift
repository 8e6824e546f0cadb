import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The person at the host can send away any admitted viewer.
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

    @Test func anUnpairedViewerThatIsSentAwayIsKeptOut() throws {
        var host = HostBench(.all)
        #expect(isIn(join(&host, 1)))
        #expect(isIn(join(&host, 2, device: .made(7))))
        #expect(host.session.guests.map(\.identity) == [.device(.viewer), .device(.made(7))])
        host.handle(.block(.viewer))
        #expect(refusal(host.takeMessages(1)) == .sentAway)
        #expect(host.isClosed(1) && !host.isClosed(2))
        #expect(host.session.guests.map(\.identity) == [.device(.made(7))])
        // The media key is rotated, so that the viewer that was sent away can't open later datagrams.
        #expect(host.takeMessages(2).contains { if case .mediaKey = $0 { true } else { false } })
        let again = join(&host, 3)
        #expect(!isIn(again) && refusal(again) == .sentAway)
        #expect(host.events.contains { if case .viewerLeft(_, _, "it was sent away") = $0 { true } else { false } })
    }

    @Test func aViewerThatIsSentAwayForNowMayComeAgainAfterAMinute() throws {
        var host = HostBench(.all, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        #expect(isIn(join(&host, 1)))
        host.handle(.sendAway(.device(.viewer)))
        #expect(refusal(host.takeMessages(1)) == .sentAway)
        #expect(host.isClosed(1) && host.session.guests.isEmpty)
        let early = join(&host, 2)
        #expect(!isIn(early) && refusal(early) == .busy)
        host.advance(by: HostLimits.evictionDuration)
        #expect(isIn(join(&host, 3)), "it is still paired")
    }

    /// Where digits can be typed or compared, it is told that it was forgotten, and how it comes in again.
    @Test func aForgottenViewerIsToldWhetherItCanBePaired() {
        let known: [DeviceKey: String] = [.viewer: "viewer"]
        for (acceptance, code, expected) in [
            (Door.Acceptance.all, HostCode.none, SecureMessage.Refusal.sentAway), (.none, .none, .sentAway),
            (.ask, .none, .forgotten), (.none, .random(), .forgotten),
        ] {
            var host = HostBench(acceptance, trust: HostTrust(own: .host, remembered: known, code: code))
            #expect(isIn(join(&host, 1)))
            host.handle(.remembered([:]))
            #expect(refusal(host.takeMessages(1)) == expected)
            if acceptance == .all { #expect(refusal(join(&host, 2)) == .sentAway) }
        }
    }

    @Test func aViewerThatIsJoiningCanBeSentAway() {
        var host = HostBench(.all)
        host.openSecurely(1)
        host.say(1, Self.hello)
        _ = host.takeMessages(1)
        host.handle(.block(.viewer))
        #expect(host.isClosed(1))
        host.say(1, .join)
        #expect(!isIn(host.takeMessages(1)))
    }

    @Test func aVersion1ViewerIsSentAwayByItsAddress() {
        var host = HostBench(.all)
        host.introduce(1)
        host.introduce(2, from: .v4(5))
        #expect(host.session.guests.map(\.identity) == [.address(HostBench.viewer), .address(.v4(5))])
        _ = host.take(1)
        host.hello(40000)
        host.handle(.blockAddress(HostBench.viewer))
        #expect(host.isClosed(1) && !host.isClosed(2))
        host.frame(TestFrame.make(1))
        #expect(host.bursts.isEmpty, "nothing is sent to its address")
        host.introduce(3)
        #expect(host.take(3).joined().contains(#""ok":false"#))
        #expect(host.isClosed(3))
        #expect(host.session.guests.count == 1)
    }

    @Test func aForgottenViewerIsRefusedEvenIfAllAreAccepted() {
        var host = HostBench(.all, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        #expect(isIn(join(&host, 1)))
        host.handle(.remembered([:]))
        #expect(refusal(host.takeMessages(1)) == .sentAway)
        #expect(!isIn(join(&host, 2)))
        #expect(isIn(join(&host, 3, device: .made(7))), "others are still accepted")
        // After pairing again it is known again.
        host.handle(.remembered([.viewer: "viewer"]))
        #expect(isIn(join(&host, 4)))
    }

    @Test func whileTheListCannotBeReadOtherKnownViewersMustWait() {
        let known: [DeviceKey: String] = [.viewer: "viewer", .made(7): "other"]
        var host = HostBench(.none, trust: HostTrust(own: .host, remembered: known, code: .none))
        #expect(isIn(join(&host, 1)))
        host.handle(.rememberedUnreadable)
        #expect(!host.isClosed(1), "a viewer that watches stays")
        let other = join(&host, 2, device: .made(7))
        #expect(!isIn(other) && refusal(other) == .busy, "it is told to try again later")
        #expect(isIn(join(&host, 3)), "the same device may join once more")
        host.handle(.remembered([.made(7): "other"]))
        #expect(refusal(host.takeMessages(3)) == .sentAway, "a device that is no longer in the list is sent away")
        #expect(isIn(join(&host, 4, device: .made(7))))
    }

    // MARK: A viewer that comes and goes without end

    @Test func aDeviceThatBeginsSessionsWithoutEndIsKeptOutForAWhile() {
        let known: [DeviceKey: String] = [.viewer: "viewer", .made(7): "other"]
        var host = HostBench(.none, trust: HostTrust(own: .host, remembered: known, code: .none))
        var (admitted, refused) = (0, [SecureMessage]())
        for id in 1...40 as ClosedRange<UInt64> {
            let messages = join(&host, id)
            if isIn(messages) { admitted += 1 } else { refused = refused.isEmpty ? messages : refused }
            host.say(id, .bye("it has ended"))
            host.advance(by: .milliseconds(300))
        }
        #expect(admitted == 16)
        #expect(refusal(refused) == .busy, "it may come again later")
        #expect(isIn(join(&host, 50, device: .made(7))), "others are let in")
        host.advance(by: .seconds(61))
        #expect(isIn(join(&host, 51)))
    }

    @Test func aSessionThatGoesOnDoesNotCount() {
        let known: [DeviceKey: String] = [.viewer: "viewer"]
        var host = HostBench(.none, trust: HostTrust(own: .host, remembered: known, code: .none))
        for id in 1...60 as ClosedRange<UInt64> {
            #expect(isIn(join(&host, id)), "connection \(id) of the same viewer")
            host.advance(by: .milliseconds(300))
        }
    }

    // MARK: The viewer that waits for a host

    @Test(arguments: [true, false])
    func anotherHostsCertificateDoesNotEndTheWaiting(asksThePerson: Bool) {
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
            #expect(viewer.take() == [], "no retry before 10 s")
            viewer.advance(by: .seconds(2))
            let tries = viewer.take().count { $0.hasSuffix("connect securely") }
            #expect(tries == (asksThePerson ? 0 : 1))
        }
    }
}
