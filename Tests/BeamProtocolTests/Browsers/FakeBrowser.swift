import BeamMedia

@testable import BeamSession
@testable import BeamWire

/// A browser that gets packets: puts pictures together again, asks for what is missing, and for a keyframe when that
/// doesn't help, and reports each second, as far as a real one's behaviour matters to the stream.
struct FakeBrowser {
    struct Packet {
        let sequence: Int64
        let timestamp: UInt32
        let isMarked: Bool
        let payload: [UInt8]
    }

    let id: ConnectionID
    let sources: BrowserSources
    var decoder = TestFrame.Decoder()
    /// When each picture was decoded, with its RTP timestamp.
    private(set) var pictures: [(time: MediaTime, timestamp: UInt32, index: UInt32)] = []
    private(set) var soundPackets: [(sequence: UInt16, timestamp: UInt32, isMarked: Bool)] = []
    private(set) var reports: [(time: MediaTime, bytes: [UInt8])] = []
    private(set) var keyframeRequests = 0
    private(set) var received = 0
    /// Faults of the stream.
    private(set) var errors: [String] = []
    var isAsleep = false

    private var waiting: [Int64: Packet] = [:]
    private var next: Int64?
    private var highest: Int64 = .min
    private var missing: [Int64: (since: MediaTime, asked: MediaTime)] = [:]
    private var seen: Set<Int64> = []
    private var partial: [Packet] = []
    private var needsKeyframe = false
    private var lastRequest: MediaTime?
    private var lastReport: (middle: UInt32, time: MediaTime)?
    private var reportDue: MediaTime?
    private var lost: Int32 = 0

    init(_ id: UInt64, hasSound: Bool = false) {
        self.id = ConnectionID(id)
        sources = BrowserSources(video: UInt32(1000 + id), sound: hasSound ? UInt32(5000 + id) : nil)
    }

    // MARK: What arrives

    mutating func receive(_ bytes: [UInt8], now: MediaTime) {
        received += 1
        guard bytes[1] != 200 else {
            reports.append((now, bytes))
            let middle = bytes[10..<14].reduce(0) { $0 << 8 | UInt32($1) }
            if Array(bytes[4..<8]) == TestFrame.big(sources.video) { lastReport = (middle, now) }
            return
        }
        let number = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        let timestamp = bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
        let source = bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
        if bytes[1] & 0x7F == BrowserSources.soundType {
            if source != sources.sound { errors.append("sound of \(source)") }
            return soundPackets.append((number, timestamp, bytes[1] & 0x80 != 0))
        }
        if source != sources.video || bytes[1] & 0x7F != BrowserSources.videoType { errors.append("wrong source") }
        if Array(bytes[12..<20]) != [0xBE, 0xDE, 0, 1, 0xC2, 0, 0, 0] { errors.append("no playout delay") }
        let sequence = unwrapped(number)
        guard seen.insert(sequence).inserted else { return }
        if next == nil { next = sequence }
        if let next, sequence < next { return }
        if highest > .min, sequence > highest {
            for gap in highest + 1..<sequence { missing[gap] = (now, .distantPast) }
        }
        highest = max(highest, sequence)
        missing[sequence] = nil
        waiting[sequence] = Packet(
            sequence: sequence, timestamp: timestamp, isMarked: bytes[1] & 0x80 != 0, payload: Array(bytes[20...]))
        advance(now: now)
    }

    private func unwrapped(_ number: UInt16) -> Int64 {
        guard highest > .min else { return Int64(number) + 65536 }
        return highest + Int64(Int16(bitPattern: number &- UInt16(truncatingIfNeeded: highest)))
    }

    private mutating func advance(now: MediaTime) {
        while let own = next, let packet = waiting.removeValue(forKey: own) {
            next = own + 1
            if let first = partial.first, first.timestamp != packet.timestamp { partial = [] }
            partial.append(packet)
            if packet.isMarked {
                finish(partial, now: now)
                partial = []
            }
        }
    }

    private mutating func finish(_ packets: [Packet], now: MediaTime) {
        var units: [[UInt8]] = []
        for packet in packets {
            let payload = packet.payload
            guard payload[0] & 0x1F == 28 else {
                units.append(payload)
                continue
            }
            if payload[1] & 0x80 != 0 { units.append([payload[0] & 0xE0 | payload[1] & 0x1F]) }
            if units.isEmpty {
                // It has given up in the middle of this picture.
                if !needsKeyframe { errors.append("a fragment without a beginning") }
                return
            }
            units[units.count - 1] += payload[2...]
        }
        let isKeyframe = units.last.map { $0[0] & 0x1F == 5 } ?? false
        if isKeyframe, Array(units.prefix(2)) != TestFrame.parameterSets.sps + TestFrame.parameterSets.pps {
            errors.append("a keyframe without its parameter sets")
        }
        guard !needsKeyframe || isKeyframe, let unit = units.last else { return }
        needsKeyframe = false
        let bytes = TestFrame.big(UInt32(unit.count)) + unit
        let access = AccessUnit(
            bytes: bytes, isKeyframe: isKeyframe, parameterSets: isKeyframe ? TestFrame.parameterSets : nil,
            size: PixelSize(width: 64, height: 64), isDisposable: unit[0] & 0x60 == 0)
        decoder.decode(ReceivedFrame(unit: access, number: 0, firstArrival: now, lastArrival: now))
        if let last = pictures.last, Int32(bitPattern: packets[0].timestamp &- last.timestamp) <= 0 {
            errors.append("timestamps don't grow")
        }
        pictures.append((now, packets[0].timestamp, bytes[5..<9].reduce(0) { $0 << 8 | UInt32($1) }))
    }

    // MARK: What it says

    /// The compound packets that it sends now.
    mutating func says(now: MediaTime, roundTrip: Duration) -> [[UInt8]] {
        guard !isAsleep else { return [] }
        var packets: [[UInt8]] = []
        let due = missing.filter { now - $0.value.asked >= max(.milliseconds(20), roundTrip) }.keys.sorted()
        for sequence in due { missing[sequence]?.asked = now }
        if !due.isEmpty { packets.append(Self.missing(due.map { UInt16(truncatingIfNeeded: $0) }, of: sources.video)) }
        // What is missing for so long is given up.
        if let oldest = missing.values.map(\.since).min(), now - oldest > .seconds(1) { giveUp() }
        if needsKeyframe, lastRequest.map({ now - $0 > .milliseconds(400) }) ?? true {
            lastRequest = now
            keyframeRequests += 1
            packets.append(Self.keyframe(of: sources.video))
        }
        if reportDue.map({ $0 <= now }) ?? true {
            reportDue = now + .seconds(1)
            packets.append(report(now: now))
        }
        return packets
    }

    private mutating func giveUp() {
        missing = [:]
        waiting = [:]
        partial = []
        next = highest + 1
        needsKeyframe = true
    }

    private func report(now: MediaTime) -> [UInt8] {
        let delay = lastReport.map { UInt32((now - $0.time).inSeconds * 65536) } ?? 0
        return Self.report(
            ReceptionReport(
                source: sources.video, cumulativeLost: Int32(missing.count),
                highestSequence: UInt32(truncatingIfNeeded: max(0, highest)), lastReport: lastReport?.middle ?? 0,
                delay: delay))
    }

    static func report(_ report: ReceptionReport) -> [UInt8] {
        var bytes: [UInt8] = [0x81, 201, 0, 7, 0, 0, 0, 1]
        let lost = UInt32(report.fractionLost) << 24 | UInt32(bitPattern: report.cumulativeLost) & 0xFF_FFFF
        for value in [report.source, lost, report.highestSequence, report.jitter, report.lastReport, report.delay] {
            bytes += TestFrame.big(value)
        }
        return bytes
    }

    static func missing(_ numbers: [UInt16], of source: UInt32) -> [UInt8] {
        let entries = numbers.prefix(300)
        var bytes: [UInt8] = [0x81, 205] + TestFrame.big(UInt32(entries.count + 2)).suffix(2) + [0, 0, 0, 1]
        bytes += TestFrame.big(source)
        for number in entries { bytes += TestFrame.big(UInt32(number) << 16) }
        return bytes
    }

    static func keyframe(of source: UInt32) -> [UInt8] { [0x81, 206, 0, 2, 0, 0, 0, 1] + TestFrame.big(source) }
}
