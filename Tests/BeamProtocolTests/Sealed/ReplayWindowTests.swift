import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct ReplayWindowTests {
    @Test func eachCounterIsAcceptedOnce() {
        var window = ReplayWindow()
        #expect(window.insert(0) == .newest)
        #expect(window.insert(0) == .replayed)
        #expect(window.insert(3) == .newest)
        #expect(window.insert(1) == .late)
        #expect(window.insert(1) == .replayed)
        #expect(window.insert(2) == .late)
        #expect(window.insert(3) == .replayed)
        #expect(window.newest == 3)
    }

    /// Counters at the edges of words and of the ring.
    @Test(arguments: [0, 1, 62, 63, 64, 65, 8191, 8192, 8255, 8256, 8257, 1 << 32, .max - 8192, .max - 63] as [UInt64])
    func theWindowIsExactly8192Wide(_ first: UInt64) {
        for leap: UInt64 in [1, 63, 64, 65, 4096, 8190] where first <= .max - 8191 {
            var window = ReplayWindow()
            #expect(window.insert(first) == .newest)
            #expect(window.insert(first + leap) == .newest)
            #expect(window.insert(first + 8191) == .newest)
            #expect(window.insert(first) == .replayed, "the oldest of 8192 is remembered")
            #expect(window.insert(first + leap) == .replayed)
            #expect(window.insert(first + leap - 1) == (leap == 1 ? .replayed : .late))
            #expect(window.insert(first + leap + 1) == (leap == 8190 ? .replayed : .late))
            guard first < .max - 8191 else { continue }
            #expect(window.insert(first + 8192) == .newest)
            #expect(window.insert(first) == .tooOld)
            #expect(window.insert(first + 8191) == .replayed)
        }
    }

    @Test func counters64BitsLongDoNotWrapAround() {
        var window = ReplayWindow()
        #expect(window.insert(5) == .newest)
        #expect(window.insert(.max) == .newest)
        #expect(window.insert(.max) == .replayed)
        #expect(window.insert(.max - 8191) == .late)
        #expect(window.insert(.max - 8192) == .tooOld)
        for counter: UInt64 in [0, 1, 5, 6, 8192, .max / 2] { #expect(window.insert(counter) == .tooOld) }
        #expect(window.newest == .max)
    }

    /// A refused counter may still be inserted later; `check` doesn't change the window.
    @Test func checkingDoesNotChangeTheWindow() {
        var window = ReplayWindow()
        #expect(window.verdict(on: .max) == .newest)
        #expect(window.verdict(on: 7) == .newest)
        #expect(window.insert(7) == .newest)
        #expect(window.verdict(on: 6) == .late)
        #expect(window.verdict(on: 6) == .late)
        #expect(window.insert(6) == .late)
        #expect(window.verdict(on: 6) == .replayed)
        #expect(window.newest == 7)
    }

    @Test func aLeapBeyondTheWindowForgetsAllCounters() {
        for leap: UInt64 in [8192, 8255, 8256, 8257, 8320, 100_000, 1 << 40] {
            var window = ReplayWindow()
            for counter: UInt64 in 0..<8300 { _ = window.insert(counter) }
            #expect(window.insert(8299 + leap) == .newest)
            #expect((8299 + leap - 8191..<8299 + leap).allSatisfy { window.insert($0) == .late })
        }
    }

    @Test func `Fuzz: a replay window agrees with a set of all counters`() {
        for seed in Fuzzing.seeds(60) {
            var random = SeededGenerator(seed: seed)
            var window = ReplayWindow()
            var known: Set<UInt64> = []
            var newest = random.chance(0.5) ? 0 : random.next() >> UInt64.random(in: 1...40, using: &random)
            for _ in 0..<2000 {
                let reach: UInt64 = random.chance(0.8) ? 130 : random.chance(0.9) ? 8400 : 20_000
                let back = random.chance(0.55)
                let distance = UInt64.random(in: 0...reach, using: &random)
                let counter = back ? newest - min(newest, distance) : newest + distance
                let isNewest = known.isEmpty || counter > newest
                let expected: ReplayWindow.Verdict =
                    if isNewest { .newest } else if newest - counter >= 8192 { .tooOld } else if known.contains(counter)
                    { .replayed } else { .late }
                let verdict = window.insert(counter)
                guard verdict == expected else {
                    Issue.record("seed \(seed): \(counter) after \(newest) is \(verdict), not \(expected)")
                    return
                }
                known.insert(counter)
                if isNewest { newest = counter }
            }
        }
    }
}
