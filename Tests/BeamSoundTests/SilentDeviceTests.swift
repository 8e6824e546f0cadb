import BeamClock
import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamSound

@Suite struct SilentDeviceTests {
    /// SDL's own asks too early: after a second it is 40 ms ahead.
    @Test func itIsNeverAheadOfTheClock() {
        let calls = Calls()
        let feed = OutputFeed { samples, demand in
            #expect(samples.count == SoundOutput.step * SoundBlock.channelCount && demand.isWhole)
            calls.times.withLock { $0.append(demand.now) }
            return SoundOutput.step
        }
        feed.begin()
        SilentDevice.play(feed) { time in
            while MediaTime.now < time { usleep(500) }
            return calls.times.withLock { $0.count } < 200
        }
        let times = calls.times.withLock { $0 }
        #expect(times.count == 200)
        for (index, time) in times.enumerated() {
            #expect(time - times[0] >= SoundBlock.time(ofSamples: index * SoundOutput.step) - .milliseconds(1))
        }
    }

    @Test func whatItMissedIsLeftOut() {
        let calls = Calls()
        let feed = OutputFeed { _, demand in
            calls.times.withLock { $0.append(demand.now) }
            return SoundOutput.step
        }
        SilentDevice.play(feed) { time in
            while MediaTime.now < time { usleep(500) }
            let count = calls.times.withLock { $0.count }
            // The machine stands still for 0.3 s.
            if count == 10 { usleep(300_000) }
            return count < 20
        }
        let times = calls.times.withLock { $0 }
        #expect(times.count == 20)
        // The eleventh block is late, and the others follow it one by one.
        #expect(times[19] - times[10] >= SoundBlock.time(ofSamples: 9 * SoundOutput.step) - .milliseconds(1))
    }

    private final class Calls: Sendable {
        let times = Mutex<[MediaTime]>([])
    }
}
