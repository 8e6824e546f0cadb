import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a false host gains by what it says to a viewer, and when.
struct FalseHostTests {
    private func viewer(_ methods: SecureMessage.Welcome.Methods, _ change: (inout ViewerSession.Configuration) -> Void)
        -> ViewerBench
    {
        var configuration = ViewerSession.Configuration.secure(knows: false)
        change(&configuration)
        var viewer = ViewerBench(configuration)
        viewer.handle(.controlSecured(.host))
        viewer.say(.welcome(welcome(methods)))
        return viewer
    }

    private func viewer(_ methods: SecureMessage.Welcome.Methods) -> ViewerBench { viewer(methods) { _ in } }

    private func welcome(_ methods: SecureMessage.Welcome.Methods) -> SecureMessage.Welcome {
        SecureMessage.Welcome(
            isTrusted: false, methods: methods, nonce: [UInt8](repeating: 7, count: 32), name: "desk")
    }

    private func wasPaired(_ viewer: ViewerBench) -> Bool {
        viewer.events.contains { if case .hostPaired = $0 { true } else { false } }
    }

    /// Nobody has typed a code or compared digits.
    @Test func aHostThatAdmitsEverybodyIsNotRemembered() {
        var viewer = viewer(.open)
        for _ in 0..<10 { viewer.say(.paired(isRemembered: true)) }
        #expect(!wasPaired(viewer))
        let said = viewer.take()
        #expect(said.contains { $0.hasSuffix("close control") })
    }

    @Test func aHostPairsOnceWithAConnection() throws {
        var viewer = viewer(.compare)
        viewer.say(.compareNonce([UInt8](repeating: 3, count: 32), digits: 6))
        for _ in 0..<10 { viewer.say(.paired(isRemembered: true)) }
        let pairings = viewer.events.count { if case .hostPaired = $0 { true } else { false } }
        #expect(pairings == 1)
    }

    /// Otherwise an attacker in the middle, who can announce what it likes, would try one comparison many times.
    @Test func anAnnouncementDoesNotShortenThePauseAfterAComparison() {
        var viewer = viewer(.compare)
        viewer.say(.compareNonce([UInt8](repeating: 3, count: 32), digits: 6))
        viewer.handle(.controlClosed(reason: "gone"))
        _ = viewer.take()
        for _ in 0..<49 {
            viewer.advance(by: .milliseconds(100))
            viewer.handle(.hostAppeared)
        }
        let early = viewer.take()
        #expect(early.allSatisfy { !$0.hasSuffix("connect securely") })
        viewer.advance(by: .milliseconds(100))
        let late = viewer.take()
        #expect(late.contains { $0.hasSuffix("connect securely") })
    }

    /// A reset connection must not make a viewer send in plain text what the host takes encrypted.
    @Test(arguments: [nil, 1, 2]) func aHostThatAnnouncesVersion2IsNotAskedInVersion1(_ announced: Int?) {
        var configuration = ViewerSession.Configuration.secure(knows: false)
        configuration.allowsUnencrypted = true
        configuration.announcedVersion = announced
        var viewer = ViewerBench(configuration)
        if announced != 1 { viewer.handle(.controlClosed(reason: "reset", .notSecure)) }
        viewer.advance(by: .seconds(30))
        let said = viewer.take()
        #expect(said.contains { $0.hasSuffix(": connect") } == (announced != 2))
    }

    // MARK: A connection that stands still

    /// A host that owes an answer: after the hello, or after the viewer has joined. The connection is given up for a new one,
    /// later and later, and after the fourth the host is taken for slow.
    @Test(arguments: [false, true]) func aConnectionOnWhichNothingComesIsReplaced(isWelcomed: Bool) {
        var viewer = ViewerBench(.secure(knows: true))
        _ = viewer.take()
        var pauses: [Double] = []
        for _ in 0..<5 {
            viewer.handle(.controlSecured(.host))
            if isWelcomed {
                var welcome = welcome([])
                welcome.isTrusted = true
                viewer.say(.welcome(welcome))
            }
            let begin = viewer.now
            _ = viewer.take()
            while !viewer.take().contains(where: { $0.hasSuffix("connect securely") }) {
                viewer.advance(by: .milliseconds(100))
            }
            pauses.append(((viewer.now - begin).inSeconds * 10).rounded() / 10)
        }
        #expect(pauses == [0.4, 0.4, 0.8, 1.6, 9], "the last one is the usual timeout, and a pause")
        #expect(!viewer.events.contains { if case .refused = $0 { true } else { false } })
    }

    @Test func aHostWhosePersonIsAskedMayTakeItsTime() {
        var viewer = viewer(.compare)
        _ = viewer.take()
        viewer.advance(by: .seconds(60))
        #expect(!viewer.take().contains { $0.hasSuffix("connect securely") })
    }
}
