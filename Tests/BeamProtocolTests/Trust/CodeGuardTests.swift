import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// How fast codes can be guessed, in virtual time.
struct CodeGuardTests {
    /// Tries at once if that is allowed. Returns whether it was.
    private static func tries(_ guardian: inout CodeGuard, now: MediaTime) -> Bool {
        guard guardian.pause(now: now) == nil else { return false }
        guardian.failed(now: now)
        return true
    }

    @Test func afterFiveWrongTriesEachNextWaitIsLonger() {
        var guardian = CodeGuard()
        var now = MediaTime.zero
        func tries() -> Bool { Self.tries(&guardian, now: now) }
        for _ in 0..<5 { #expect(tries()) }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            #expect(guardian.pause(now: now) == .seconds(seconds))
            now = now + .seconds(seconds)
            #expect(guardian.pause(now: now) == nil)
            #expect(tries())
        }
    }

    /// What was typed wrong is forgotten, one try each two minutes: a class whose pupils mistype now and then never waits.
    @Test func typingErrorsAreForgotten() {
        var guardian = CodeGuard()
        var now = MediaTime.zero
        for _ in 0..<4 { guardian.failed(now: now) }
        for _ in 0..<100 {
            now = now + .seconds(120)
            guardian.failed(now: now)
            #expect(guardian.pause(now: now) == .seconds(1) || guardian.pause(now: now) == nil)
            now = now + .seconds(120)
        }
        now = now + .seconds(3600)
        for _ in 0..<4 { guardian.failed(now: now) }
        #expect(guardian.pause(now: now) == nil)
        #expect(guardian.wrongTries == 4)
    }

    /// Tries without a pause from any number of machines, or with some rest after each or after many: at most 1,450 in a
    /// day, so that they find a code that never changes with a probability of 1 in 690.
    @Test(arguments: [(1, 1_450), (7, 10_100), (365, 525_700)])
    func triesPerDayAreBounded(days: Int, most: Int) {
        let end = MediaTime.zero + .seconds(days * 24 * 3600)
        func count(rest: Duration, every: Int) -> Int {
            var guardian = CodeGuard()
            var now = MediaTime.zero
            var tries = 0
            while now < end {
                if let pause = guardian.pause(now: now) {
                    now = now + pause
                } else {
                    guardian.failed(now: now)
                    tries += 1
                    if tries % every == 0 { now = now + rest }
                }
            }
            return tries
        }
        // Nearly so many are possible: `most` isn't just a large number.
        let greedy = count(rest: .zero, every: 1)
        #expect((most * 95 / 100...most).contains(greedy), "\(greedy)")
        guard days == 1 else { return }
        for rest in [1, 10, 59, 60, 61, 119, 120, 121, 600, 1320] {
            for every in [1, 2, 5, 11, 12, 100] {
                let tries = count(rest: .seconds(rest), every: every)
                #expect(tries <= most, "\(rest) s after \(every): \(tries)")
            }
        }
    }

    /// A code that is replaced after five wrong tries is no easier to guess: 290 codes with five tries each.
    @Test func aRenewedCodeIsGuessedNoSooner() {
        let tries = 1_450.0
        let fixed = tries / 1_000_000
        var missed = 1.0
        for _ in 0..<Int(tries) / HostCode.mostWrongTries { missed *= 1 - Double(HostCode.mostWrongTries) / 1_000_000 }
        #expect(1 - missed <= fixed)
        #expect((680...700).contains(1 / (1 - missed)))
    }

    // MARK: Whom a code serves

    private static let given = PairingCode("482913")!
    private static let start = MediaTime.zero + .seconds(1000)

    @Test func aCodeOfOnePairingPairsOnlyOnce() {
        var random = SeededGenerator(seed: 1)
        var renewed = HostCode(given: Self.given, isRenewed: true)
        var isReplaced = renewed.used(random: &random, now: Self.start)
        #expect(isReplaced)
        #expect(renewed.current != nil && renewed.current != Self.given)
        var single = HostCode(given: Self.given, isRenewed: false)
        #expect(single.current == Self.given)
        isReplaced = single.used(random: &random, now: Self.start)
        #expect(isReplaced)
        #expect(single.current == nil && single.wasUsed)
        single.give(PairingCode("000001")!, now: Self.start)
        #expect(single.current?.description == "000001")
        #expect(HostCode.none.current == nil)
        #expect(HostCode.random().current != nil)
        #expect(HostCode.random(servesOne: true).service == .one(isRenewed: true))
    }

    @Test func aShownCodeServesEverybodyForTenMinutes() {
        var random = SeededGenerator(seed: 2)
        var code = HostCode.random()
        #expect(code.expiry == nil, "its time hasn't begun")
        code.begin(now: Self.start)
        #expect(code.expiry == Self.start + .seconds(600))
        let first = code.current
        var uses = 0
        for _ in 0..<30 where code.used(random: &random, now: Self.start) { uses += 1 }
        #expect(uses == 0 && code.current == first)
        let isOver = (0..<5).map { _ in code.failed() }
        #expect(isOver == [false, false, false, false, true], "five wrong tries replace it")
        code.renew(random: &random, now: Self.start + .seconds(60))
        #expect(code.current != first && code.wrongTries == 0)
        #expect(code.expiry == Self.start + .seconds(660))
    }

    @Test func aGivenCodeServesAlways() {
        var random = SeededGenerator(seed: 3)
        var code = HostCode(given: Self.given)
        code.begin(now: Self.start)
        #expect(code.expiry == nil)
        let isOver = (0..<20).map { _ in code.failed() || code.used(random: &random, now: Self.start) }
        #expect(!isOver.contains(true) && code.current == Self.given)
        // The person asks for another one: that is renewed.
        code.renew(random: &random, now: Self.start)
        #expect(code.service == .everybody && code.expiry != nil && code.current != Self.given)
    }

    @Test func theCodeBeforeIsKnownForThreeMinutesAndHundredTries() {
        var random = SeededGenerator(seed: 4)
        var code = HostCode(given: Self.given)
        func previous(after seconds: Int) -> PairingCode? { code.takePrevious(now: Self.start + .seconds(seconds)) }
        #expect(previous(after: 0) == nil)
        code.renew(random: &random, now: Self.start)
        #expect(previous(after: 179) == Self.given)
        #expect(previous(after: 180) == nil)
        for _ in 1..<100 { #expect(previous(after: 1) == Self.given) }
        #expect(previous(after: 1) == nil)
        #expect(code.wasReplaced(now: Self.start))
    }
}
