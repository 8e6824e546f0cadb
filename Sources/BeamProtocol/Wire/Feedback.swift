import BeamMedia

/// What a viewer says of the stream (sealed, kind 0xB3): what it lacks, and how what it got has arrived.
struct Feedback: Hashable, Sendable {
    /// Parts of a frame that haven't come, although what was sent after them has.
    struct Missing: Hashable, Sendable {
        /// Ranges of one frame at a time; what doesn't fit is asked for later.
        static let mostRanges = 48

        var frame: SequenceNumber
        /// Empty: all of it.
        var parts: [Range<Int>] = []
    }

    /// How a frame has arrived so far. Only what was sent of it the first time counts.
    struct Arrival: Hashable, Sendable {
        static let length = 16

        var frame: SequenceNumber
        /// Parts so far, and the highest of them.
        var received: UInt16
        var highest: UInt16
        /// No age that is told is greater, in µs: what came a minute ago tells nothing of the path.
        static let longestAge: UInt32 = 60_000_000

        /// On the viewer's clock, in µs before the report left.
        var firstAge: UInt32
        var lastAge: UInt32
    }

    /// A part that was sent again, or parity.
    struct Again: Hashable, Sendable {
        /// Stands for parity, of whatever index.
        static let parity = UInt16.max

        var frame: SequenceNumber
        var part: UInt16
    }

    struct Report: Hashable, Sendable {
        /// In one datagram.
        static let mostArrivals = 30

        /// When it left, by the viewer's clock.
        var time: MediaTime
        /// Parts that were sent, as far as is known, and those of them that were missed when what was sent later had come, since
        /// the session began; both wrap around.
        var expected: UInt32
        var missed: UInt32
        var arrivals: [Arrival] = []
        /// What came last of what wasn't sent for the first time; nil where nothing has since the last report.
        var again: Again?
    }

    /// Which stream all of this is about.
    var layer: UInt8 = 0
    /// The frames up to this one are of no use any more: only a keyframe behind it mends the picture.
    var keyframeAfter: SequenceNumber?
    var missing: [Missing] = []
    var report: Report?

    init(layer: UInt8 = 0, keyframeAfter: SequenceNumber? = nil, missing: [Missing] = [], report: Report? = nil) {
        self.layer = layer
        self.keyframeAfter = keyframeAfter
        self.missing = missing
        self.report = report
    }

    var isEmpty: Bool { keyframeAfter == nil && missing.isEmpty && report == nil }

    /// What doesn't make sense isn't there.
    init(_ plaintext: UnsafeRawBufferPointer) {
        var feedback = Feedback()
        var arrivals: [Arrival] = []
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
                    // Each part once, so that looking at a request takes no longer than the frame has parts.
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
                    feedback.report?.again = Again(frame: SequenceNumber(frame), part: part)
                }
            case .arrivals:
                while arrivals.count < Report.mostArrivals, let arrival = Arrival(&fields) { arrivals.append(arrival) }
            }
        }
        feedback.report?.arrivals = arrivals
        self = feedback
    }

    var plaintext: [UInt8] {
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
        guard let report else { return bytes }
        SealedItems.append(Item.totals, to: &bytes) {
            $0.append(bigEndian: report.time.microseconds)
            $0.append(bigEndian: report.expected)
            $0.append(bigEndian: report.missed)
            $0.append(layer)
            if let again = report.again {
                $0.append(bigEndian: again.frame.value)
                $0.append(bigEndian: again.part)
            }
        }
        var rest = report.arrivals.prefix(Report.mostArrivals)
        while !rest.isEmpty {
            let some = rest.prefix(SealedItems.longest / Arrival.length)
            rest = rest.dropFirst(some.count)
            SealedItems.append(Item.arrivals, to: &bytes) { for arrival in some { arrival.write(to: &$0) } }
        }
        return bytes
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

/// What a host says beside the frames (sealed, kind 0xB4): that it is there, how far the stream has come, and what it makes of
/// the path. Without it nobody would miss the last frame before the screen came to rest.
struct StreamState: Hashable, Sendable {
    /// What the host takes the viewer's path to carry, and what it uses of that, in kbit/s.
    struct Rates: Hashable, Sendable {
        var estimated: UInt32
        var used: UInt32
        /// The path, and not what the host was asked for, determines the rate.
        var isPathBound = false
    }

    var layer: UInt8 = 0
    /// The last frame that was sent; nil before the first.
    var newest: SequenceNumber?
    var rates: Rates?
    /// The host hasn't heard anything for a while: a report is to be given at once.
    var wantsReport = false
    /// To be brought back by a hello from where this has arrived.
    var challenge: UInt64?

    init(
        layer: UInt8 = 0, newest: SequenceNumber?, rates: Rates? = nil, wantsReport: Bool = false,
        challenge: UInt64? = nil
    ) {
        self.layer = layer
        self.newest = newest
        self.rates = rates
        self.wantsReport = wantsReport
        self.challenge = challenge
    }

    /// What doesn't make sense isn't there.
    init(_ plaintext: UnsafeRawBufferPointer) {
        var state = StreamState(newest: nil)
        SealedItems.read(plaintext) { (kind: Item, fields) in
            switch kind {
            case .newest:
                guard let number: UInt32 = fields.integer(), let layer: UInt8 = fields.integer() else { return }
                state.newest = SequenceNumber(number)
                state.layer = layer
            case .rates:
                guard let estimated: UInt32 = fields.integer(), let used: UInt32 = fields.integer() else { return }
                state.rates = Rates(estimated: estimated, used: used, isPathBound: fields.integer() == UInt8(1))
            case .reportRequest:
                state.wantsReport = true
            case .challenge:
                state.challenge = fields.integer() ?? state.challenge
            }
        }
        self = state
    }

    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        if let newest {
            SealedItems.append(Item.newest, to: &bytes) {
                $0.append(bigEndian: newest.value)
                $0.append(layer)
            }
        }
        if let rates {
            SealedItems.append(Item.rates, to: &bytes) {
                $0.append(bigEndian: rates.estimated)
                $0.append(bigEndian: rates.used)
                $0.append(rates.isPathBound ? 1 : 0)
            }
        }
        if wantsReport { SealedItems.append(Item.reportRequest, to: &bytes) { _ in } }
        if let challenge { SealedItems.append(Item.challenge, to: &bytes) { $0.append(bigEndian: challenge) } }
        return bytes
    }
}
