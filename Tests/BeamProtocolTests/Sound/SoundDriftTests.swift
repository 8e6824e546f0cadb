import BeamMedia
import Testing

@testable import BeamProtocol

@Suite struct SoundDriftTests {
    @Test(arguments: 0..<4)
    func explore(_ index: Int) {
        var s = SoundSimulation(.init(delay: 0.0002, jitter: 0.0005, hold: 0))
        switch index {
        case 0: s.deviceDrift = 100e-6; s.hostDrift = { _ in -100e-6 }
        case 1: s.deviceDrift = -250e-6; s.hostDrift = { _ in 250e-6 }
        case 2: s.hostDrift = { 150e-6 * (($0 / 600).truncatingRemainder(dividingBy: 2) < 1 ? ($0 / 600).truncatingRemainder(dividingBy: 1) : 1 - ($0 / 600).truncatingRemainder(dividingBy: 1)) }
        default: s.callbackGroup = 4; s.callbackJitter = 0.004; s.deviceDrift = 100e-6; s.clockDrift = 50e-6
        }
        for minute in 1...12 {
            var low = 1.0, high = -1.0, l0 = 1.0, l1 = 0.0, p0 = 1.0, p1 = -1.0
            for _ in 0..<100 {
                s.run(for: 0.5)
                low = min(low, s.buffer.ratio - 1); high = max(high, s.buffer.ratio - 1)
                let t = s.buffer.statistics
                p0 = min(p0, t.driftPPM); p1 = max(p1, t.driftPPM)
                let l = t.latency?.inSeconds ?? 0
                l0 = min(l0, l); l1 = max(l1, l)
            }
            let t = s.buffer.statistics
            print(index, minute, "lat", l0 * 1e3, l1 * 1e3, "ratio", low * 1e6, high * 1e6, "ppm", p0, p1, t.buffer, t.concealed)
        }
    }
}
