import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// An attacker in the middle who searches for digits that match by chance.
struct ComparisonSearchTests {
    /// Tries one key after the other against a host.
    private struct Searcher {
        var host = HostBench(.ask, trust: HostTrust(own: .host, code: .none), allowsUnencrypted: false)
        var random = SeededGenerator(seed: 7)
        var last: UInt64 = 0

        /// Connects and commits; answers the connection.
        mutating func commit() -> (id: UInt64, viewer: ComparisonViewer)? {
            last += 1
            host.openSecurely(last, from: .v4(UInt32(last)), device: .made(UInt8(last % 200)))
            host.say(last, .hello(SecureMessage.Hello(instance: 1, name: "sofa")))
            let nonce = host.takeMessages(last).lazy.compactMap { message -> [UInt8]? in
                if case .welcome(let welcome) = message { welcome.nonce } else { nil }
            }.first
            guard let nonce else { return nil }
            let viewer = ComparisonViewer(
                context: PairingContext(
                    viewer: .made(UInt8(last % 200)), host: .host, nonce: nonce, viewerName: "sofa",
                    hostName: "BeamRoom"), random: &random)
            host.say(last, .compareCommit(viewer.commitment))
            return (last, viewer)
        }
    }

    @Test func theHostRevealsNothingBeforeThePersonAgrees() throws {
        var searcher = Searcher()
        for _ in 0..<1000 {
            let attempt = searcher.commit()
            let id = searcher.last
            let answers = searcher.host.takeMessages(id)
            #expect(!answers.contains { if case .compareNonce = $0 { true } else { false } })
            // A reveal without the host's nonce ends the connection.
            if attempt != nil { searcher.host.say(id, .compareReveal([UInt8](repeating: 0, count: 32))) }
            #expect(searcher.host.isClosed(id))
            searcher.host.handle(.connectionClosed(ConnectionID(id)))
            searcher.host.advance(by: .milliseconds(1))
        }
        let events = searcher.host.takeEvents()
        #expect(!events.contains { if case .digitsShown = $0 { true } else { false } })
    }

    @Test func leavingAfterTheNonceCountsAsAFailure() throws {
        var searcher = Searcher()
        let attempt = searcher.commit()
        let (id, viewer) = try #require(attempt)
        searcher.host.handle(.decision(ConnectionID(id), accept: true))
        let nonce = searcher.host.takeMessages(id).compactMap { message -> [UInt8]? in
            if case .compareNonce(let nonce, 6) = message { nonce } else { nil }
        }
        #expect(nonce.count == 1)
        // The attacker now knows which digits the host would show, and leaves.
        _ = try viewer.reveal(hostNonce: nonce[0], digitCount: 6)
        searcher.host.handle(.connectionClosed(ConnectionID(id)))
        let failures = searcher.host.takeEvents().compactMap { event -> Int? in
            if case .comparisonFailed(_, _, let failures) = event { failures } else { nil }
        }
        #expect(failures == [1])
    }

    @Test func aViewerThatDoesNotRevealIsRefusedAfter2s() throws {
        var searcher = Searcher()
        let attempt = searcher.commit()
        let (id, _) = try #require(attempt)
        // The person may take 2 min; the viewer may not.
        searcher.host.advance(by: .seconds(100))
        #expect(!searcher.host.isClosed(id))
        searcher.host.handle(.decision(ConnectionID(id), accept: true))
        searcher.host.advance(by: .seconds(1.9))
        #expect(!searcher.host.isClosed(id))
        // A second decision, before there are digits, admits nobody.
        searcher.host.handle(.decision(ConnectionID(id), accept: true))
        searcher.host.advance(by: .seconds(0.2))
        #expect(searcher.host.isClosed(id))
        let events = searcher.host.takeEvents()
        #expect(events.contains { if case .comparisonFailed = $0 { true } else { false } })
        #expect(events.contains(.askWithdrawn(ConnectionID(id))))
        #expect(!events.contains { if case .devicePaired = $0 { true } else { false } })
    }

    /// The figure of the page Security.
    @Test func aDayOfTriesHasAChanceBelowOneInTenThousand() {
        var comparisonGuard = ComparisonGuard()
        var chance = 0.0
        var now = MediaTime.zero
        for _ in 0..<86_400 {
            switch comparisonGuard.length(now: now) {
            case .six: chance += 1e-6
            case .nine: chance += 1e-9
            }
            _ = comparisonGuard.failed(now: now)
            now = now + .seconds(1)
        }
        #expect(chance < 1e-4)
        #expect(comparisonGuard.length(now: now) == .nine)
        // After a day without failures, six digits are used again.
        #expect(comparisonGuard.length(now: now + .seconds(86_401)) == .six)
    }

    @Test func nineDigitsAreComparedAfterManyFailures() throws {
        var searcher = Searcher()
        for _ in 0..<ComparisonGuard.sixDigitFailures {
            let attempt = searcher.commit()
            let (id, _) = try #require(attempt)
            searcher.host.handle(.decision(ConnectionID(id), accept: true))
            searcher.host.handle(.connectionClosed(ConnectionID(id)))
            searcher.host.advance(by: .seconds(20))
        }
        let attempt = searcher.commit()
        let (id, viewer) = try #require(attempt)
        searcher.host.handle(.decision(ConnectionID(id), accept: true))
        let nonces = searcher.host.takeMessages(id).compactMap { message -> [UInt8]? in
            if case .compareNonce(let nonce, 9) = message { nonce } else { nil }
        }
        let nonce = try #require(nonces.first)
        let (reveal, digits) = try viewer.reveal(hostNonce: nonce, digitCount: 9)
        searcher.host.say(id, .compareReveal(reveal))
        let shown = searcher.host.takeEvents().compactMap { event -> PairingCode? in
            if case .digitsShown(_, let digits, _) = event { digits } else { nil }
        }
        #expect(shown == [digits] && digits.description.utf8.count == 9)
        searcher.host.handle(.decision(ConnectionID(id), accept: true))
        let answers = searcher.host.takeMessages(id)
        #expect(answers.contains { if case .paired = $0 { true } else { false } })
    }
}

/// A host that tries to make a viewer with a code pair without it.
struct CodeDowngradeTests {
    private func welcome(_ methods: SecureMessage.Welcome.Methods) -> SecureMessage {
        .welcome(
            SecureMessage.Welcome(
                isTrusted: false, methods: methods, nonce: [UInt8](repeating: 5, count: 32), name: "desk"))
    }

    @Test(arguments: [SecureMessage.Welcome.Methods.compare, .open, [.compare, .open], []])
    func aViewerWithACodeNeverPairsWithoutIt(methods: SecureMessage.Welcome.Methods) {
        var viewer = ViewerBench(.secure(knows: false, code: "482913"))
        viewer.handle(.controlSecured(.host))
        viewer.say(welcome(methods))
        let said = viewer.takeMessages()
        #expect(said.allSatisfy { if case .hello = $0 { true } else { false } })
        #expect(viewer.events.contains { if case .refused = $0 { true } else { false } })
        #expect(!viewer.events.contains { if case .hostPaired = $0 { true } else { false } })
    }

    /// After a wrong code, the next try must not pair without a code either.
    @Test func afterATypedCodeTheViewerNeverPairsWithoutOne() {
        var viewer = ViewerBench(.secure(knows: false, asksForCode: true))
        viewer.handle(.controlSecured(.host))
        viewer.say(welcome(.code))
        #expect(viewer.events.last == .codeNeeded(CodeQuestion(host: "desk")))
        viewer.handle(.code(PairingCode("482913")!))
        viewer.handle(.controlSecured(.host))
        viewer.say(welcome([.code, .compare]), .refused(.wrongCode, "no"))
        #expect(viewer.events.last == .codeNeeded(CodeQuestion(host: "desk", problem: .wrong, mayAsk: true)))
        viewer.handle(.code(PairingCode("111111")!))
        viewer.handle(.controlSecured(.host))
        _ = viewer.takeMessages()
        viewer.say(welcome(.compare))
        let said = viewer.takeMessages()
        #expect(!said.contains { if case .compareCommit = $0 { true } else { false } })
        #expect(viewer.events.contains { if case .refused = $0 { true } else { false } })
    }
}
