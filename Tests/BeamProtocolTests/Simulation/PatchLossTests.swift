import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Changes that are sent exactly over links that lose datagrams, in virtual time.
struct PatchLossTests {
    private func simulation(_ conditions: LinkConditions) -> Simulation {
        var simulation = Simulation(seed: 11)
        simulation.source.hasPatches = true
        simulation.source.isStill = true
        simulation.startHost(acceptance: .all)
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.takesPatches = true
        simulation.addViewer(from: .v4(0x0A00_0002), configuration: configuration)
        simulation.drive(for: .seconds(2))
        simulation.media.conditions = conditions
        simulation.mediaBack.conditions = conditions
        return simulation
    }

    private func patch(_ bytes: Int, of simulation: Simulation) -> ExactPatch {
        ExactPatch(
            content: [UInt8](repeating: 7, count: bytes), captureTime: simulation.now,
            pictureSize: PixelSize(width: 640, height: 360), isRepair: false)
    }

    /// Letters, and changes of several datagrams. Each that is lost comes again, also the parts alone.
    @Test(arguments: [(0.05, 300), (0.2, 300), (0.2, 9000)])
    func lostChangesComeAgain(loss: Double, bytes: Int) {
        var simulation = simulation(LinkConditions(delay: .milliseconds(2), loss: loss))
        var sent: [MediaTime] = []
        for _ in 0..<200 {
            sent.append(simulation.now)
            simulation.pass(patch(bytes, of: simulation))
            simulation.drive(for: .milliseconds(50))
        }
        simulation.drive(for: .seconds(1))
        let arrived = Set(simulation.viewer.patches.map(\.hostTime))
        #expect(arrived.count == simulation.viewer.patches.count)
        #expect(sent.count { arrived.contains($0.microseconds) } >= 190)
        let again = simulation.host?.statistics.patchesAgain ?? 0
        #expect(again > 0 && again < 2000)
        let late = simulation.viewer.patches.count { patch in
            (MediaTime(microseconds: patch.hostTime).map { patch.arrival - $0 } ?? .zero) > .milliseconds(120)
        }
        #expect(late * 10 < sent.count)
    }

    /// Nothing is asked for on a link that loses nothing, and a change of more bytes than may leave at once is paced.
    @Test func aLongChangeIsPaced() throws {
        var simulation = simulation(LinkConditions(delay: .milliseconds(2)))
        let begin = simulation.now
        simulation.pass(patch(200_000, of: simulation))
        simulation.pass(patch(300, of: simulation))
        simulation.drive(for: .milliseconds(100))
        #expect(simulation.viewer.patches.map(\.content.count) == [200_000, 300])
        let last = try #require(simulation.viewer.patches.last)
        // 200 Mbit/s, less what may leave at once; after it the short one.
        #expect(last.arrival - begin >= .milliseconds(7) && last.arrival - begin < .milliseconds(20))
        #expect(simulation.host?.statistics.patchesAgain == 0)
    }

    /// The last change before a pause is lost on a link that had lost nothing, and its frame is far: the host tells its
    /// number, once, whatever else it has to do for the viewer.
    @Test(arguments: [0, 90, 180, 270, 360, 450, 540, 630, 720, 810, 900])
    func theLastChangeIsMissedSoon(pause: Int) throws {
        var simulation = simulation(LinkConditions(delay: .milliseconds(2)))
        simulation.drive(for: .milliseconds(pause))
        simulation.media.conditions.loss = 1
        let begin = simulation.now
        simulation.pass(patch(300, of: simulation))
        simulation.drive(for: .milliseconds(10))
        simulation.media.conditions.loss = 0
        simulation.drive(for: .milliseconds(190))
        let arrived = try #require(simulation.viewer.patches.last)
        #expect(arrived.hostTime == begin.microseconds)
        #expect(simulation.viewer.patches.count == 1)
        #expect(simulation.host?.statistics.patchesAgain == 1)
    }

    /// Small changes right after a frame don't keep the viewer from noticing that the frame was lost.
    @Test func aChangeLeavesTheProbesOfTheFrameBefore() {
        func time(_ milliseconds: Int) -> MediaTime { MediaTime.zero + .milliseconds(milliseconds) }
        var tail = TailProbe()
        tail.frameSent(now: time(0))
        for now in [10, 39] { tail.changeSent(pathLoses: false, now: time(now)) }
        #expect(tail.deadline == time(40) && tail.take(now: time(40)))
        tail.changeSent(pathLoses: false, now: time(100))
        #expect(tail.deadline == time(160) && tail.take(now: time(160)))
        #expect(tail.deadline == nil)
        // Their own probe comes when no change has followed.
        for now in [170, 250] { tail.changeSent(pathLoses: false, now: time(now)) }
        #expect(tail.deadline == time(350) && !tail.take(now: time(349)) && tail.take(now: time(350)))
        #expect(tail.deadline == nil)
        tail.frameSent(now: time(400))
        tail.changeSent(pathLoses: true, now: time(410))
        #expect(tail.deadline == time(418))
    }
}
