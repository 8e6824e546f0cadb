import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A picture that stands still is noticed within a second, with the reason.
struct StallTests {
    /// The stalls that were reported after `time`.
    private func stalls(_ simulation: Simulation, after time: MediaTime) -> [(time: MediaTime, cause: StallCause)] {
        simulation.viewer.events.compactMap {
            if case .stalled(_, let cause) = $0.event, $0.time > time { ($0.time, cause) } else { nil }
        }
    }

    private func watching(seed: UInt64 = 1) -> Simulation {
        var simulation = Simulation.securePair(seed: seed)
        simulation.setConditions(0, LinkConditions(delay: .milliseconds(5)))
        simulation.drive(for: .seconds(3))
        return simulation
    }

    @Test func silenceInAMovingPictureIsAStallAfterASecond() throws {
        var simulation = watching()
        let cut = simulation.now
        simulation.setConditions(0, LinkConditions(isMuted: true), back: LinkConditions(isMuted: true))
        simulation.drive(for: .seconds(2))
        let stall = try #require(stalls(simulation, after: cut).first)
        #expect(stall.time - cut < .milliseconds(1100))
        #expect(stall.cause == .nothingArrives)
        simulation.setConditions(0, LinkConditions(delay: .milliseconds(5)))
        simulation.drive(for: .seconds(2))
        #expect(simulation.times { $0 == .mediaResumed }.count == 1)
        #expect(stalls(simulation, after: cut + .seconds(3)).isEmpty)
    }

    @Test func aStillPictureIsNoStall() {
        var simulation = watching()
        simulation.source.isStill = true
        simulation.drive(for: .seconds(20))
        #expect(stalls(simulation, after: .zero).isEmpty)
        #expect(simulation.times { if case .controlLost = $0 { true } else { false } }.isEmpty)
    }

    /// A hello or its answer is lost now and then.
    @Test func aStillPictureWithLossIsNoStall() {
        var simulation = watching()
        simulation.source.isStill = true
        simulation.setConditions(0, LinkConditions(loss: 0.1), back: LinkConditions(loss: 0.1))
        simulation.drive(for: .seconds(60))
        #expect(stalls(simulation, after: .zero).isEmpty)
    }

    @Test func silenceUnderAStillPictureIsNoticed() throws {
        var simulation = watching()
        simulation.source.isStill = true
        simulation.drive(for: .seconds(3))
        let cut = simulation.now
        simulation.setConditions(0, LinkConditions(isMuted: true), back: LinkConditions(isMuted: true))
        simulation.drive(for: .seconds(4))
        let stall = try #require(stalls(simulation, after: cut).first)
        #expect(stall.time - cut < .milliseconds(2200))
    }

    @Test(arguments: [0.6, 0.8, 0.95], [UInt64(1), 2, 3])
    func heavyLossIsAStallWhenThePictureStandsStill(loss: Double, seed: UInt64) {
        var simulation = watching(seed: seed)
        let begin = simulation.now
        let lossy = LinkConditions(delay: .milliseconds(5), loss: loss)
        simulation.setConditions(0, lossy, back: lossy)
        simulation.drive(for: .seconds(15))
        // Each second without a picture is one with a stall.
        let pictures = [begin] + simulation.viewer.frames.map(\.time).filter { $0 > begin } + [simulation.now]
        let reports = stalls(simulation, after: begin)
        for (last, next) in zip(pictures, pictures.dropFirst()) where next - last > .milliseconds(1300) {
            let first = reports.first { $0.time > last }
            #expect(first.map { $0.time - last < .milliseconds(1300) } ?? false, "\(last) to \(next)")
        }
        if loss > 0.9 {
            #expect(!reports.isEmpty)
            #expect(reports.contains { $0.cause == .loss || $0.cause == .nothingArrives })
        }
        #expect(
            !simulation.hostEvents.contains { if case .viewerLeft = $0.event { true } else { false } },
            "an honest viewer isn't evicted")
        simulation.setConditions(0, LinkConditions(delay: .milliseconds(5)))
        simulation.drive(for: .seconds(3))
        #expect(simulation.viewer.frames.last.map { simulation.now - $0.time < .milliseconds(200) } ?? false)
        #expect(simulation.viewer.decoder.errors.isEmpty)
    }

    @Test func aPathThatCarriesTooLittleIsNamed() throws {
        var simulation = watching()
        simulation.source.keyframeBytes = 400_000
        simulation.source.frameBytes = 100_000
        let slow = LinkConditions(delay: .milliseconds(5), bitsPerSecond: 40_000, queueBytes: 400_000)
        let begin = simulation.now
        simulation.setConditions(0, slow)
        simulation.drive(for: .seconds(6))
        let causes = Set(stalls(simulation, after: begin).map(\.cause))
        #expect(causes.contains(.tooSlow) || causes.contains(.nothingArrives))
    }
}
