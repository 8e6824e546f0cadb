import BeamMedia
import Testing

@testable import BeamProtocol

/// Both sessions say what they wait for.
struct WaitReasonTests {
    @Test func aHostSaysWhatItWaitsFor() {
        var host = HostBench(
            pacing: Pacing(
                bucketBytes: 2400, bitsPerSecond: 1_000_000, burstDatagrams: 16, queueTime: .seconds(60)))
        #expect(host.deadline == .distantFuture && host.waitReason == nil)
        host.open(1)
        #expect(host.deadline < .distantFuture && host.waitReason == .control, "somebody ought to say who it is")
        host.introduce(2)
        host.hello(1)
        // Seconds at this rate.
        host.frame(TestFrame.make(0, bytes: 500_000))
        #expect(host.waitReason == .viewer(.pace))
        host.frame(TestFrame.make(1, reference: 0, bytes: 100))
        host.advance(by: .milliseconds(20))
        #expect(host.waitReason == .viewer(.pace))
        host.handle(.shutdown)
        #expect(host.deadline == .distantFuture && host.waitReason == nil)
    }

    @Test func aViewerSaysWhatItWaitsFor() throws {
        var viewer = ViewerBench(code: "482913")
        #expect(viewer.waitReason == .control, "an answer to its connection")
        viewer.pair()
        #expect(viewer.waitReason == .media, "its next hello")
        // All of a frame but its last part: the rest is waited for, a second from here.
        viewer.advance(to: .at(0.9))
        for datagram in try datagrams(TestFrame.make(0, bytes: 20_000), 0).dropLast() { viewer.datagram(datagram) }
        viewer.advance(to: .at(1.1))
        #expect(viewer.waitReason == .reassembly)
        viewer.handle(.shutdown)
        #expect(viewer.deadline == .distantFuture && viewer.waitReason == nil)
    }
}
