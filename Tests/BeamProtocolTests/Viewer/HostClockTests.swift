import BeamMedia
import Testing

@testable import BeamProtocol

/// The host's clock, as well as a viewer can know it.
struct HostClockTests {
    private static let start = MediaTime(nanoseconds: 5_000_000_000)
    /// The host began to count an hour before.
    private static let ahead = Duration.seconds(3600)

    @Test func halfARoundTripIsTheError() throws {
        var clock = HostClock()
        #expect(clock.local(Self.start) == nil && clock.error(now: Self.start) == nil)
        let sent = Self.start
        // All of the delay on the way back: as wrong as it can be.
        clock.pong(sent: sent, host: sent + Self.ahead, now: sent + .milliseconds(4))
        let local = try #require(clock.local(sent + Self.ahead))
        #expect(local - sent == .milliseconds(2))
        #expect(clock.error(now: sent + .milliseconds(4)) == .milliseconds(2))
        #expect(clock.roundTrip == .milliseconds(4))
    }

    @Test func theQuickestExchangeCountsUntilItIsOld() throws {
        var clock = HostClock()
        clock.pong(
            sent: Self.start, host: Self.start + Self.ahead + .microseconds(100), now: Self.start + .microseconds(200))
        var now = Self.start + .seconds(5)
        clock.pong(sent: now, host: now + Self.ahead, now: now + .milliseconds(30))
        #expect(try #require(clock.local(now + Self.ahead)) == now)
        #expect(abs((try #require(clock.error(now: now)) - .microseconds(600)).inMilliseconds) < 0.001)
        // Ten minutes later the old one may be 60 ms off.
        now = now + .seconds(600)
        clock.pong(sent: now, host: now + Self.ahead + .milliseconds(20), now: now + .milliseconds(30))
        #expect(try #require(clock.local(now + Self.ahead)) == now - .milliseconds(5))
    }

    @Test func nonsenseIsIgnored() {
        var clock = HostClock()
        clock.pong(sent: Self.start, host: Self.start, now: Self.start - .seconds(1))
        clock.pong(sent: MediaTime(nanoseconds: -5), host: Self.start, now: Self.start + .seconds(60))
        #expect(clock.roundTrip == nil && clock.local(Self.start) == nil)
    }

    @Test func aStreamKnowsHowOldItsFramesAre() {
        var simulation = Simulation.securePair()
        simulation.media.weather.delay = .milliseconds(7)
        simulation.drive(for: .seconds(3))
        let statistics = simulation.viewer.session.statistics
        #expect(statistics.roundTrip == .milliseconds(2))
        #expect((statistics.clockError ?? .seconds(1)) < .milliseconds(2))
        let ages = simulation.viewer.ages
        // The encoder takes 5 ms, the way 7.
        #expect(ages.count > 50)
        #expect(ages.dropFirst(10).allSatisfy { $0 > .milliseconds(10) && $0 < .milliseconds(20) })
    }
}
