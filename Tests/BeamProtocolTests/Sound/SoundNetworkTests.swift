import BeamMedia
import Testing

@testable import BeamProtocol

@Suite struct SoundNetworkTests {
    @Test(arguments: 0..<8)
    func explore(_ index: Int) {
        let all: [(String, SoundNetworkConditions)] = [
            ("lan", .init(delay: 0.0002, jitter: 0.0003, hold: 0)),
            ("clean", .init()),
            ("loss1", .init(delay: 0.005, loss: 0.01, repeats: true)),
            ("loss1r", .init(delay: 0.005, loss: 0.01, repeats: true, retransmits: true)),
            ("loss5", .init(delay: 0.005, loss: 0.05, repeats: true)),
            ("loss5r", .init(delay: 0.005, loss: 0.05, repeats: true, retransmits: true)),
            ("bursts", .init(delay: 0.02, loss: 0.1, burst: 8, datagramsPerPacket: 3, repeats: true, retransmits: true)),
            ("jitter", .init(delay: 0.001, jitter: 0.03, reorder: 0.02, repeats: false)),
        ]
        let (name, conditions) = all[index]
        var s = SoundSimulation(conditions)
        s.measuresFrom = 5
        for minute in 1...6 {
            s.run(for: 50)
            let t = s.buffer.statistics
            print(name, minute, "concealed", Double(s.concealed) / Double(s.decoded + s.concealed), "gap", s.longestGap,
                "buffer", t.buffer.inMilliseconds, "wanted", t.wantedBuffer.inMilliseconds, "ppm", t.driftPPM, "lat", t.latency?.inMilliseconds ?? -1,
                "ratio", (s.buffer.ratio - 1) * 1e6, t.played, t.concealed, t.late, t.lost, t.underruns, t.dropped, s.resets)
        }
    }
}
