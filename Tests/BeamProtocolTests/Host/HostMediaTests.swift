import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Which hellos count, and which viewers get which frames.
struct HostMediaTests {
    private func address(_ port: UInt16, _ ip: IPAddress = HostBench.viewer) -> NetworkAddress {
        NetworkAddress(ip: ip, port: port)
    }

    /// The addresses that the next keyframe is sent to.
    private func audience(_ host: inout HostBench) -> Set<NetworkAddress> {
        _ = host.takeBursts()
        host.frame(TestFrame.make(0))
        return Set(host.takeBursts().map(\.burst.address))
    }

    private func started(_ host: inout HostBench) -> [NetworkAddress] {
        host.takeEvents().compactMap { if case .mediaStarted(_, let address) = $0 { address } else { nil } }
    }

    // MARK: Hellos

    @Test func anAdmittedViewersHelloStartsTheStream() {
        var host = HostBench()
        host.introduce(1)
        _ = host.takeEvents()
        host.hello(40000)
        #expect(started(&host) == [address(40000)])
        #expect(host.keyframeRequests == [.zero])
        #expect(host.session.statistics.watching == 1)
        #expect(audience(&host) == [address(40000)])
    }

    @Test func otherHellosDoNotStartAStream() {
        var host = HostBench(.ask)
        host.hello(40000)
        host.introduce(1)
        host.hello(40000)  // it waits for the decision
        host.introduce(2, from: .v4(2))
        host.handle(.decision(ConnectionID(2), accept: true))
        let count = host.outputs.count
        host.hello(40000)
        host.hello(40000, from: .v4(3))
        for bytes in ["", "BRHI", "BRHI!!", "brhi!", "\u{0}\u{0}\u{0}\u{0}\u{0}"] {
            host.hello(40000, from: .v4(2), bytes: Array(bytes.utf8))
        }
        #expect(host.outputs.count == count)
        #expect(audience(&host).isEmpty)
    }

    @Test func anotherSocketOnTheSameMachineCannotTakeOverAStream() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        for tenth in 1...300 {
            host.advance(to: .at(Double(tenth) / 10))
            host.hello(666)
            if tenth.isMultiple(of: 10) { host.hello(40000) }
        }
        #expect(audience(&host) == [address(40000)])
    }

    @Test func aVersion1ViewerIsFollowedWhenItsOldSocketIsSilent() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        for second in [1.0, 2.0, 2.2] {
            host.advance(to: .at(second))
            host.hello(40001)
            #expect(audience(&host) == [address(40000)])
        }
        host.advance(to: .at(2.3))
        host.hello(40001)
        #expect(audience(&host) == [address(40001)])
        #expect(host.session.statistics.watching == 1)
    }

    @Test func anAnnouncedPortIsFollowedAtOnce() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        host.say(1, #"{"mediaSource":40001}"#)
        #expect(audience(&host) == [address(40000)])
        host.hello(40001)
        #expect(audience(&host) == [address(40001)])
        // Also if the hello comes before the announcement.
        host.hello(40002)
        #expect(audience(&host) == [address(40001)])
        host.say(1, #"{"mediaSource":40002}"#)
        #expect(audience(&host) == [address(40002)])
    }

    @Test func anAnnouncedPortHasPrecedenceOverOthers() {
        var host = HostBench()
        host.introduce(1)
        host.say(1, #"{"mediaSource":40001}"#)
        host.hello(666)
        #expect(audience(&host).isEmpty)
        host.hello(40001)
        #expect(audience(&host) == [address(40001)])
    }

    /// Behind NAT the socket's public port is another than the viewer announces.
    @Test func anAnnouncedPortThatStaysSilentIsGivenUp() {
        var host = HostBench()
        host.introduce(1)
        host.say(1, #"{"mediaSource":40001}"#)
        host.hello(50000)
        host.advance(to: .at(1))
        host.hello(50000)
        #expect(audience(&host) == [address(50000)])
    }

    @Test func twoViewersOnOneMachineGetAStreamEach() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, code: "000000")
        host.hello(40000)
        host.hello(40001)
        host.hello(40002)
        #expect(audience(&host) == [address(40000), address(40001)])
        #expect(host.session.statistics.watching == 2)
        // Each hello was assigned to the wrong viewer: the announcements correct that.
        host.say(1, #"{"mediaSource":40000}"#)
        host.say(2, #"{"mediaSource":40001}"#)
        host.handle(.connectionClosed(ConnectionID(1)))
        for second in 1...20 {
            host.advance(to: .at(Double(second)))
            host.hello(40001)
            host.say(2, #"{"hb":1}"#)
        }
        #expect(audience(&host) == [address(40001)])
        #expect(host.session.statistics.viewers == 1)
    }

    @Test func aSilentStreamStopsAfterTwentySecondsAndStartsAgain() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        for second in stride(from: 5.0, through: 19.9, by: 4.9) {
            host.advance(to: .at(second))
            host.say(1, #"{"hb":1}"#)
        }
        #expect(audience(&host) == [address(40000)])
        _ = host.takeEvents()
        host.advance(to: .at(20))
        let events = host.takeEvents()
        #expect(events.contains(.audience(0)))
        #expect(events.contains { if case .mediaStopped = $0 { true } else { false } })
        #expect(audience(&host).isEmpty)
        #expect(host.session.statistics.viewers == 1)
        let requests = host.keyframeRequests.count
        host.hello(40000)
        #expect(host.keyframeRequests.count == requests + 1)
        #expect(audience(&host) == [address(40000)])
    }

    @Test func aFailedSendStopsOnlyThatStream() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(40000)
        host.hello(40000, from: .v4(2))
        host.handle(.sendFailed(address(40000)))
        host.handle(.sendFailed(address(40000)))
        #expect(audience(&host) == [address(40000, .v4(2))])
        host.hello(40000)
        #expect(host.session.statistics.watching == 2)
    }

    @Test func changesOfTheAudienceAreReported() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        _ = host.takeEvents()
        host.hello(1)
        host.hello(1)
        host.hello(1, from: .v4(2))
        host.handle(.sendFailed(address(1)))
        host.advance(by: .seconds(40))
        let counts = host.takeEvents().compactMap { if case .audience(let count) = $0 { count } else { nil } }
        #expect(counts == [1, 2, 1, 0])
    }

    // MARK: Frames

    @Test func aJoinerGetsNothingBeforeAKeyframe() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(1)
        host.frame(TestFrame.make(0))
        // 300 ms later this keyframe is too old to begin with.
        host.advance(by: .milliseconds(300))
        host.hello(2, from: .v4(2))
        _ = host.takeBursts()
        host.frame(TestFrame.make(1, reference: 0))
        #expect(host.takeBursts().map(\.burst.address) == [address(1)])
        host.frame(TestFrame.make(2))
        host.frame(TestFrame.make(3, reference: 2))
        #expect(
            Set(host.takeBursts().map { [$0.burst.address.description, "\($0.burst.range)"] }).count == 4,
            "two frames, to each of the two")
    }

    /// A joiner begins with a keyframe that another viewer was just sent, and gets the frames that followed it.
    @Test func aJoinerBeginsWithARecentKeyframe() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(1)
        host.frame(TestFrame.make(0))
        host.advance(by: .milliseconds(50))
        host.frame(TestFrame.make(1, reference: 0))
        host.advance(by: .milliseconds(50))
        _ = host.takeBursts()
        let requests = host.keyframeRequests.count
        host.hello(2, from: .v4(2))
        #expect(host.takeBursts().map(\.burst.address) == [address(2, .v4(2)), address(2, .v4(2))])
        #expect(host.keyframeRequests.count == requests)
    }

    @Test func framesAreNumberedWithoutGaps() throws {
        var host = HostBench()
        host.introduce(1)
        host.frame(TestFrame.make(0))  // no viewer watches
        host.hello(1)
        host.frame(TestFrame.make(1, reference: 0))  // no viewer could decode it
        for index: UInt32 in 2..<5 { host.frame(TestFrame.make(index, reference: index == 2 ? nil : index - 1)) }
        let numbers = try host.takeBursts().map { burst in
            try burst.burst.bytes[burst.burst.range].withUnsafeBytes { try MediaDatagram($0).header.sequence.value }
        }
        #expect(numbers == [0, 1, 2])
        let statistics = host.session.statistics
        #expect(statistics.frames == 3 && statistics.keyframes == 1 && statistics.datagrams == 3)
        #expect(statistics.bytes == 3 * 220 + 15 && statistics.dropped == 0)
    }

    @Test func nothingIsSentWhileNothingIsShared() {
        var host = HostBench()
        host.handle(.broadcast(false))
        host.introduce(1)
        host.hello(1)
        #expect(host.keyframeRequests.isEmpty)
        #expect(audience(&host).isEmpty)
        host.handle(.broadcast(true))
        #expect(host.keyframeRequests.count == 1)
        host.frame(TestFrame.make(1, reference: 0))
        #expect(host.takeBursts().isEmpty, "sharing resumes with a keyframe")
        #expect(audience(&host) == [address(1)])
    }

    @Test func keyframesAreRequestedOftenEnoughForVersion1() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        // The encoder takes 40 ms.
        var came: [MediaTime] = []
        for millisecond in 0..<20_000 {
            host.advance(to: MediaTime(nanoseconds: Int64(millisecond) * 1_000_000))
            if millisecond % 1000 == 0 { host.hello(1) }
            if let asked = host.keyframeRequests.last, asked > came.last ?? MediaTime(nanoseconds: -1),
                host.now - asked >= .milliseconds(40)
            {
                came.append(host.now)
                host.frame(TestFrame.make(UInt32(millisecond)))
            } else if millisecond % 33 == 0, !came.isEmpty {
                host.frame(TestFrame.make(UInt32(millisecond), reference: 0))
            }
        }
        let gaps = zip(came, came.dropFirst()).map { ($1 - $0).inMilliseconds }
        #expect(gaps.allSatisfy { (1900...2000).contains($0) }, "\(gaps)")
        #expect(gaps.count >= 9)
    }

    @Test func aKeyframeRequestIsRepeatedOnlyIfNoKeyframeComes() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(1)
        host.hello(2, from: .v4(2))
        #expect(host.keyframeRequests == [.zero])
        host.advance(to: .at(0.6))
        #expect(host.keyframeRequests == [.zero, .at(0.25), .at(0.5)])
        host.frame(TestFrame.make(0))
        host.advance(to: .at(2.49))
        #expect(host.keyframeRequests.count == 3)
        host.handle(.sendFailed(address(1)))
        host.handle(.sendFailed(address(2, .v4(2))))
        host.advance(to: .at(9))
        #expect(host.keyframeRequests.count == 3, "no requests without viewers")
    }
}
