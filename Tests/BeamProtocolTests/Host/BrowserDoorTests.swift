import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Browsers at a host's door: a code of their own, the question to the person, and how they go.
struct BrowserDoorTests {
    private static let code = PairingCode("271828")!
    private static let wrong = PairingCode("111111")!

    private func browser(_ number: UInt64) -> ConnectionID { ConnectionID(ConnectionID.firstOfBrowsers + number) }

    private func address(_ number: Int) -> IPAddress { .v4(0x0A00_0000 + UInt32(number)) }

    /// A browser comes and says what it wants. Answers what it is told.
    @discardableResult
    private func come(
        _ host: inout HostBench, _ number: UInt64, from: Int = 1, code: PairingCode?, kind: String = "Chrome on Android"
    ) -> [BrowserVerdict] {
        host.handle(.browserOpened(browser(number), from: address(from)))
        host.handle(.browserHello(browser(number), BrowserHello(code: code, kind: kind)))
        return host.takeVerdicts(browser(number))
    }

    private func session(_ verdicts: [BrowserVerdict]) -> String? {
        if case .admitted(let session)? = verdicts.last { session } else { nil }
    }

    private func refusal(_ verdicts: [BrowserVerdict]) -> BrowserRefusal? {
        for case .refused(let refusal, _) in verdicts { return refusal }
        return nil
    }

    // MARK: The code

    @Test func aCodeLetsInOneBrowserAndAnotherFollows() throws {
        var host = HostBench(.none, webCode: HostCode(given: Self.code, isRenewed: true))
        let session = try #require(self.session(come(&host, 1, code: Self.code)))
        let guest = Guest(identity: .browser(session: session), name: "Chrome on Android")
        #expect(host.session.guests == [guest])
        #expect(host.session.statistics.viewers == 1)
        let figures = host.session.viewerStatistics
        #expect(figures.count == 1 && figures[0].isBrowser && figures[0].isEncrypted && figures[0].session == session)
        var next: PairingCode?
        for case .webCodeChanged(let change) in host.takeEvents() where change.reason == .used { next = change.code }
        let following = try #require(next)
        #expect(following != Self.code)
        // The one before is a wrong one now.
        #expect(come(&host, 2, code: Self.code) == [.wrongCode(pause: nil)])
        #expect(self.session(come(&host, 3, code: following)) != nil)
    }

    @Test func aGivenCodeThatLastsServesAll() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        for number in 1...5 { #expect(session(come(&host, UInt64(number), from: number, code: Self.code)) != nil) }
        #expect(host.session.guests.count == 5)
    }

    @Test func guessesArePausedAndDoNotDelayOtherViewers() {
        let trust = HostTrust(own: .host, code: HostCode(given: PairingCode("482913")!))
        var host = HostBench(.none, trust: trust, webCode: HostCode(given: Self.code))
        var isPaused = false
        for number in 1...8 {
            for case .wrongCode(let pause) in come(&host, UInt64(number), from: number, code: Self.wrong) {
                isPaused = isPaused || pause != nil
            }
        }
        #expect(isPaused)
        // During the pause the right code doesn't open either: else a pause would tell which one is right.
        #expect(session(come(&host, 20, from: 20, code: Self.code)) == nil)
        // Native viewers' codes are counted apart.
        #expect(host.session.door.codeGuard.pause(now: host.now) == nil)
        host.advance(by: .seconds(70))
        #expect(session(come(&host, 21, from: 21, code: Self.code)) != nil)
    }

    /// Whoever listens on the network has read it (http), and would come with it before its guest does again.
    @Test(arguments: ["pause", "sent away", "full"])
    func aRightCodeThatDoesNotLetInIsUsedUp(why: String) throws {
        var host = HostBench(.none, webCode: HostCode(given: Self.code, isRenewed: true), viewers: 4)
        func code() -> PairingCode? { host.session.door.webCode?.current }
        switch why {
        case "pause":
            for number in 1...8 { come(&host, UInt64(number), from: number, code: Self.wrong) }
        case "full":
            for number in 1...4 where session(come(&host, UInt64(number), from: number, code: code())) == nil { break }
        default:
            let first = try #require(self.session(come(&host, 1, from: 20, code: Self.code)))
            host.handle(.sendAway(.browser(session: first)))
        }
        let before = try #require(code())
        _ = host.takeEvents()
        #expect(session(come(&host, 20, from: 20, code: before)) == nil)
        #expect(code() != before)
        let reasons = host.takeEvents().compactMap { event -> CodeChange.Reason? in
            if case .webCodeChanged(let change) = event { change.reason } else { nil }
        }
        #expect(reasons == [.typed])
        host.advance(by: .seconds(70))
        #expect(session(come(&host, 21, from: 21, code: before)) == nil, "nor for whoever has heard it")
    }

    /// Guesses in the pause aren't counted.
    @Test func whoGoesOnTypingInThePauseIsClosed() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code, isRenewed: true))
        for number in 1...8 { come(&host, UInt64(number), from: number, code: Self.wrong) }
        host.handle(.browserOpened(browser(20), from: address(20)))
        for number in 1...HostLimits.codesInPause + 1 {
            host.handle(.browserHello(browser(20), BrowserHello(code: Self.wrong, kind: "Chrome")))
            let isTooMuch = number > HostLimits.codesInPause
            #expect(refusal(host.takeVerdicts(browser(20))) == (isTooMuch ? .violation : nil))
        }
    }

    @Test func theNativeCodeOpensNothingToABrowser() {
        let native = PairingCode("482913")!
        var host = HostBench(
            .none, trust: HostTrust(own: .host, code: HostCode(given: native)), webCode: HostCode(given: Self.code))
        #expect(session(come(&host, 1, code: native)) == nil)
        #expect(host.session.guests.isEmpty)
    }

    @Test func withoutAWebCodeNoBrowserIsLetIn() {
        var host = HostBench(.all)
        #expect(refusal(come(&host, 1, code: Self.code)) == .closed)
        #expect(refusal(come(&host, 2, code: nil)) == .closed)
    }

    @Test func aHostForPairedViewersOnlyLetsInNone() {
        let trust = HostTrust(own: .host, code: .none, takesNewViewers: false)
        var host = HostBench(.all, trust: trust, webCode: HostCode(given: Self.code))
        #expect(refusal(come(&host, 1, code: Self.code)) == .closed)
    }

    // MARK: The question

    @Test func thePersonIsAskedOnceAndAnswers() throws {
        var host = HostBench(.ask, webCode: HostCode(given: Self.code))
        #expect(come(&host, 1, code: nil) == [.asking])
        let visitor = Visitor(address: address(1), name: "Chrome on Android")
        #expect(host.takeEvents() == [.browserAsks(browser(1), from: visitor)])
        #expect(host.session.guests.isEmpty, "nothing before the answer")
        host.handle(.decision(browser(1), accept: true))
        #expect(session(host.takeVerdicts(browser(1))) != nil)
        #expect(come(&host, 2, from: 2, code: nil) == [.asking])
        host.handle(.decision(browser(2), accept: false))
        #expect(refusal(host.takeVerdicts(browser(2))) == .declined)
        #expect(host.session.guests.count == 1)
    }

    @Test func aBrowserThatLeavesTakesItsQuestionAlong() {
        var host = HostBench(.ask, webCode: HostCode(given: Self.code))
        come(&host, 1, code: nil)
        host.handle(.browserClosed(browser(1), reason: nil))
        #expect(host.takeEvents().contains(.askWithdrawn(browser(1))))
        host.handle(.decision(browser(1), accept: true))
        #expect(host.session.guests.isEmpty)
    }

    @Test func nobodyAnswersAndTheBrowserIsToldSo() {
        var host = HostBench(.ask, webCode: HostCode(given: Self.code))
        come(&host, 1, code: nil)
        host.advance(by: HostLimits.comparisonTimeout + .seconds(1))
        #expect(refusal(host.takeVerdicts(browser(1))) == .unanswered)
    }

    @Test func withNobodyToAskOnlyTheCodeHelps() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        #expect(refusal(come(&host, 1, code: nil)) == .closed)
    }

    @Test func allAreLetInWhereAllAreLetIn() {
        var host = HostBench(.all, webCode: HostCode(given: Self.code))
        #expect(session(come(&host, 1, code: nil)) != nil)
    }

    // MARK: How they go

    @Test func aPageThatClosesLeaves() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        come(&host, 1, code: Self.code)
        host.handle(.browserClosed(browser(1), reason: nil))
        #expect(host.session.guests.isEmpty)
        let reasons = host.takeEvents().compactMap { event in
            if case .viewerLeft(_, _, let reason) = event { reason } else { nil }
        }
        #expect(reasons == ["its page was closed"])
    }

    @Test func aPageIsNotMissedByTheDoorHoweverLongItIsSilent() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        come(&host, 1, code: Self.code)
        host.advance(by: .seconds(100))
        #expect(host.session.guests.count == 1, "whoever serves it says when it is gone")
    }

    @Test func oneThatIsSentAwayNeedsACodeAgainAndOneForGoodIsKeptOut() throws {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        let first = try #require(session(come(&host, 1, code: Self.code)))
        host.handle(.sendAway(.browser(session: first)))
        #expect(refusal(host.takeVerdicts(browser(1))) == .sentAway)
        #expect(host.session.guests.isEmpty)
        #expect(refusal(come(&host, 9, code: Self.code)) == .away, "for a minute")
        host.advance(by: .seconds(61))
        let again = try #require(session(come(&host, 2, code: Self.code)))
        host.handle(.blockBrowser(session: again))
        #expect(refusal(host.takeVerdicts(browser(2))) == .sentAway)
        #expect(refusal(come(&host, 3, code: Self.code)) == .sentAway)
        #expect(session(come(&host, 4, from: 2, code: Self.code)) != nil, "another address")
    }

    /// Some places are reserved for paired devices.
    @Test func placesCountForAllViewers() {
        let trust = HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none)
        var host = HostBench(.none, trust: trust, webCode: HostCode(given: Self.code))
        for number in 0..<ViewerLimits(Door.Configuration.defaultViewers).unknownViewers {
            #expect(session(come(&host, UInt64(number), from: number, code: Self.code)) != nil)
        }
        #expect(refusal(come(&host, 100, from: 100, code: Self.code)) == .busy)
        #expect(host.join(500) != nil, "a paired device")
    }

    /// A person who has typed a wrong code isn't told of: the page opens another connection for the next one.
    @Test func whoTypesAWrongCodeAndRestsIsClosedWithoutAWord() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        come(&host, 1, code: Self.wrong)
        _ = host.takeEvents()
        host.advance(by: HostLimits.admissionTimeout + .seconds(1))
        #expect(host.takeVerdicts(browser(1)) == [.closed])
        #expect(host.takeEvents().isEmpty)
    }

    @Test func oneAddressCannotTakeAllPlaces() {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        var admitted = 0
        while session(come(&host, UInt64(admitted), code: Self.code)) != nil { admitted += 1 }
        #expect(admitted == host.session.door.limits.browsersPerAddress)
        #expect(admitted > HostLimits.viewersPerDevice && admitted < Door.Configuration.defaultViewers)
        #expect(refusal(come(&host, 100, code: Self.code)) == .manyHere)
        #expect(session(come(&host, 101, from: 2, code: Self.code)) != nil)
    }

    @Test func theEndIsToldToAllPages() {
        var host = HostBench(.ask, webCode: HostCode(given: Self.code))
        come(&host, 1, code: Self.code)
        come(&host, 2, code: nil)
        host.handle(HostSession.Input.shutdown)
        for number in 1...2 { #expect(refusal(host.takeVerdicts(browser(UInt64(number)))) == .ended) }
    }

    // MARK: What isn't a browser's turn

    @Test func helloTwiceAndOfNoConnection() {
        var host = HostBench(.ask, webCode: HostCode(given: Self.code))
        host.handle(.browserHello(browser(9), BrowserHello(code: Self.code, kind: "x")))
        #expect(host.takeVerdicts(browser(9)).isEmpty)
        come(&host, 1, code: Self.code)
        host.handle(.browserHello(browser(1), BrowserHello(code: Self.code, kind: "x")))
        #expect(host.session.guests.isEmpty, "an admitted page says no hello")
        // Nor does a native connection.
        host.open(5)
        host.handle(.browserHello(ConnectionID(5), BrowserHello(code: Self.code, kind: "x")))
        #expect(host.session.guests.isEmpty)
    }

    @Test func whatABrowserCallsItselfIsMadeSafeToShow() throws {
        var host = HostBench(.none, webCode: HostCode(given: Self.code))
        come(&host, 1, code: Self.code, kind: "Chrome\u{1b}[2J”\n“" + String(repeating: "x", count: 9000))
        let visitor = host.takeEvents().compactMap { event -> Visitor? in
            if case .viewerPaired(_, let visitor, _) = event { visitor } else { nil }
        }.first
        let name = try #require(visitor?.name)
        #expect(name.count < 200 && !name.contains("\u{1b}") && !name.contains("\n"))
    }
}

/// A door for browsers alone, without a stream, as at a member of a room.
struct LoneBrowserDoorTests {
    private static let code = PairingCode("271828")!
    private let page = ConnectionID(ConnectionID.firstOfBrowsers + 1)

    private func take(_ door: inout DoorSession, now: MediaTime) -> (verdicts: [BrowserVerdict], events: [HostEvent]) {
        var (verdicts, events): ([BrowserVerdict], [HostEvent]) = ([], [])
        while true {
            switch door.pollOutput(now: now) {
            case .browser(page, let verdict): verdicts.append(verdict)
            case .event(let event): events.append(event)
            case .send, .close, .browser: Issue.record("nothing else is connected")
            case .wait: return (verdicts, events)
            }
        }
    }

    @Test func itLetsInByTheCodeAndTellsTheEnd() throws {
        var configuration = Door.Configuration(
            acceptance: .none, deviceName: "desk",
            trust: HostTrust(own: .host, code: .none, takesNewViewers: true, remembersNewViewers: false))
        configuration.webCode = HostCode(given: Self.code)
        var door = DoorSession(configuration: configuration, random: SeededGenerator(seed: 3))
        let now = MediaTime.at(5)
        door.handle(.browserOpened(page, from: .v4(0x0A00_0001)), now: now)
        door.handle(.browserHello(page, BrowserHello(code: PairingCode("111111"), kind: "Chrome")), now: now)
        guard case .wrongCode? = take(&door, now: now).verdicts.last else {
            Issue.record("a wrong code was taken")
            return
        }
        door.handle(.browserHello(page, BrowserHello(code: Self.code, kind: "Chrome")), now: now)
        guard case .admitted(let session)? = take(&door, now: now).verdicts.last else {
            Issue.record("the code wasn't taken")
            return
        }
        #expect(door.guests == [Guest(identity: .browser(session: session), name: "Chrome")])
        let figures = door.figures
        #expect(figures.count == 1 && figures[0].isBrowser && figures[0].session == session)
        door.shutdown()
        let last = take(&door, now: now).verdicts
        #expect(last.count == 2, "\(last)")
        guard case .refused(.ended, _)? = last.first, case .closed? = last.last else {
            Issue.record("\(last)")
            return
        }
    }
}
