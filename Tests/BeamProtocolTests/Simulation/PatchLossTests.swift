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

    /// A viewer that has just joined lacks the first change that it would have got: it knows the number before it.
    ///
    /// - Parameter pause: from its first picture to the change, in milliseconds.
    @Test(arguments: [1, 20, 60, 500]) func theFirstChangeAfterJoiningIsMissedSoon(pause: Int) throws {
        var simulation = simulation(LinkConditions(delay: .milliseconds(2)))
        for _ in 0..<5 {
            simulation.pass(patch(300, of: simulation))
            simulation.drive(for: .milliseconds(50))
        }
        var configuration = ViewerSession.Configuration.secure(knows: true, device: .made(9), instance: 9)
        configuration.takesPatches = true
        simulation.addViewer(from: .v4(0x0A00_0003), configuration: configuration)
        simulation.setConditions(1, LinkConditions(delay: .milliseconds(2)))
        for _ in 0..<5000 where simulation.viewers[1].frames.isEmpty { simulation.drive(for: .milliseconds(1)) }
        try #require(!simulation.viewers[1].frames.isEmpty)
        simulation.drive(for: .milliseconds(pause))
        let begin = simulation.now
        simulation.setConditions(
            1, LinkConditions(delay: .milliseconds(2), loss: 1), back: LinkConditions(delay: .milliseconds(2)))
        simulation.pass(patch(300, of: simulation))
        simulation.drive(for: .milliseconds(5))
        simulation.setConditions(1, LinkConditions(delay: .milliseconds(2)))
        simulation.drive(for: .milliseconds(300))
        #expect(simulation.viewers[1].patches.map(\.hostTime) == [begin.microseconds])
        #expect(simulation.host?.statistics.patchesAgain == 1)
    }

    /// Which changes a picture has doesn't follow from when it leaves: some may have been sent since it was captured.
    @Test func theNewestChangeOfAPictureIsKnown() {
        var sent = SentChanges()
        #expect(sent.newest(capturedBy: 100) == nil)
        func change(_ microseconds: UInt64) -> ExactPatch {
            ExactPatch(
                content: [1], captureTime: MediaTime(microseconds: microseconds) ?? .zero,
                pictureSize: PixelSize(width: 16, height: 16), isRepair: false)
        }
        for number in 0..<100 as Range<UInt64> {
            sent.append(change(1000 + 10 * number), size: .full, now: MediaTime.zero + .milliseconds(number))
        }
        #expect(sent.newest(capturedBy: 5000) == 99 && sent.newest(capturedBy: 1990) == 99)
        #expect(sent.newest(capturedBy: 1989) == 98 && sent.newest(capturedBy: 1960) == 96)
        // The last 64 are kept.
        #expect(sent.newest(capturedBy: 1000) == 35)
        var few = SentChanges()
        few.append(change(1000), size: .full, now: .zero)
        #expect(few.newest(capturedBy: 1000) == 0 && few.newest(capturedBy: 999) == .max)
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
