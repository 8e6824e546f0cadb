import BeamMedia
import BeamWire

/// What is sent to a page that takes whole access units, bounded by what it hasn't acknowledged.
struct UnitDelivery: Sendable {
    /// What the page may have for a moment. Disposable pictures are left out while the oldest one waits for longer.
    static let patience = Duration.milliseconds(200)
    /// While the oldest unit waits for longer than this, nothing is sent.
    static let longestWait = Duration.seconds(1)
    static let mostUnits = 90
    static let mostBytes = 4 << 20
    /// Verdicts are at least so far apart.
    private static let window = Duration.seconds(1)

    private struct Unit: Sendable {
        let number: UInt32
        let bytes: Int
        let sent: MediaTime
    }

    let takesSound: Bool
    /// Sent and not acknowledged, the oldest first.
    private var inFlight: [Unit] = []
    private(set) var bytesInFlight = 0
    private var nextNumber: UInt32 = 0
    private var nextSound: UInt32 = 0
    private var description: BrowserUnit.Description?
    private var since: MediaTime
    private var longestDelay = Duration.zero
    private var carried = 0
    private(set) var roundTrip: Duration?

    init(takesSound: Bool, now: MediaTime) {
        self.takesSound = takesSound
        since = now
    }

    /// When the oldest unit was sent that isn't acknowledged.
    var waitingSince: MediaTime? { inFlight.first?.sent }
    var isIdle: Bool { inFlight.isEmpty }

    func delay(now: MediaTime) -> Duration { waitingSince.map { now - $0 } ?? .zero }

    /// Whether a unit of that length may be sent now.
    func hasRoom(for bytes: Int, now: MediaTime) -> Bool {
        inFlight.isEmpty
            || inFlight.count < Self.mostUnits && bytesInFlight + bytes <= Self.mostBytes
                && delay(now: now) < Self.longestWait
    }

    mutating func unit(_ frame: EncodedFrame, now: MediaTime) -> BrowserUnit {
        var kind = BrowserUnit.Kind.picture
        if frame.isKeyframe {
            let new = frame.unit.parameterSets.flatMap { BrowserUnit.Description($0, size: frame.unit.size) }
            kind = .keyframe(new == description ? nil : new)
            description = new
        }
        let unit = BrowserUnit(
            kind: kind, number: nextNumber, time: frame.captureTime, bytes: frame.unit.bytes, range: frame.unit.range)
        inFlight.append(Unit(number: nextNumber, bytes: unit.range.count, sent: now))
        bytesInFlight += unit.range.count
        nextNumber &+= 1
        return unit
    }

    /// Nil if the page takes none, or doesn't keep up.
    mutating func sound(_ opus: [UInt8], time: MediaTime, now: MediaTime) -> BrowserUnit? {
        guard takesSound, delay(now: now) < Self.longestWait else { return nil }
        defer { nextSound &+= 1 }
        return BrowserUnit(kind: .sound, number: nextSound, time: time, bytes: opus, range: 0..<opus.count)
    }

    /// That picture and all before it are acknowledged. False if it wasn't sent, or was acknowledged before.
    mutating func acknowledged(_ number: UInt32, now: MediaTime) -> Bool {
        guard let index = inFlight.firstIndex(where: { $0.number == number }) else { return false }
        for unit in inFlight[...index] {
            bytesInFlight -= unit.bytes
            carried += unit.bytes
            longestDelay = max(longestDelay, now - unit.sent)
        }
        roundTrip = now - inFlight[index].sent
        inFlight.removeFirst(index + 1)
        return true
    }

    /// How the page has done since the last verdict; nil if that is too soon. `isBehind`: pictures were left out because
    /// it had no room.
    mutating func judge(isBehind: Bool, now: MediaTime) -> (verdict: BrowserPath.Verdict, carried: Int)? {
        let time = now - since
        guard time >= Self.window else { return nil }
        let delay = max(longestDelay, delay(now: now))
        let isSlow = isBehind || delay >= Self.longestWait / 2
        // A page that acknowledges nothing at all has stopped, which says nothing of its path.
        let verdict: BrowserPath.Verdict =
            isSlow ? (carried > 0 ? .bad : .unclear) : delay < Self.patience ? .good : .unclear
        defer {
            since = now
            (longestDelay, carried) = (.zero, 0)
        }
        return (verdict, Int(clamping: Double(carried) * 8 / max(0.001, time.inSeconds)))
    }
}
