import BeamMedia
import Foundation
import Testing

@testable import BeamDoctor

/// What is made of measured values.
struct PathFigureTests {
    private func time(_ milliseconds: Double) -> MediaTime { .zero + .milliseconds(milliseconds) }

    // MARK: Round trips

    @Test func roundTripsHaveAMedianAndAJitter() throws {
        let times = (1...100).map { Duration.milliseconds($0 <= 90 ? 2 : 30) }
        let trips = try #require(RoundTrips(times.shuffled(), sent: 100))
        #expect(trips.median == 2 && trips.p95 == 30 && trips.jitter == 28 && trips.loss == 0)
        #expect(PathVerdicts.roundTrip(trips, byTCP: false).verdict == .good)
        #expect(PathVerdicts.jitter(trips).verdict == .improvable)
        #expect(RoundTrips([], sent: 100) == nil)
        #expect(RoundTrips([.milliseconds(7)], sent: 1)?.p95 == 7)
    }

    @Test(arguments: [(0, Finding.Verdict.good), (1, .good), (2, .improvable), (10, .improvable), (36, .broken)])
    func lossIsJudged(lost: Int, verdict: Finding.Verdict) throws {
        let trips = try #require(RoundTrips(Array(repeating: .milliseconds(1), count: 100 - lost), sent: 100))
        let finding = PathVerdicts.loss(trips)
        #expect(finding.verdict == verdict && finding.figures.loss == Double(lost) / 100)
    }

    @Test func onlyEchoesThatLeftCanBeLost() {
        let echoes = [
            Echo(size: 84, sent: time(0), arrived: time(3)), Echo(size: 84, sent: time(1)), Echo(size: 84),
        ]
        #expect(RoundTrips(echoes)?.lost == 1 && RoundTrips(echoes)?.count == 2)
    }

    @Test func everyFigureStandsOnThePageOfEvents() throws {
        let figures = PathFigures {
            ($0.address, $0.interface, $0.rttMs, $0.rttP95Ms, $0.jitterMs) = ("192.0.2.7", "eth0", 1.23456, 2, 3)
            ($0.loss, $0.mbit, $0.isAtLeast, $0.mtu) = (0.5, 940, true, 1500)
        }
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/beamroom/beamroom.docc/ProgramEvents.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let cells = try #require(lines.first { $0.hasPrefix("| `finding` |") }).split(separator: "|")
        #expect(Set(figures.fields.keys) == Set(cells[2].matches(of: /`(\w+)`/).map { String($0.1) }))
        #expect(figures.fields["rttMs"] == .number(1.235) && PathFigures().fields.isEmpty)
    }

    // MARK: Trains

    /// A train that leaves within a millisecond, and passes a bottleneck of so many Mbit/s.
    private func train(_ mbit: Double, bucket: Int = 0, lost: Set<Int> = []) -> [Echo] {
        let gap = 1500 * 8 / mbit / 1000
        return (0..<32).map { index in
            let sent = time(Double(index) / 32)
            let back = time(5 + Double(max(0, index - bucket)) * gap)
            return Echo(size: 1500, sent: sent, arrived: lost.contains(index) ? nil : back)
        }
    }

    @Test(arguments: [1.0, 10, 100]) func aTrainShowsTheRate(mbit: Double) throws {
        let rate = try #require(TrainRate(train(mbit)))
        #expect(abs(rate.rate / 1e6 / mbit - 1) < 0.01 && !rate.isAtLeast)
    }

    @Test func aTokenBucketThatLetsItsBeginningPassChangesNothing() throws {
        let rate = try #require(TrainRate(train(10, bucket: 20)))
        #expect(abs(rate.rate / 1e7 - 1) < 0.01)
    }

    @Test func aTrainThatIsNotDrawnApartIsALowerBound() throws {
        let rate = try #require(TrainRate(train(100_000)))
        #expect(rate.isAtLeast)
        #expect(PathVerdicts.rate(TrainRate(median: [rate])).text.contains("at least"))
    }

    @Test func aTrainMayLoseParts() throws {
        // The end, as a full queue drops it; and single ones.
        let rate = try #require(TrainRate(train(10, lost: Set(20..<32))))
        #expect(abs(rate.rate / 1e7 - 1) < 0.01)
        #expect(try abs(#require(TrainRate(train(10, lost: [18, 25]))).rate / 1e7 - 1) < 0.2)
        #expect(TrainRate(train(10, lost: Set(5..<32))) == nil)
        #expect(PathVerdicts.rate(TrainRate(median: [])).verdict == .improvable)
    }

    @Test func theRateIsComparedWithADesktop() throws {
        let (slow, fast) = (try #require(TrainRate(train(10))), try #require(TrainRate(train(100))))
        #expect(PathVerdicts.rate(slow).verdict == .improvable && PathVerdicts.rate(slow).text.contains("20 Mbit/s"))
        #expect(PathVerdicts.rate(fast).verdict == .good)
        // Of several, the one in the middle.
        #expect(TrainRate(median: [fast, slow, slow])?.rate == slow.rate)
    }

    // MARK: The MTU

    /// What a search finds on a path that carries packets of up to `size` bytes.
    private func search(_ size: Int, interface: Int = 1500, reports: Bool = false) -> (mtu: PathMTU, rounds: Int) {
        var search = MTUSearch()
        var rounds = 0
        let reported = reports ? size : interface
        while true {
            let sizes = search.sizes(reported: rounds > 0 ? reported : interface)
            guard !sizes.isEmpty, rounds < 10 else { break }
            rounds += 1
            search.note(sizes.map { ($0, $0 > interface ? .tooLong : $0 > size ? .lost : .passed) })
        }
        return (PathMTU(search, reported: reported), rounds)
    }

    @Test func everySizeIsFoundInAFewRounds() {
        #expect(search(1500).mtu == PathMTU(size: 1500, limit: .none) && search(1500).rounds == 1)
        for size in 576..<1500 {
            let (mtu, rounds) = search(size)
            #expect(mtu == PathMTU(size: size, limit: .silent) && rounds <= 4, "\(size): \(mtu), \(rounds)")
        }
        #expect(search(400).mtu.size == 0)
    }

    @Test func whatLimitsTheSizeIsNamed() {
        #expect(search(1280, interface: 1280).mtu == PathMTU(size: 1280, limit: .interface))
        let reported = search(1413, reports: true)
        #expect(reported.mtu == PathMTU(size: 1413, limit: .reported) && reported.rounds == 2)
        func text(_ size: Int, _ limit: PathMTU.Limit) -> String {
            PathVerdicts.mtu(PathMTU(size: size, limit: limit), isV6: false, interface: "wg0").text
        }
        #expect(text(1420, .interface).contains("wg0 takes no larger ones"))
        #expect(text(1420, .silent).contains("ip link set dev wg0 mtu 1420"))
        #expect(text(1000, .reported).contains("cut shorter") && text(0, .silent).contains("576"))
        #expect(PathVerdicts.mtu(PathMTU(size: 1228, limit: .reported), isV6: false, interface: "").verdict == .good)
        #expect(
            PathVerdicts.mtu(PathMTU(size: 1228, limit: .reported), isV6: true, interface: "").verdict == .improvable)
    }

    @Test func aSizeThatIsLostByChanceDoesNotHideLargerOnes() {
        var search = MTUSearch()
        search.note([(1500, .lost), (1400, .passed), (1280, .lost)])
        #expect(search.passed == 1400 && search.failed == 1500)
        search.note([(1500, .passed)])
        #expect(search.passed == 1500 && search.sizes(reported: nil).isEmpty)
    }
}
