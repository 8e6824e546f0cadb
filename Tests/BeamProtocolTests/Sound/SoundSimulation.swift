import BeamMedia

@testable import BeamLog
@testable import BeamPlayout
@testable import BeamSession
@testable import BeamWire

/// A host that sends sound, a network, and a player with a sound device, in virtual time.
///
/// The player does what the real one does: for each callback it asks the buffer, decodes 480 samples or conceals what is
/// missing, and resamples that, until it has the samples that the device wants. Times are in seconds of true time.
struct SoundSimulation {
    /// The deviations of the sound cards' clocks from true time: 1e-6 is 1 ppm fast.
    var hostDrift: (Double) -> Double = { _ in 0 }
    var deviceDrift = 0.0
    /// The deviation of the host's monotonic clock.
    var clockDrift = 0.0
    /// Samples in a callback.
    var callback = 256
    /// A callback comes so much later than its time at most, at random.
    var callbackJitter = 0.0005
    /// Callbacks come in groups of this many.
    var callbackGroup = 1
    var deviceLatency = 0.007
    /// Whether the host plays something at a time.
    var isPlaying: (Double) -> Bool = { _ in true }
    /// An error of the clock offset that the viewer knows.
    var offsetError: (Double) -> Double = { _ in 0 }
    var knowsClock = true
    var network: SoundNetwork
    var buffer = SoundBuffer()

    /// What was heard of a packet: its number, when its first sample was heard, and that time less the host's.
    struct Heard {
        var number: Int
        var at: Double
        var latency: Double
    }
    /// Called with each packet that is decoded.
    var onHeard: (Heard) -> Void = { _ in }
    /// In lengths of a packet.
    private(set) var concealed = 0.0
    /// What wasn't decoded between packets that follow each other, in lengths of a packet.
    private(set) var missing = 0.0
    private(set) var decoded = 0
    private(set) var resets = 0
    /// The longest time without a decoded packet between two packets that follow each other.
    private(set) var longestGap = 0.0
    /// Times are measured after this.
    var measuresFrom = 0.0
    private(set) var now = 0.0

    /// This machine's clock less true time.
    private let start: Double
    /// The host's clock less true time.
    private static let hostClock = 5_000_000.0

    private var random = SeededGenerator(seed: 77)
    private var number = 0
    private var nextBlock = 0.0
    private var wasPlaying = false
    private var pending: [(number: Int, at: Double, time: Double, begins: Bool, ends: Bool)] = []
    private var nextArrival = Double.infinity
    private var sent: [(time: Double, begins: Bool, ends: Bool)] = []
    private var firstKept = 0
    private var rest = 0.0
    private var played = 0
    private var paused = 0.0
    private var gap = 0.0

    init(_ conditions: SoundNetworkConditions, seed: UInt64 = 1, start: Double = 1000) {
        self.start = start
        network = SoundNetwork(conditions, seed: seed)
    }

    /// The device plays nothing and asks for nothing.
    mutating func pauseDevice(for seconds: Double) { paused += seconds }

    mutating func run(for seconds: Double) {
        let end = now + seconds
        while now < end {
            let first = paused + Double(played) / 48_000 * (1 - deviceDrift)
            let group = played / callback / callbackGroup * callbackGroup
            let time =
                paused + Double(group * callback) / 48_000 * (1 - deviceDrift)
                + Double.random(in: 0...callbackJitter, using: &random)
            now = time
            send(until: time)
            deliver(until: time)
            play(first: first, now: time)
        }
    }

    // MARK: The host

    private mutating func send(until time: Double) {
        while nextBlock + 0.012 <= time {
            let length = 0.01 / (1 + hostDrift(nextBlock))
            let following = nextBlock + length
            if isPlaying(nextBlock) {
                sent.append((nextBlock, !wasPlaying, !isPlaying(following)))
                for arrival in network.send(number, at: nextBlock + 0.012) {
                    let packet = sent[arrival.number - firstKept]
                    nextArrival = min(nextArrival, arrival.at)
                    pending.append((arrival.number, arrival.at, packet.time, packet.begins, packet.ends))
                }
                number += 1
                wasPlaying = true
                if sent.count > 1000 {
                    sent.removeFirst(500)
                    firstKept += 500
                }
            } else {
                wasPlaying = false
            }
            nextBlock = following
        }
    }

    /// The host's clock at a true time.
    private func stamp(_ time: Double) -> Double { Self.hostClock + time * (1 + clockDrift) }

    private mutating func deliver(until time: Double) {
        guard nextArrival <= time else { return }
        for packet in pending.filter({ $0.at <= time }).sorted(by: { ($0.at, $0.number) < ($1.at, $1.number) }) {
            let offset = start + time - stamp(time) + offsetError(time)
            buffer.put(
                ReceivedSound(
                    opus: [1, 2, 3], number: UInt32(truncatingIfNeeded: packet.number) &- 100,
                    time: .at(stamp(packet.time)), begins: packet.begins, ends: packet.ends,
                    arrival: .at(start + packet.at), clockOffset: knowsClock ? .seconds(offset) : nil),
                now: .at(start + packet.at))
        }
        pending.removeAll { $0.at <= time }
        nextArrival = pending.reduce(.infinity) { min($0, $1.at) }
    }

    // MARK: The player

    /// `first`: when the callback's first sample would be asked for if callbacks came evenly.
    private mutating func play(first: Double, now: Double) {
        var have = rest
        while have < Double(callback) {
            let offset = have / 48_000
            let step = buffer.next(
                filled: Int(have), latency: .seconds(deviceLatency), now: .at(start + now))
            let heardAt = first + offset * (1 - deviceDrift) + deviceLatency
            switch step {
            case .decode(let sound, let begins):
                let number = Int(sound.number &+ 100)
                if begins { resets += 1 }
                if now > measuresFrom {
                    decoded += 1
                    if decoded > 1, !sound.begins { longestGap = max(longestGap, gap) }
                }
                if !sound.begins { missing += gap * 100 }
                gap = 0
                onHeard(
                    Heard(
                        number: number, at: heardAt,
                        latency: heardAt - (sound.time.seconds - Self.hostClock) / (1 + clockDrift)))
                have += 480 / buffer.ratio
            case .conceal(let samples):
                if now > measuresFrom { concealed += Double(samples) / 480 }
                gap += Double(samples) / 48_000
                have += Double(samples) / buffer.ratio
            case .silence(let samples):
                let silent = min(Double(samples), Double(callback) - have)
                gap += silent / 48_000
                have += silent
            }
        }
        rest = have - Double(callback)
        played += callback
    }
}
