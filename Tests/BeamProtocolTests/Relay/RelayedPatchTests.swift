import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Exact patches through a relay, in virtual time: whose they are, when they were captured, and who is asked for what.
struct RelayedPatchTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func patch(of chain: RelayChain, at time: MediaTime? = nil, isRepair: Bool = false) -> ExactPatch {
        ExactPatch(
            content: [UInt8](repeating: 7, count: 3000), captureTime: time ?? chain.upper.now,
            pictureSize: PixelSize(width: 1366, height: 767), isRepair: isRepair)
    }

    /// What the host's encoder was told last.
    private func demand(_ chain: RelayChain) -> [Bool] {
        let demand = chain.upper.demands.last { $0.layer == 0 }?.demand
        return [demand?.wantsPatches == true, demand?.hasOnlyPatchTakers == true]
    }

    @Test func aChangeGoesToAllWhoTakeItWithTheHostsTime() throws {
        var chain = RelayChain(upper: Self.lan, hasPatches: true)
        chain.run(1)
        for takes in [true, true, false] { chain.join(takesPatches: takes) }
        chain.run(2)
        let captured = chain.upper.now
        chain.upper.pass(patch(of: chain))
        chain.run(0.02)
        #expect(chain.lower.viewers.map(\.patches.count) == [1, 1, 0])
        let arrived = try #require(chain.lower.viewers[1].patches.first)
        #expect(arrived.hostTime == captured.microseconds && arrived.content.count == 3000)
        #expect(arrived.arrival - captured < .milliseconds(6))
        // The host's clock isn't the relay's.
        #expect(arrived.captureTime == nil)
        #expect(chain.upper.viewer.patches.first?.captureTime != nil)
    }

    /// A relay has no pixels to hash, and its viewers aren't told the host's hashes.
    @Test func hashesEndAtTheRelay() {
        var chain = RelayChain(upper: Self.lan, hasPatches: true)
        chain.run(1)
        chain.join(takesPatches: true)
        chain.run(2)
        chain.lower.wantHashes(by: 0)
        chain.run(0.1)
        #expect(chain.lower.hashesWanted == 0)
    }

    @Test func theHostIsToldWhoTakesThem() {
        var chain = RelayChain(upper: Self.lan, hasPatches: true)
        chain.run(1)
        #expect(demand(chain) == [false, false], "nobody watches at the relay")
        let first = chain.join(takesPatches: true)
        chain.run(2)
        #expect(demand(chain) == [true, true])
        let second = chain.join(takesPatches: false)
        chain.run(2)
        #expect(demand(chain) == [true, false], "somebody gets the video alone")
        chain.lower.handleAtViewer(first, .shutdown)
        chain.run(2)
        #expect(demand(chain) == [false, false])
        // Of no use to anybody.
        chain.upper.pass(patch(of: chain))
        chain.run(0.1)
        #expect(chain.upper.viewer.patches.isEmpty)
        chain.lower.handleAtViewer(second, .shutdown)
        chain.join(takesPatches: true)
        chain.run(2)
        #expect(demand(chain) == [true, true])
        #expect(chain.upper.viewer.events.count { if case .paired = $0.event { true } else { false } } == 1)
    }

    /// Where the relay's viewers lose patches, the host's frames have to come soon, as where its own do.
    @Test func theHostIsToldThatTheyLosePatches() {
        var chain = RelayChain(upper: Self.lan, hasPatches: true)
        var losesPatches: Bool { chain.upper.demands.last { $0.layer == 0 }?.demand.losesPatches == true }
        func send(_ count: Int) {
            for _ in 0..<count {
                chain.upper.pass(patch(of: chain))
                chain.run(0.05)
            }
        }
        chain.run(1)
        let viewers = [chain.join(takesPatches: true), chain.join(takesPatches: true)]
        chain.run(2)
        send(20)
        #expect(demand(chain) == [true, true] && !losesPatches)
        let lan = LinkConditions(delay: .milliseconds(1))
        chain.lower.setConditions(viewers[1], LinkConditions(delay: .milliseconds(1), loss: 0.2), back: lan)
        send(20)
        #expect(demand(chain) == [true, true] && losesPatches)
        // Until it hasn't lost any for a while, or has left.
        chain.lower.setConditions(viewers[1], lan)
        send(20)
        #expect(losesPatches)
        chain.run(12)
        #expect(demand(chain) == [true, true] && !losesPatches)
        chain.lower.setConditions(viewers[1], LinkConditions(delay: .milliseconds(1), loss: 0.2), back: lan)
        send(20)
        #expect(losesPatches)
        chain.lower.handleAtViewer(viewers[1], .shutdown)
        chain.run(2)
        #expect(demand(chain) == [true, true] && !losesPatches)
    }

    /// A viewer of the relay that comes and goes without end doesn't make the relay a nuisance to its host.
    @Test func theHostIsNotToldTooOften() {
        var chain = RelayChain(upper: Self.lan, hasPatches: true)
        chain.run(1)
        let before = chain.upper.demands.count
        for step in 0..<2000 {
            chain.upper.handleAtViewer(0, .relayed(step % 2 == 0 ? .exact : [.exact, .video]))
            chain.run(0.001)
        }
        #expect(chain.upper.demands.count - before <= 6)
        chain.upper.handleAtViewer(0, .relayed(.exact))
        chain.run(1)
        #expect(demand(chain) == [true, true])
    }

    /// However many ask, the host is asked once in a while, and what it answers goes to those who have asked.
    @Test func requestsOfManyBecomeOne() {
        var chain = RelayChain(upper: Self.lan, hasPatches: true)
        chain.run(1)
        for _ in 0..<8 { chain.join(takesPatches: true) }
        chain.run(2)
        for step in 0..<1000 {
            for index in 0..<7 where (step + index * 17) % 60 == 0 {
                chain.lower.want(exact: [PixelRect(x: step % 40, y: index, width: 2, height: 1)], by: index)
            }
            chain.run(0.001)
        }
        let asked = chain.upper.exactWanted
        #expect(asked.count >= 15 && asked.count <= 18, "\(asked.count)")
        #expect(asked.allSatisfy { $0.count <= Feedback.mostInexact } && asked.joined().count > 100)
        chain.upper.pass(patch(of: chain, isRepair: true))
        chain.run(0.02)
        #expect(chain.lower.viewers.map(\.patches.count) == [Int](repeating: 1, count: 7) + [0])
        #expect(chain.lower.viewers[0].patches.allSatisfy { $0.isRepair })
    }

    /// Features are what both ends can do.
    @Test func aHostWithoutPatchesHasARelayWithout() {
        var chain = RelayChain(upper: Self.lan)
        chain.run(1)
        let viewer = chain.join(takesPatches: true)
        chain.run(1)
        #expect(chain.lower.viewers[viewer].events.contains { $0.event == .hostHasPatches(false) })
        #expect(chain.condition.hasPatches == false)
        // A host of a newer version takes its place; who comes then is offered them.
        chain.upper.killHost()
        chain.run(2)
        chain.upper.source.hasPatches = true
        chain.upper.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "relay"], code: .none))
        chain.run(8)
        let next = chain.join(takesPatches: true)
        chain.run(2)
        #expect(chain.lower.viewers[next].events.contains { $0.event == .hostHasPatches(true) })
        chain.upper.pass(patch(of: chain))
        chain.run(0.02)
        #expect(chain.lower.viewers.map(\.patches.count) == [0, 1])
    }
}

/// What a relay makes of frames and patches.
struct RelayedPictureTests {
    private static let size = PixelSize(width: 640, height: 360)

    private static func frame(
        _ number: UInt32, at time: UInt64, isKeyframe: Bool = false, says: Bool = true, session: Double = 1
    ) -> ReceivedFrame {
        var frame = TestFrame.make(number, reference: isKeyframe ? nil : number &- 1, size: size)
        let change = FrameChanges.Change(rect: PixelRect(x: 16, y: 0, width: 32, height: 16), time: time)
        if says { frame.unit = FrameChanges(captureTime: time, changes: [change]).inserted(into: frame.unit) }
        var received = ReceivedFrame(
            unit: frame.unit, number: number, firstArrival: .at(session), lastArrival: .at(session))
        received.session = .at(session)
        return received
    }

    private static func patch(at time: UInt64, session: Double = 1) -> ReceivedPatch {
        ReceivedPatch(
            content: [1, 2, 3], hostTime: time, captureTime: .at(5), arrival: .at(6), pictureSize: size,
            session: .at(session), isRepair: true)
    }

    /// The relay numbers its frames anew.
    @Test func aFrameThatTheHostHasLeftOutIsNoticedBehindTheRelay() {
        var picture = RelayedPicture()
        let first = Self.frame(7, at: 1000, isKeyframe: true)
        #expect(picture.frame(first, now: .at(1)).unit == first.unit)
        let next = Self.frame(8, at: 2000)
        #expect(picture.frame(next, now: .at(1)).unit == next.unit)
        let after = Self.frame(10, at: 4000)
        let passed = picture.frame(after, now: .at(1)).unit
        #expect(FrameChanges(passed) == .all(of: Self.size, at: 4000))
        #expect(passed.avcc.suffix(after.unit.avcc.count).elementsEqual(after.unit.avcc))
        // It goes on from there; a keyframe says all by itself.
        for number in [11, 12] as [UInt32] {
            let frame = Self.frame(number, at: UInt64(number) * 1000)
            #expect(picture.frame(frame, now: .at(1)).unit == frame.unit)
        }
        let keyframe = Self.frame(20, at: 20_000, isKeyframe: true)
        #expect(picture.frame(keyframe, now: .at(1)).unit == keyframe.unit)
        // One that says nothing says nothing.
        let silent = Self.frame(30, at: 30_000, says: false)
        #expect(picture.frame(silent, now: .at(1)).unit == silent.unit)
    }

    @Test func patchesOfAnotherSessionAreNotPassedOn() {
        var picture = RelayedPicture()
        #expect(picture.patch(Self.patch(at: 1000)) == nil, "before the first frame")
        _ = picture.frame(Self.frame(7, at: 1000, isKeyframe: true), now: .at(1))
        let passed = picture.patch(Self.patch(at: 1000))
        #expect(
            passed
                == ExactPatch(
                    content: [1, 2, 3], captureTime: .at(0.001), pictureSize: Self.size, isRepair: true))
        #expect(picture.patch(Self.patch(at: 1000, session: 2)) == nil)
        _ = picture.frame(Self.frame(1, at: 10, isKeyframe: true, session: 2), now: .at(2))
        #expect(picture.patch(Self.patch(at: 1000)) == nil)
        #expect(picture.patch(Self.patch(at: 20, session: 2)) != nil)
        #expect(picture.patch(Self.patch(at: .max, session: 2)) == nil)
    }
}
