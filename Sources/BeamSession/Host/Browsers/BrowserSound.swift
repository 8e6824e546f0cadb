import BeamMedia
import BeamWire

/// The newest packet of sound, cut once for all browsers, and RTP's clock for it.
///
/// Timestamps count samples: 480 for each packet. Silence and gaps count in packets, too, so that the sound card's clock,
/// which differs a little from the machine's, makes no gap of a few samples that a browser would fill.
struct BrowserSound: Sendable {
    static let packetTime = Duration.milliseconds(10)
    private static let packetSamples: UInt32 = 480

    private let offset: UInt32
    private(set) var newest: EncodedSound?
    private(set) var timestamp: UInt32
    private(set) var full: RTPSound?
    private(set) var reduced: RTPSound?
    private(set) var demand = SoundDemand()

    init(offset: UInt32) {
        self.offset = offset
        timestamp = offset
    }

    mutating func push(_ sound: EncodedSound) {
        if let last = newest {
            let packets = ((sound.time - last.time).inMilliseconds / Self.packetTime.inMilliseconds).rounded()
            timestamp &+= UInt32(truncatingIfNeeded: Int64(clamping: max(1, packets))) &* Self.packetSamples
        }
        newest = sound
        full = sound.full.flatMap { RTPSound($0) }
        reduced = sound.reduced.flatMap { RTPSound($0) }
    }

    /// The timestamp of a moment.
    func timestamp(of time: MediaTime) -> UInt32 {
        guard let newest else { return timestamp }
        let samples = (time - newest.time).inSeconds * Double(RTPClock.sound)
        return timestamp &+ UInt32(truncatingIfNeeded: Int64(clamping: samples))
    }

    /// What a browser gets: the encoding that is right for it, or the other one while that isn't made.
    func packet(isReduced: Bool) -> RTPSound? { isReduced ? reduced ?? full : full ?? reduced }

    func opus(isReduced: Bool) -> [UInt8]? {
        isReduced ? newest?.reduced ?? newest?.full : newest?.full ?? newest?.reduced
    }

    /// True if `demand` has changed.
    mutating func want(_ wanted: SoundDemand) -> Bool {
        defer { demand = wanted }
        return wanted != demand
    }
}
