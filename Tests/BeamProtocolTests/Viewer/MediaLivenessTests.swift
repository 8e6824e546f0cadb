import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// When a viewer keeps, replaces and reopens its media socket.
struct MediaLivenessTests {
    private func isMedia(_ line: String) -> Bool { !line.contains("hb") && !line.contains("control") }

    /// Lines from the host keep the control connection alive meanwhile.
    private func advance(_ viewer: inout ViewerBench, to seconds: Double) {
        while viewer.now < .at(seconds) {
            viewer.hear(#"{"hb":1}"#)
            viewer.advance(to: min(viewer.now + .seconds(1), .at(seconds)))
        }
    }

    @Test func hellosGoOutEverySecond() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        advance(&viewer, to: 4.5)
        #expect(viewer.take() == ["1.0: BRHI!", "2.0: BRHI!", "3.0: BRHI!", "4.0: BRHI!"])
    }

    @Test func aSocketWithoutDataIsReplacedAfterSixSeconds() {
        var viewer = ViewerBench()
        viewer.pair()
        advance(&viewer, to: 6.5)
        viewer.handle(.mediaOpened(localPort: 40001))
        #expect(
            viewer.take().suffix(5) == [
                "6.0: mediaReconnecting", "6.0: close media", "6.5: open media 52346", "6.5: BRHI!",
                #"6.5: {"mediaSource":40001}"#,
            ])
        // The next replacement isn't reported.
        advance(&viewer, to: 13)
        #expect(viewer.take().suffix(2) == ["12.5: close media", "13.0: open media 52346"])
    }

    @Test func afterDataASilentSocketIsReplacedAfterFourSeconds() throws {
        var viewer = ViewerBench()
        viewer.pair()
        advance(&viewer, to: 2)
        let parts = try datagrams(TestFrame.make(0), 0)
        viewer.datagram(parts[0])
        _ = viewer.take()
        advance(&viewer, to: 6.5)
        #expect(
            viewer.take().filter { !$0.contains("BRHI") && isMedia($0) } == [
                "4.5: stalled(2.5 seconds, BeamSession.StallCause.nothingArrives)",
                "5.5: stalled(3.5 seconds, BeamSession.StallCause.nothingArrives)", "6.0: mediaReconnecting",
                "6.0: close media",
                "6.5: stalled(4.5 seconds, BeamSession.StallCause.nothingArrives)", "6.5: open media 52346",
            ])
        viewer.handle(.mediaOpened(localPort: 40001))
        _ = viewer.take()
        viewer.datagram(try datagrams(TestFrame.make(1), 1)[0])
        #expect(viewer.take() == ["6.5: mediaResumed"])
        viewer.datagram(try datagrams(TestFrame.make(2), 2)[0])
        #expect(viewer.take().isEmpty)
    }

    /// While the screen is still, a version 1 host sends only a keyframe every 2 s.
    @Test func aStillScreenIsNoStall() throws {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        for index in 0..<10 {
            viewer.datagram(try datagrams(TestFrame.make(UInt32(index)), UInt32(index))[0])
            advance(&viewer, to: viewer.now.seconds + 2)
        }
        #expect(viewer.take().allSatisfy { $0.contains("BRHI") || $0.contains("hb") })
    }

    @Test func invalidDatagramsAreNoSignOfLife() {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        for _ in 0..<13 {
            viewer.datagram([1, 2, 3])
            advance(&viewer, to: viewer.now.seconds + 0.5)
        }
        #expect(viewer.take().contains("6.0: mediaReconnecting"))
        #expect(viewer.session.statistics.malformed >= 12)
    }

    @Test func silenceIsExpectedWhileTheHostDoesNotShare() throws {
        var viewer = ViewerBench()
        viewer.pair()
        viewer.datagram(try datagrams(TestFrame.make(0), 0)[0])
        viewer.hear(#"{"on":false}"#)
        advance(&viewer, to: 1)
        _ = viewer.take()
        advance(&viewer, to: 30)
        #expect(viewer.take().allSatisfy { $0.contains("BRHI") || $0.contains("hb") })
        viewer.hear(#"{"on":true}"#)
        advance(&viewer, to: 34)
        #expect(viewer.take().contains("34.0: mediaReconnecting"))
    }

    @Test func withoutAControlConnectionSilenceReplacesTheSocket() throws {
        var viewer = ViewerBench()
        viewer.pair()
        viewer.datagram(try datagrams(TestFrame.make(0), 0)[0])
        viewer.handle(.controlClosed(reason: "gone"))
        _ = viewer.take()
        viewer.advance(to: .at(5))
        #expect(viewer.take().contains { $0.contains("mediaReconnecting") })
    }

    @Test func afterASocketErrorANewSocketIsOpenedIn1s() throws {
        var viewer = ViewerBench()
        viewer.pair()
        _ = viewer.take()
        viewer.handle(.mediaFailed(reason: "refused"))
        viewer.handle(.mediaFailed(reason: "refused"))
        #expect(viewer.take() == ["0.0: mediaReconnecting", "0.0: close media"])
        advance(&viewer, to: 1)
        #expect(viewer.take() == ["1.0: open media 52346"])
        // It doesn't spin, and reports the error once.
        viewer.handle(.mediaFailed(reason: "unreachable"))
        #expect(viewer.take() == ["1.0: close media"])
        advance(&viewer, to: 2)
        #expect(viewer.take() == ["2.0: open media 52346"])
        viewer.handle(.mediaOpened(localPort: 40002))
        viewer.datagram(try datagrams(TestFrame.make(0), 0)[0])
        _ = viewer.take()
        // While data arrive, errors are ignored.
        viewer.handle(.mediaFailed(reason: "refused"))
        #expect(viewer.take().isEmpty)
    }

    @Test func aSocketThatNeverOpensIsRequestedAgain() {
        var viewer = ViewerBench()
        viewer.handle(.controlConnected)
        viewer.hear(#"{"ok":true,"sessionID":"S1","udpPort":52346}"#)
        _ = viewer.take()
        advance(&viewer, to: 6.5)
        #expect(
            viewer.take() == [
                #"5.0: {"hb":1}"#, "6.0: mediaReconnecting", "6.0: close media", "6.5: open media 52346",
            ])
    }

    // MARK: Until the first frame

    /// Hellos within `seconds` of the socket's opening, each answered after a millisecond. A frame comes at `firstFrame`.
    private func hellos(within seconds: Double, firstFrame: Double?) -> Int {
        var media = MediaLiveness()
        media.isAnswered = true
        _ = media.start(port: 1, isNewSession: true, now: .zero)
        var (now, count) = (MediaTime.zero, 0)
        func take(_ actions: [MediaLiveness.Action]) {
            guard actions.contains(.hello) else { return }
            count += 1
            _ = media.datagram(.answer, now: now + .milliseconds(1))
        }
        take(media.opened(localPort: 2, now: now))
        var hasFrame = false
        while let next = media.deadline, next <= .at(seconds) {
            now = max(now, next)
            if let firstFrame, now >= .at(firstFrame), !hasFrame {
                hasFrame = true
                _ = media.datagram(.media, now: now)
                _ = media.datagram(.pause, now: now)
                _ = media.pictures(complete: 1, isBehind: false, now: now)
            }
            take(media.deadlineReached(now: now))
        }
        return count
    }

    @Test func hellosAreFrequentUntilTheFirstFrame() {
        #expect((18...22).contains(hellos(within: 3, firstFrame: nil)), "one each 150 ms")
        #expect((4...6).contains(hellos(within: 3, firstFrame: 0.2)), "two, and then one each second")
        #expect(hellos(within: 20, firstFrame: nil) <= 40, "not for ever")
    }

    // MARK: After a pause of the machine

    /// What has waited in the socket for 800 ms is read, each datagram with the time at which it arrived. A test and a hello
    /// for each would be 300 messages at once, for which a host sends a viewer away.
    @Test func oldDatagramsCauseFewTestsAndHellos() {
        var media = MediaLiveness()
        media.isAnswered = true
        _ = media.start(port: 1, isNewSession: true, now: .zero)
        _ = media.opened(localPort: 2, now: .zero)
        _ = media.datagram(.media, now: .at(0.1))
        var (tests, hellos) = (0, 0)
        for step in 0..<300 {
            _ = media.datagram(.media, now: .at(0.2 + Double(step) / 10_000))
            let actions = media.deadlineReached(now: .at(1 + Double(step) / 1000))
            tests += actions.count { $0 == .testControl }
            hellos += actions.count { $0 == .hello }
        }
        #expect((1...2).contains(tests), "\(tests)")
        #expect((1...3).contains(hellos), "\(hellos)")
    }

    // MARK: After losses

    /// A version 2 viewer whose picture has stood since 0 s, while parts of frames go on arriving, at 1.5 s.
    private func stalledByLosses() -> MediaLiveness {
        var media = MediaLiveness()
        media.isAnswered = true
        _ = media.start(port: 1, isNewSession: true, now: .zero)
        _ = media.opened(localPort: 2, now: .zero)
        _ = media.pictures(complete: 1, isBehind: false, now: .zero)
        var actions: [MediaLiveness.Action] = []
        for step in 0...15 {
            let now = MediaTime.at(Double(step) / 10)
            _ = media.datagram(.media, now: now)
            _ = media.pictures(complete: 1, isBehind: true, now: now)
            actions += media.deadlineReached(now: now)
        }
        #expect(actions.contains { if case .stalled(_, isSilent: false) = $0 { true } else { false } })
        return media
    }

    /// When the picture is said to be live again, of pictures that are complete at `times`, each with newer ones behind it.
    private func resumption(of media: MediaLiveness, pictures times: [Double], until end: Double) -> Double? {
        var (media, complete) = (media, UInt64(1))
        for step in 1_501...Int(end * 1000) {
            let now = MediaTime.at(Double(step) / 1000)
            var actions = [media.datagram(.media, now: now)]
            if times.contains(where: { Int($0 * 1000) == step }) { complete += 1 }
            actions.append(media.pictures(complete: complete, isBehind: true, now: now))
            actions += media.deadlineReached(now: now)
            if actions.contains(.tell(.mediaResumed)) { return now.seconds }
        }
        return nil
    }

    @Test func aFewPicturesDoNotEndAStallThatLossesMade() throws {
        let media = stalledByLosses()
        #expect(resumption(of: media, pictures: [2], until: 8) == nil)
        #expect(resumption(of: media, pictures: [2, 2.1, 2.2, 2.3, 2.6, 2.7, 2.8, 3.1, 3.2], until: 8) == nil)
        let steady = (0..<30).map { 3 + Double($0) / 20 }
        let time = try #require(resumption(of: media, pictures: [2, 2.1] + steady, until: 8))
        #expect((3.69...3.71).contains(time))
    }

    @Test func aStillScreenEndsAStallThatLossesMade() {
        var media = stalledByLosses()
        #expect(media.pictures(complete: 2, isBehind: false, now: .at(1.6)) == nil)
        #expect(media.datagram(.pause, now: .at(1.61)) == nil)
        #expect(media.deadline.map { $0 <= .at(2.3) } == true)
        #expect(media.deadlineReached(now: .at(2.3)).contains(.tell(.mediaResumed)))
    }
}
