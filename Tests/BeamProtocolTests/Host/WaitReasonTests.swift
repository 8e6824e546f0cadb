import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Both sessions name what they wait for.
struct WaitReasonTests {
    @Test func aHostNamesWhatItWaitsFor() {
        var host = HostBench(
            pacing: Pacing(
                bucketBytes: 2400, bitsPerSecond: 1_000_000, burstDatagrams: 16, queueTime: .seconds(60)))
        #expect(host.deadline == .distantFuture && host.waitReason == nil)
        host.open(1)
        #expect(host.deadline < .distantFuture && host.waitReason == .control, "a connection hasn't shaken hands yet")
        host.introduce(2)
        host.hello(1)
        // 500 kB take seconds at this rate.
        host.frame(TestFrame.make(0, bytes: 500_000))
        #expect(host.waitReason == .viewer(.pace))
        host.frame(TestFrame.make(1, reference: 0, bytes: 100))
        host.advance(by: .milliseconds(20))
        #expect(host.waitReason == .viewer(.pace))
        host.handle(.shutdown)
        #expect(host.deadline == .distantFuture && host.waitReason == nil)
    }

    @Test func aViewerNamesWhatItWaitsFor() throws {
        var viewer = ViewerBench(code: "482913")
        #expect(viewer.waitReason == .control, "an answer to its connection")
        viewer.pair()
        #expect(viewer.waitReason == .media, "its next hello")
        // The last part of a frame is missing: it is waited for until 1 s from here.
        viewer.advance(to: .at(0.9))
        for datagram in try datagrams(TestFrame.make(0, bytes: 20_000), 0).dropLast() { viewer.datagram(datagram) }
        viewer.advance(to: .at(1.1))
        #expect(viewer.waitReason == .reassembly)
        viewer.handle(.shutdown)
        #expect(viewer.deadline == .distantFuture && viewer.waitReason == nil)
    }
}
