import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A viewer's estimate of the host's clock.
struct HostClockTests {
    private static let start = MediaTime(nanoseconds: 5_000_000_000)
    /// The host's clock is an hour ahead.
    private static let ahead = Duration.seconds(3600)

    @Test func theErrorIsHalfARoundTripAtMost() throws {
        var clock = HostClock()
        #expect(clock.local(Self.start) == nil && clock.error(now: Self.start) == nil)
        let sent = Self.start
        // All delay is on the way back: the largest error.
        clock.pong(sent: sent, host: sent + Self.ahead, now: sent + .milliseconds(4))
        let local = try #require(clock.local(sent + Self.ahead))
        #expect(local - sent == .milliseconds(2))
        #expect(clock.error(now: sent + .milliseconds(4)) == .milliseconds(2))
        #expect(clock.roundTrip == .milliseconds(4))
    }

    @Test func theQuickestExchangeCountsUntilItExpires() throws {
        var clock = HostClock()
        clock.pong(
            sent: Self.start, host: Self.start + Self.ahead + .microseconds(100), now: Self.start + .microseconds(200))
        var now = Self.start + .seconds(5)
        clock.pong(sent: now, host: now + Self.ahead, now: now + .milliseconds(30))
        #expect(try #require(clock.local(now + Self.ahead)) == now)
        #expect(abs((try #require(clock.error(now: now)) - .microseconds(600)).inMilliseconds) < 0.001)
        // After 10 min the clocks' drift may have reached 60 ms.
        now = now + .seconds(600)
        clock.pong(sent: now, host: now + Self.ahead + .milliseconds(20), now: now + .milliseconds(30))
        #expect(try #require(clock.local(now + Self.ahead)) == now - .milliseconds(5))
    }

    @Test func impossibleClocksAreIgnored() {
        var clock = HostClock()
        clock.pong(sent: Self.start, host: Self.start, now: Self.start - .seconds(1))
        clock.pong(sent: MediaTime(nanoseconds: -5), host: Self.start, now: Self.start + .seconds(60))
        #expect(clock.roundTrip == nil && clock.local(Self.start) == nil)
    }

    @Test func frameAgesAreKnown() {
        var simulation = Simulation.securePair()
        simulation.media.conditions.delay = .milliseconds(7)
        simulation.drive(for: .seconds(3))
        let statistics = simulation.viewer.session.statistics
        #expect(statistics.roundTrip == .milliseconds(2))
        #expect((statistics.clockError ?? .seconds(1)) < .milliseconds(2))
        let ages = simulation.viewer.ages
        // The encoder takes 5 ms, the transit 7 ms.
        #expect(ages.count > 50)
        #expect(ages.dropFirst(10).allSatisfy { $0 > .milliseconds(10) && $0 < .milliseconds(20) })
    }
}
