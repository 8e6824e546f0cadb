import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A code that serves everybody: who gets in, when it is replaced, and what a guess is worth.
struct SharedCodeTests {
    private static let first = PairingCode("482913")!

    /// What the host did with a typed code.
    private enum Outcome: Equatable {
        case letIn
        case refused(SecureMessage.Refusal)
        case wait
        case closed
    }

    /// A viewer that proves a code, up to a step of the exchange.
    private struct Typist {
        let id: UInt64
        let device: DeviceKey
        let features: SecureMessage.Hello.Features
        private(set) var pace: CPaceViewer?
        private(set) var confirmed: CPaceViewer.Confirmed?

        init(_ id: UInt64, features: SecureMessage.Hello.Features = .replacedCodes) {
            self.id = id
            device = .made(UInt8(truncatingIfNeeded: id))
            self.features = features
        }

        /// Sends hello and the share, and takes the host's.
        mutating func begin(_ host: inout HostBench, typing code: PairingCode) throws -> Outcome? {
            host.openSecurely(id, from: .v4(0xC000_0200 + UInt32(id)), device: device)
            host.say(id, .hello(SecureMessage.Hello(features: features, instance: id, name: "pupil")))
            let nonce = try #require(
                host.takeMessages(id).lazy.compactMap { if case .welcome(let hi) = $0 { hi.nonce } else { nil } }.first)
            let context = PairingContext(
                viewer: device, host: .host, nonce: nonce, viewerName: "pupil", hostName: "BeamRoom")
            let pace = try CPaceViewer(code: code, context: context)
            self.pace = pace
            host.say(id, .codeShare(pace.share))
            return try take(&host)
        }

        /// Sends the proof; a second time, if the host asks for that.
        mutating func confirm(_ host: inout HostBench) throws -> Outcome {
            for _ in 0..<2 {
                let proof = try #require(confirmed)
                host.say(id, .codeConfirm(proof.confirmation))
                if let outcome = try take(&host) { return outcome }
            }
            return .closed
        }

        /// Nil: the host has sent its share.
        private mutating func take(_ host: inout HostBench) throws -> Outcome? {
            for message in host.takeMessages(id) {
                switch message {
                case .codeShare(let share): confirmed = try #require(pace).confirm(hostShare: share)
                case .codeConfirm(let tag): return confirmed?.verify(tag) == true ? .letIn : .closed
                case .refused(let refusal, _): return .refused(refusal)
                case .codeWait: return .wait
                default: break
                }
            }
            return host.isClosed(id) ? .closed : nil
        }

        static func type(
            _ code: PairingCode, _ id: UInt64, _ host: inout HostBench,
            features: SecureMessage.Hello.Features = .replacedCodes
        ) throws -> Outcome {
            var typist = Typist(id, features: features)
            return try typist.begin(&host, typing: code) ?? typist.confirm(&host)
        }
    }

    private func expect(
        _ code: PairingCode, _ id: UInt64, _ host: inout HostBench,
        features: SecureMessage.Hello.Features = .replacedCodes, _ outcome: Outcome,
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let came = try Typist.type(code, id, &host, features: features)
        #expect(came == outcome, sourceLocation: place)
    }

    private func expectNoChange(_ host: inout HostBench, at place: SourceLocation = #_sourceLocation) throws {
        let changes = Self.changes(&host)
        #expect(changes.isEmpty, sourceLocation: place)
    }

    private static func bench(_ code: HostCode) -> HostBench {
        HostBench(.none, trust: HostTrust(own: .host, code: code), allowsUnencrypted: false)
    }

    private func change(_ host: inout HostBench, at place: SourceLocation = #_sourceLocation) throws -> CodeChange {
        let first = Self.changes(&host).first
        return try #require(first, sourceLocation: place)
    }

    private static func changes(_ host: inout HostBench) -> [CodeChange] {
        host.takeEvents().compactMap { if case .codeChanged(let change) = $0 { change } else { nil } }
    }

    /// The shown code, and one that is wrong.
    private static func codes(_ host: HostBench) throws -> (right: PairingCode, wrong: PairingCode) {
        let right = try #require(host.session.door.code.current)
        return (right, right.description == "000000" ? PairingCode("000001")! : PairingCode("000000")!)
    }

    @Test func thirtyPupilsTypeTheCodeInTheSameMoment() throws {
        var host = Self.bench(.random())
        let code = try Self.codes(host).right
        // All have begun before the first one is let in.
        var pupils: [Typist] = []
        for id in 1...30 {
            var pupil = Typist(UInt64(id))
            let early = try pupil.begin(&host, typing: code)
            #expect(early == nil)
            pupils.append(pupil)
        }
        for index in pupils.indices {
            let outcome = try pupils[index].confirm(&host)
            #expect(outcome == .letIn)
        }
        let events = host.takeEvents()
        #expect(events.count { if case .devicePaired = $0 { true } else { false } } == 30)
        let served = events.compactMap { if case .codeServed(_, let isStillValid) = $0 { isStillValid } else { nil } }
        #expect(served == [Bool](repeating: true, count: 30))
        #expect(host.session.door.code.current == code && host.session.door.codeGuard.wrongTries == 0)
    }

    @Test func theCodeIsReplacedByTimeByTheKeyAndByWrongTries() throws {
        var host = Self.bench(.random())
        var code = try Self.codes(host).right
        host.advance(by: .seconds(599))
        try expectNoChange(&host)
        host.advance(by: .seconds(1))
        var change = try self.change(&host)
        #expect(change.reason == .time && change.code != code && change.left == .seconds(600))
        try expect(code, 1, &host, .refused(.replacedCode))

        code = try Self.codes(host).right
        host.advance(by: .seconds(300))
        host.handle(.renewCode)
        change = try self.change(&host)
        #expect(change.reason == .asked && change.code != code)
        try expect(code, 2, &host, .refused(.replacedCode))
        try expect(try #require(change.code), 3, &host, .letIn)
        // Its ten minutes begin anew.
        host.advance(by: .seconds(599))
        try expectNoChange(&host)

        code = try Self.codes(host).right
        for id in 11...15 {
            // 5 is the first wrong try after which everybody waits, and the last one against this code.
            try expect(
                try Self.codes(host).wrong, UInt64(id), &host, .refused(id == 15 ? .replacedCode : .wrongCode))
        }
        change = try self.change(&host)
        #expect(change.reason == .wrongTries && change.code != code)
        host.advance(by: .seconds(1))
        try expect(code, 20, &host, .refused(.replacedCode))
        #expect(host.session.door.codeGuard.wrongTries == 5, "a replaced code isn't a wrong one")
        try expect(try #require(change.code), 21, &host, .letIn)
    }

    /// Older viewers don't know the reason. They hear it in words, and the try counts: it was made against the new code.
    @Test func anOlderViewerHearsThatTheCodeIsAnotherOne() throws {
        var host = Self.bench(.random())
        let code = try Self.codes(host).right
        host.handle(.renewCode)
        try expect(code, 1, &host, features: [], .refused(.wrongCode))
        #expect(host.session.door.codeGuard.wrongTries == 1)
    }

    @Test func whoProvesACodeThatIsReplacedMeanwhileHearsThat() throws {
        var host = Self.bench(.random())
        let code = try Self.codes(host).right
        var pupil = Typist(1)
        let early = try pupil.begin(&host, typing: code)
        #expect(early == nil)
        host.handle(.renewCode)
        let messages = host.takeMessages(1)
        #expect(messages.contains { if case .refused(.replacedCode, _) = $0 { true } else { false } })
        #expect(host.session.door.codeGuard.wrongTries == 0)
    }

    // MARK: Guessing

    /// An honest pupil gets in after each wrong guess: the attacker gets not one guess more by that.
    @Test func othersSuccessesGiveNoFreshTries() throws {
        var host = Self.bench(HostCode(given: Self.first))
        var (guesses, pupils, id) = (0, 0, UInt64(0))
        while host.now < MediaTime.zero + .seconds(3600) {
            id += 2
            if try Typist.type(PairingCode("000000")!, id, &host) == .refused(.wrongCode) { guesses += 1 }
            if try Typist.type(Self.first, id + 1, &host) == .letIn { pupils += 1 }
            _ = host.takeEvents()
            host.advance(by: .seconds(5))
        }
        // 11 at once, then one a minute.
        #expect((60...72).contains(guesses), "\(guesses)")
        #expect(pupils > 2)
    }

    /// Tries that have begun together are looked at one after another: five, and the rest isn't looked at.
    @Test func parallelGuessesCountEach() throws {
        var host = Self.bench(HostCode(given: Self.first))
        var guessers: [Typist] = []
        for id in 1...40 {
            var guesser = Typist(UInt64(id))
            let early = try guesser.begin(&host, typing: PairingCode("000000")!)
            #expect(early == nil)
            guessers.append(guesser)
        }
        // One of them has the right code, and comes too late.
        var late = Typist(41)
        let early = try late.begin(&host, typing: Self.first)
        #expect(early == nil)
        var outcomes: [Outcome] = []
        for index in guessers.indices { outcomes.append(try guessers[index].confirm(&host)) }
        #expect(outcomes.prefix(5).allSatisfy { $0 == .refused(.wrongCode) })
        #expect(outcomes.dropFirst(5).allSatisfy { $0 == .wait })
        let last = try late.confirm(&host)
        #expect(last == .wait)
    }

    /// Who knows the code before, and pretends to have typed it, gains no guess of the present one: the proof of the
    /// present one has to come from the same share.
    @Test func theCodeBeforeBuysNoGuess() throws {
        var host = Self.bench(.random())
        let old = try Self.codes(host).right
        host.handle(.renewCode)
        let new = try Self.codes(host).right
        _ = host.takeEvents()
        // A share for the present code proves the present one only, and is no wrong try against the one before.
        try expect(new, 1, &host, .letIn)
        #expect(host.session.door.codeGuard.wrongTries == 0)
        // Without a proof nothing is counted or told, whichever code the share is for.
        var silent = Typist(2)
        let early = try silent.begin(&host, typing: new)
        #expect(early == nil)
        host.handle(.connectionClosed(ConnectionID(2)))
        #expect(host.session.door.codeGuard.wrongTries == 0)
        // A guess is counted, though the one before was compared first.
        try expect(try Self.codes(host).wrong, 3, &host, .refused(.wrongCode))
        #expect(host.session.door.codeGuard.wrongTries == 1)
        // The one before, as often as one likes: it tells nothing of the present one, and ends after a hundred times.
        var told = 0
        for id in 4...120 {
            if try Typist.type(old, UInt64(id), &host) == .refused(.replacedCode) { told += 1 }
            host.handle(.connectionClosed(ConnectionID(UInt64(id))))
            host.advance(by: .milliseconds(50))
            _ = host.takeEvents()
        }
        #expect(told <= 100)
        #expect(told > 80)
    }

    /// The viewer proves what was typed at most twice, whatever a host asks for: twice a guess for a false host.
    @Test func aFalseHostGetsTwoGuessesAtMost() throws {
        var random = SeededGenerator(seed: 1)
        var pairing = SecurePairing(
            own: .viewer, name: "viewer", host: .host, isKnown: false, choice: .code(Self.first))
        let nonce = [UInt8](repeating: 7, count: PairingContext.nonceLength)
        let welcome = SecureMessage.Welcome(isTrusted: false, methods: .code, nonce: nonce, name: "BeamRoom")
        guard case .send(.codeShare(let share)) = pairing.handle(.welcome(welcome), random: &random) else {
            Issue.record("no share")
            return
        }
        let context = PairingContext(
            viewer: .viewer, host: .host, nonce: nonce, viewerName: "viewer", hostName: "BeamRoom")
        var proofs = 0
        for guess in 0..<5 {
            let host = try CPaceHost(code: PairingCode("00000\(guess)")!, context: context, viewerShare: share)
            switch pairing.handle(.codeShare(host.share), random: &random) {
            case .send(.codeConfirm): proofs += 1
            case .violated: break
            default: Issue.record("an unexpected answer")
            }
        }
        #expect(proofs == 2)
    }
}
