import BeamMedia
import Testing

@testable import BeamProtocol

/// How fast codes can be guessed, in virtual time.
struct CodeGuardTests {
    @Test func afterFiveTriesEachNextWaitIsLonger() {
        var guardian = CodeGuard()
        var now = MediaTime.zero
        for _ in 0..<5 { #expect(guardian.begin(now: now) == .go) }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            #expect(guardian.begin(now: now) == .wait(.seconds(seconds)))
            // Asking again doesn't prolong the wait.
            #expect(guardian.begin(now: now) == .wait(.seconds(seconds)))
            now = now + .seconds(seconds)
            #expect(guardian.pause(now: now) == nil)
            #expect(guardian.begin(now: now) == .go)
        }
    }

    @Test func simultaneousTriesCountEach() {
        var guardian = CodeGuard()
        let verdicts = (0..<64).map { _ in guardian.begin(now: .zero) }
        #expect(verdicts.count { $0 == .go } == 5)
    }

    @Test func aSuccessResetsTheWaits() {
        var guardian = CodeGuard()
        for _ in 0..<5 { _ = guardian.begin(now: .zero) }
        guardian.succeeded()
        for _ in 0..<5 { #expect(guardian.begin(now: .zero) == .go) }
        #expect(guardian.begin(now: .zero) == .wait(.seconds(1)))
    }

    /// Tries without a pause from any number of machines: in a day they find one code in 690. After a year on one code
    /// the chance is about one in two; the host has then reported half a million wrong codes.
    @Test(arguments: [(1, 1_450), (7, 10_100), (365, 525_700)])
    func triesPerDayAreBounded(days: Int, most: Int) {
        var guardian = CodeGuard()
        var now = MediaTime.zero
        var tries = 0
        let end = MediaTime.zero + .seconds(days * 24 * 3600)
        while now < end {
            switch guardian.begin(now: now) {
            case .go: tries += 1
            case .wait(let pause): now = now + pause
            }
        }
        // Nearly so many are possible: `most` isn't just a large number.
        #expect((most * 95 / 100...most).contains(tries), "\(tries)")
    }

    /// Requests during a wait don't prolong the next wait, and a quiet night doesn't shorten it.
    @Test func onlyRealTriesCount() {
        var guardian = CodeGuard()
        for _ in 0..<5 { _ = guardian.begin(now: .zero) }
        for _ in 0..<1000 { _ = guardian.begin(now: .zero) }
        let morning = MediaTime.zero + .seconds(8 * 3600)
        #expect(guardian.begin(now: morning) == .go)
        #expect(guardian.begin(now: morning) == .wait(.seconds(2)))
        #expect(guardian.begin(now: morning + .milliseconds(1999)) == .wait(.milliseconds(1)))
        #expect(guardian.begin(now: morning + .seconds(2)) == .go)
    }

    @Test func aCodePairsOnlyOnce() {
        var random = SeededGenerator(seed: 1)
        let given = PairingCode("482913")!
        var renewed = HostCode(given: given, isRenewed: true)
        renewed.used(random: &random)
        #expect(renewed.current != nil && renewed.current != given)
        var single = HostCode(given: given, isRenewed: false)
        #expect(single.current == given)
        single.used(random: &random)
        #expect(single.current == nil)
        single.replace(PairingCode("000001")!)
        #expect(single.current?.description == "000001")
        #expect(HostCode.none.current == nil)
        #expect(HostCode.random().current != nil)
    }
}
