import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The bytes of feedback and stream states, written by hand.
struct FeedbackTests {
    private func feedback(_ bytes: [UInt8]) -> Feedback { bytes.withUnsafeBytes { Feedback($0) } }
    private func state(_ bytes: [UInt8]) -> StreamState { bytes.withUnsafeBytes { StreamState($0) } }

    private static let goldenFeedback: [(Feedback, [UInt8])] = [
        (Feedback(), []),
        // A keyframe after frame 0x01020304 of layer 1.
        (Feedback(layer: 1, keyframeAfter: SequenceNumber(0x0102_0304)), [1, 5, 1, 2, 3, 4, 1]),
        // All of frame 9; parts 2, 3, 4 and 0x0105 of frame 10.
        (
            Feedback(missing: [
                Feedback.Missing(frame: SequenceNumber(9)),
                Feedback.Missing(frame: SequenceNumber(10), parts: [2..<5, 0x105..<0x106]),
            ]),
            [2, 5, 0, 0, 0, 9, 0] + [2, 13, 0, 0, 0, 10, 0, 0, 2, 0, 3, 1, 5, 0, 1]
        ),
        // 1.5 s on the viewer's clock, 258 expected, 3 missed; frame 7: five parts, up to part 6, 2000 to 500 µs ago.
        (
            Feedback(
                layer: 1,
                report: Feedback.Report(
                    time: .at(1.5), expected: 258, missed: 3,
                    arrivals: [
                        Feedback.Arrival(
                            frame: SequenceNumber(7), received: 5, highest: 6, firstAge: 2000, lastAge: 500)
                    ])),
            [3, 17, 0, 0, 0, 0, 0, 0x16, 0xE3, 0x60, 0, 0, 1, 2, 0, 0, 0, 3, 1]
                + [4, 16, 0, 0, 0, 7, 0, 5, 0, 6, 0, 0, 7, 0xD0, 0, 0, 1, 0xF4]
        ),
        // Part 3 of frame 8 came again.
        (
            Feedback(
                report: Feedback.Report(
                    time: .zero, expected: 0, missed: 0, recovery: Feedback.Recovery(frame: SequenceNumber(8), part: 3))
            ),
            [3, 23, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 8, 0, 3]
        ),
    ]

    private static let goldenStates: [(StreamState, [UInt8])] = [
        (StreamState(newest: nil), []),
        (StreamState(layer: 1, newest: SequenceNumber(0xFFFF_FFFE)), [1, 5, 0xFF, 0xFF, 0xFF, 0xFE, 1]),
        (StreamState(newest: nil, challenge: 0x0102_0304_0506_0708), [4, 8, 1, 2, 3, 4, 5, 6, 7, 8]),
        (
            StreamState(
                newest: SequenceNumber(5),
                rates: StreamState.Rates(estimated: 20_000, used: 4_800, isPathBound: true), wantsReport: true),
            [1, 5, 0, 0, 0, 5, 0] + [2, 9, 0, 0, 0x4E, 0x20, 0, 0, 0x12, 0xC0, 1] + [3, 0]
        ),
    ]

    static let golden = goldenFeedback.map(\.1) + goldenStates.map(\.1) + HashesItemTests.golden

    @Test func feedbackHasTheGoldenBytes() {
        for (value, bytes) in Self.goldenFeedback {
            #expect(value.plaintext == bytes)
            #expect(feedback(bytes) == value)
        }
        #expect(Self.goldenFeedback.map(\.0.isEmpty) == [true, false, false, false, false])
    }

    @Test func streamStatesHaveTheGoldenBytes() {
        for (value, bytes) in Self.goldenStates {
            #expect(value.plaintext == bytes)
            #expect(state(bytes) == value)
        }
    }

    /// Of truncated bytes, the whole items are read, and nothing else.
    @Test func truncatedBytesEndTheReading() {
        for (whole, bytes) in Self.goldenFeedback {
            for length in bytes.indices {
                let part = feedback(Array(bytes[..<length]))
                #expect(part.keyframeAfter == nil || part.keyframeAfter == whole.keyframeAfter)
                #expect(part.missing == Array(whole.missing.prefix(part.missing.count)))
                #expect(part.report == nil || part.report?.time == whole.report?.time)
                #expect((part.report?.arrivals.count ?? 0) <= (whole.report?.arrivals.count ?? 0))
            }
        }
        for (whole, bytes) in Self.goldenStates {
            for length in bytes.indices {
                let part = state(Array(bytes[..<length]))
                #expect(part.newest == nil || part.newest == whole.newest)
                #expect(part.rates == nil || part.rates == whole.rates)
            }
        }
    }

    /// A later version may add items.
    @Test func unknownItemsAreSkipped() {
        let unknown: [UInt8] = [0x77, 3, 1, 2, 3]
        for (value, bytes) in Self.goldenFeedback { #expect(feedback(unknown + bytes + unknown) == value) }
        for (value, bytes) in Self.goldenStates { #expect(state(unknown + bytes + unknown) == value) }
        #expect(feedback([1, 7, 0, 0, 0, 4, 1, 9, 9]) == Feedback(layer: 1, keyframeAfter: SequenceNumber(4)))
        #expect(state([1, 6, 0, 0, 0, 4, 1, 9]) == StreamState(layer: 1, newest: SequenceNumber(4)))
    }

    @Test func invalidItemsAreIgnored() {
        // A range without parts. (The receiver bounds parts beyond a frame's count.)
        #expect(feedback([2, 9, 0, 0, 0, 1, 0, 0, 4, 0, 0]).missing.isEmpty)
        #expect(feedback([2, 9, 0, 0, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF]).missing.first?.parts == [65535..<131_070])
        // A clock that `MediaTime` can't hold.
        #expect(feedback([3, 17] + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 0, 1, 0, 0, 0, 0, 0]).report == nil)
        // Arrivals without a report, without parts, or that end before they began.
        #expect(feedback([4, 16, 0, 0, 0, 7, 0, 5, 0, 6, 0, 0, 7, 0xD0, 0, 0, 1, 0xF4]).isEmpty)
        let report = Self.goldenFeedback[4].1
        #expect(
            feedback(report + [4, 16, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 7, 0xD0, 0, 0, 1, 0xF4]).report?.arrivals == [])
        #expect(feedback(report + [4, 16, 0, 0, 0, 7, 0, 5, 0, 6, 0, 0, 0, 1, 0, 0, 1, 0xF4]).report?.arrivals == [])
        // Arrivals from too long ago.
        #expect(feedback(report + [4, 16, 0, 0, 0, 7, 0, 5, 0, 6, 4, 0, 0, 0, 0, 0, 0, 1]).report?.arrivals == [])
        // The same part twice.
        #expect(feedback([2, 13, 0, 0, 0, 1, 0, 0, 3, 0, 2, 0, 4, 0, 9]).missing.isEmpty)
        #expect(feedback([2, 13, 0, 0, 0, 1, 0, 0, 3, 0, 2, 0, 5, 0, 9]).missing.first?.parts == [3..<5, 5..<14])
    }

    /// The longest feedback fits into a datagram, and all of it is read back.
    @Test func theLongestFeedbackFitsIntoADatagram() {
        let ranges = (0..<Feedback.Missing.mostRanges).map { $0 * 3..<$0 * 3 + 2 }
        let arrivals = (0..<Feedback.Report.mostArrivals).map {
            Feedback.Arrival(
                frame: SequenceNumber(UInt32($0)), received: 9, highest: 9, firstAge: Feedback.Arrival.longestAge,
                lastAge: Feedback.Arrival.longestAge - 1)
        }
        let value = Feedback(
            layer: 1, keyframeAfter: SequenceNumber(3),
            missing: (0..<3).map { Feedback.Missing(frame: SequenceNumber($0), parts: ranges) },
            report: Feedback.Report(
                time: .at(1e6), expected: .max, missed: .max, arrivals: arrivals,
                recovery: Feedback.Recovery(frame: SequenceNumber(.max), part: Feedback.Recovery.parity)))
        #expect(value.plaintext.count + SealedHeader.overhead <= MediaLimits.datagramLength)
        #expect(feedback(value.plaintext) == value)
        // More than that is neither written nor read.
        var greater = value
        greater.report?.arrivals += arrivals
        greater.missing[0].parts += ranges
        #expect(feedback(greater.plaintext) == value)
        let repeated = value.plaintext + arrivalsItem(arrivals.prefix(15))
        #expect(feedback(repeated).report?.arrivals.count == Feedback.Report.mostArrivals)
    }

    private func arrivalsItem(_ arrivals: ArraySlice<Feedback.Arrival>) -> [UInt8] {
        let report = Feedback.Report(time: .zero, expected: 0, missed: 0, arrivals: Array(arrivals))
        return Array(Feedback(report: report).plaintext.dropFirst(19))
    }
}
