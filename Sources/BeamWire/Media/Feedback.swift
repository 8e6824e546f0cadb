import BeamMedia

/// A rectangle of tiles (`ExactTiles`), in tiles.
package struct TileRect: Hashable, Sendable {
    package var x: UInt16
    package var y: UInt16
    package var width: UInt16
    package var height: UInt16

    package init(x: UInt16, y: UInt16, width: UInt16, height: UInt16) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// A viewer's feedback (sealed, kind 0xB3): requests, and how frames have arrived.
package struct Feedback: Hashable, Sendable {
    /// A request for missing parts of one frame.
    package struct Missing: Hashable, Sendable {
        /// The most ranges in one request; the rest is requested later.
        package static let mostRanges = 48

        package var frame: SequenceNumber
        /// Empty: all parts.
        package var parts: [Range<Int>] = []

        package init(frame: SequenceNumber, parts: [Range<Int>] = []) {
            self.frame = frame
            self.parts = parts
        }

        /// In bytes, with the item's head.
        package var encodedLength: Int { 7 + 4 * min(parts.count, Self.mostRanges) }
    }

    /// How a frame has arrived so far. Only first transmissions count.
    package struct Arrival: Hashable, Sendable {
        package static let length = 16

        package var frame: SequenceNumber
        /// Parts that have arrived, and the highest part number among them.
        package var received: UInt16
        package var highest: UInt16
        /// The greatest age that is reported, in µs: 60 s. Older arrivals say nothing of the path.
        package static let longestAge: UInt32 = 60_000_000

        /// Time from the first and the last arrival to the report, in µs on the viewer's clock.
        package var firstAge: UInt32
        package var lastAge: UInt32

        package init(frame: SequenceNumber, received: UInt16, highest: UInt16, firstAge: UInt32, lastAge: UInt32) {
            self.frame = frame
            self.received = received
            self.highest = highest
            self.firstAge = firstAge
            self.lastAge = lastAge
        }
    }

    /// A retransmitted part, or parity, that has arrived.
    package struct Recovery: Hashable, Sendable {
        /// The part number that stands for parity of any index.
        package static let parity = UInt16.max

        package var frame: SequenceNumber
        package var part: UInt16

        package init(frame: SequenceNumber, part: UInt16) {
            self.frame = frame
            self.part = part
        }
    }

    /// A request for missing parts of a change's patch.
    package struct MissingChange: Hashable, Sendable {
        package var number: UInt32
        /// Nil: all parts.
        package var parts: Range<Int>?

        package init(number: UInt32, parts: Range<Int>? = nil) {
            self.number = number
            self.parts = parts
        }
    }

    /// How sound has arrived.
    package struct Sound: Hashable, Sendable {
        /// The most packets requested in one datagram.
        package static let mostMissing = 16

        /// Packets that should have arrived since the session began, those of them that were missing when a later one had
        /// arrived, and those that came in no way. All wrap around.
        package var expected: UInt32
        package var missed: UInt32
        package var lost: UInt32
        /// The numbers of packets to send again.
        package var missing: [UInt32] = []

        package init(expected: UInt32, missed: UInt32, lost: UInt32, missing: [UInt32] = []) {
            self.expected = expected
            self.missed = missed
            self.lost = lost
            self.missing = missing
        }

        /// In bytes, with the item's head.
        package var encodedLength: Int { 14 + 4 * min(missing.count, Self.mostMissing) }
    }

    package struct Report: Hashable, Sendable {
        /// The most arrivals in one datagram.
        package static let mostArrivals = 30

        /// The viewer's clock when the report was made.
        package var time: MediaTime
        /// Parts that should have arrived since the session began, and those of them that were missing when a later one
        /// had arrived. Both wrap around.
        package var expected: UInt32
        package var missed: UInt32
        package var arrivals: [Arrival] = []
        /// The last retransmission or parity that arrived since the last report; nil if none did.
        package var recovery: Recovery?

        package init(
            time: MediaTime, expected: UInt32, missed: UInt32, arrivals: [Arrival] = [], recovery: Recovery? = nil
        ) {
            self.time = time
            self.expected = expected
            self.missed = missed
            self.arrivals = arrivals
            self.recovery = recovery
        }
    }

    /// The simulcast layer that all of this refers to.
    package var layer: UInt8 = 0
    /// A keyframe request: frames up to this number can't be decoded, so only a later keyframe restores the picture.
    package var keyframeAfter: SequenceNumber?
    package var missing: [Missing] = []
    package var report: Report?
    /// The numbers of probes that have arrived.
    package var probes: [UInt16] = []
    package var sound: Sound?
    /// Tiles that the viewer lacks exactly; where they lie is its own choice.
    package var inexact: [TileRect] = []
    /// The number of the pointer's look that the viewer lacks.
    package var look: UInt32?
    /// The viewer has all tiles exactly, and compares them with the hashes of the host's picture.
    package var wantsHashes = false
    /// The most rectangles of tiles in one datagram.
    package static let mostInexact = 31
    /// Changes whose patches are missing.
    package var missingChanges: [MissingChange] = []
    /// The most of them in one datagram.
    package static let mostMissingChanges = 16
    /// The most probes acknowledged in one datagram.
    package static let mostProbes = 8

    package init(
        layer: UInt8 = 0, keyframeAfter: SequenceNumber? = nil, missing: [Missing] = [], report: Report? = nil,
        probes: [UInt16] = [], sound: Sound? = nil
    ) {
        self.layer = layer
        self.sound = sound
        self.keyframeAfter = keyframeAfter
        self.missing = missing
        self.report = report
        self.probes = probes
    }

    package var isEmpty: Bool {
        keyframeAfter == nil && missing.isEmpty && report == nil && probes.isEmpty && sound == nil
            && inexact.isEmpty && missingChanges.isEmpty && look == nil && !wantsHashes
    }

    /// The length of `plaintext` in bytes.
    package var encodedLength: Int {
        var length = keyframeAfter == nil ? 0 : 7
        length += missing.reduce(0) { $0 + $1.encodedLength }
        if !probes.isEmpty { length += 2 + 2 * min(probes.count, Self.mostProbes) }
        length += sound?.encodedLength ?? 0
        if !inexact.isEmpty { length += 2 + 8 * min(inexact.count, Self.mostInexact) }
        if !missingChanges.isEmpty { length += 2 + 8 * min(missingChanges.count, Self.mostMissingChanges) }
        if look != nil { length += 6 }
        if wantsHashes { length += 2 }
        guard let report else { return length }
        let arrivals = min(report.arrivals.count, Report.mostArrivals)
        let perItem = SealedItems.longestValue / Arrival.length
        return length + (report.recovery == nil ? 19 : 25) + arrivals * Arrival.length
            + (arrivals + perItem - 1) / perItem * 2
    }

    /// Reads what is valid; invalid items are left out.
    package init(_ plaintext: UnsafeRawBufferPointer) {
        var memory: [Arrival] = []
        self.init(plaintext, memory: &memory)
    }

    /// The same; the report's arrivals are put into `memory`, so that reading a report doesn't allocate.
    package init(_ plaintext: UnsafeRawBufferPointer, memory: inout [Arrival]) {
        var feedback = Feedback()
        var arrivals: [Arrival] = []
        swap(&arrivals, &memory)
        arrivals.removeAll(keepingCapacity: true)
        SealedItems.read(plaintext) { (kind: Item, fields) in
            switch kind {
            case .keyframe:
                guard let frame: UInt32 = fields.integer(), let layer: UInt8 = fields.integer() else { return }
                feedback.keyframeAfter = SequenceNumber(frame)
                feedback.layer = layer
            case .missing:
                guard let frame: UInt32 = fields.integer(), let layer: UInt8 = fields.integer() else { return }
                var missing = Missing(frame: SequenceNumber(frame))
                while let first: UInt16 = fields.integer(), let count: UInt16 = fields.integer() {
                    // Ranges in ascending order, each part once, so that serving a request takes no longer than the
                    // frame has parts.
                    guard count > 0, missing.parts.count < Missing.mostRanges,
                        Int(first) >= missing.parts.last?.upperBound ?? 0
                    else { return }
                    missing.parts.append(Int(first)..<Int(first) + Int(count))
                }
                feedback.layer = layer
                feedback.missing.append(missing)
            case .totals:
                guard let microseconds: UInt64 = fields.integer(), let expected: UInt32 = fields.integer(),
                    let missed: UInt32 = fields.integer(), let layer: UInt8 = fields.integer(),
                    let time = MediaTime(microseconds: microseconds)
                else { return }
                feedback.layer = layer
                feedback.report = Report(time: time, expected: expected, missed: missed)
                if let frame: UInt32 = fields.integer(), let part: UInt16 = fields.integer() {
                    feedback.report?.recovery = Recovery(frame: SequenceNumber(frame), part: part)
                }
            case .arrivals:
                while arrivals.count < Report.mostArrivals, let arrival = Arrival(&fields) { arrivals.append(arrival) }
            case .probes:
                while feedback.probes.count < Self.mostProbes, let number: UInt16 = fields.integer() {
                    feedback.probes.append(number)
                }
            case .sound:
                guard let expected: UInt32 = fields.integer(), let missed: UInt32 = fields.integer(),
                    let lost: UInt32 = fields.integer()
                else { return }
                var sound = Sound(expected: expected, missed: missed, lost: lost)
                while sound.missing.count < Sound.mostMissing, let number: UInt32 = fields.integer() {
                    sound.missing.append(number)
                }
                feedback.sound = sound
            case .inexact:
                while feedback.inexact.count < Self.mostInexact, let rect = TileRect(&fields) {
                    feedback.inexact.append(rect)
                }
            case .missingChanges:
                while feedback.missingChanges.count < Self.mostMissingChanges, let missing = MissingChange(&fields) {
                    feedback.missingChanges.append(missing)
                }
            case .look:
                feedback.look = fields.integer() ?? feedback.look
            case .hashesWanted:
                feedback.wantsHashes = true
            }
        }
        if feedback.report == nil { swap(&arrivals, &memory) } else { feedback.report?.arrivals = arrivals }
        self = feedback
    }

    package var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        if let keyframeAfter {
            SealedItems.append(Item.keyframe, to: &bytes) {
                $0.append(bigEndian: keyframeAfter.value)
                $0.append(layer)
            }
        }
        for missing in missing {
            SealedItems.append(Item.missing, to: &bytes) {
                $0.append(bigEndian: missing.frame.value)
                $0.append(layer)
                for range in missing.parts.prefix(Missing.mostRanges) {
                    $0.append(bigEndian: UInt16(clamping: range.lowerBound))
                    $0.append(bigEndian: UInt16(clamping: range.count))
                }
            }
        }
        if !probes.isEmpty {
            SealedItems.append(Item.probes, to: &bytes) {
                for number in probes.prefix(Self.mostProbes) { $0.append(bigEndian: number) }
            }
        }
        if let sound {
            SealedItems.append(Item.sound, to: &bytes) {
                $0.append(bigEndian: sound.expected)
                $0.append(bigEndian: sound.missed)
                $0.append(bigEndian: sound.lost)
                for number in sound.missing.prefix(Sound.mostMissing) { $0.append(bigEndian: number) }
            }
        }
        if !inexact.isEmpty {
            SealedItems.append(Item.inexact, to: &bytes) {
                for rect in inexact.prefix(Self.mostInexact) {
                    for value in [rect.x, rect.y, rect.width, rect.height] { $0.append(bigEndian: value) }
                }
            }
        }
        if !missingChanges.isEmpty {
            SealedItems.append(Item.missingChanges, to: &bytes) {
                for missing in missingChanges.prefix(Self.mostMissingChanges) { missing.write(to: &$0) }
            }
        }
        if let look { SealedItems.append(Item.look, to: &bytes) { $0.append(bigEndian: look) } }
        if wantsHashes { SealedItems.append(Item.hashesWanted, to: &bytes) { _ in } }
        guard let report else { return bytes }
        SealedItems.append(Item.totals, to: &bytes) {
            $0.append(bigEndian: report.time.microseconds)
            $0.append(bigEndian: report.expected)
            $0.append(bigEndian: report.missed)
            $0.append(layer)
            if let recovery = report.recovery {
                $0.append(bigEndian: recovery.frame.value)
                $0.append(bigEndian: recovery.part)
            }
        }
        var rest = report.arrivals.prefix(Report.mostArrivals)
        while !rest.isEmpty {
            let some = rest.prefix(SealedItems.longestValue / Arrival.length)
            rest = rest.dropFirst(some.count)
            SealedItems.append(Item.arrivals, to: &bytes) { for arrival in some { arrival.write(to: &$0) } }
        }
        return bytes
    }
}

extension TileRect {
    /// Nil if it is empty, or reaches beyond what can be named.
    fileprivate init?(_ fields: inout BigEndianReader) {
        guard let x: UInt16 = fields.integer(), let y: UInt16 = fields.integer(),
            let width: UInt16 = fields.integer(), let height: UInt16 = fields.integer(), width > 0, height > 0,
            !x.addingReportingOverflow(width).overflow, !y.addingReportingOverflow(height).overflow
        else { return nil }
        self.init(x: x, y: y, width: width, height: height)
    }
}

extension Feedback.MissingChange {
    /// u32 number, u16 first part, u16 count; 0 parts: all.
    fileprivate init?(_ fields: inout BigEndianReader) {
        guard let number: UInt32 = fields.integer(), let first: UInt16 = fields.integer(),
            let count: UInt16 = fields.integer()
        else { return nil }
        self.init(number: number, parts: count == 0 ? nil : Int(first)..<Int(first) + Int(count))
    }

    fileprivate func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: UInt16(clamping: parts?.lowerBound ?? 0))
        bytes.append(bigEndian: UInt16(clamping: parts?.count ?? 0))
    }
}

extension Feedback.Arrival {
    fileprivate init?(_ fields: inout BigEndianReader) {
        guard let frame: UInt32 = fields.integer(), let received: UInt16 = fields.integer(),
            let highest: UInt16 = fields.integer(), let first: UInt32 = fields.integer(),
            let last: UInt32 = fields.integer(), received > 0, last <= first, first <= Self.longestAge
        else { return nil }
        self.init(
            frame: SequenceNumber(frame), received: received, highest: highest, firstAge: first, lastAge: last)
    }

    fileprivate func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: frame.value)
        bytes.append(bigEndian: received)
        bytes.append(bigEndian: highest)
        bytes.append(bigEndian: firstAge)
        bytes.append(bigEndian: lastAge)
    }
}
