import BeamMedia

/// When the packets were heard at the host, without the jumps of the host's stamps.
///
/// The buffer's arithmetic rests on these times, and the host chooses the stamps. So a stamp counts where it agrees with
/// the packet's number, or with its arrival after silence; else the arrival replaces it. All times are in seconds since
/// `epoch`, on this machine's clock but for a constant.
struct SoundTimeline: Sendable {
    struct Place: Sendable {
        /// In seconds on the timeline.
        var time: Double
        /// It follows what was played before, by its number and its stamp, with nothing or only lost packets between.
        var isContinuous: Bool
    }

    private struct Point: Sendable {
        /// Nil after the numbers began anew.
        var number: UInt32?
        var stamp: MediaTime
        var arrival: MediaTime
        var clockOffset: Duration?
        var time: Double
    }

    /// A stamp may deviate so much from its number. The host marks a gap from 5 ms on (`SoundBlock.time`).
    private static let stampTolerance = 0.005
    /// A stamp after silence may deviate so much from the packet's arrival: more than any delay that is made up for.
    private static let arrivalTolerance = 0.25
    /// One arrival counts as this far from the mean at most: after a stall many of them are late.
    private static let mostDeviation = 0.05
    /// After so long without sound the drift between the machines' clocks counts, in seconds: 100 ppm of it is 0.1 ms.
    private static let longSilence = 1.0
    /// After so long without sound a stamp can't be judged unless the host's clock is known: 100 ppm of it is 6 ms.
    private static let longestSilence = 60.0

    let epoch: MediaTime
    private var last: Point?
    /// Mean of arrival minus time, in seconds.
    private var transit = 0.0

    init(epoch: MediaTime) { self.epoch = epoch }

    func seconds(_ time: MediaTime) -> Double { time.seconds(since: epoch) }

    /// Where a packet belongs that would be played next.
    func place(_ sound: ReceivedSound) -> Place {
        let arrival = seconds(sound.arrival)
        guard let last else { return Place(time: arrival, isContinuous: false) }
        let usual = arrival - transit
        let step = sound.time.seconds(since: last.stamp)
        if let number = last.number {
            let numbers = SoundWindow.distance(from: number, to: sound.number)
            // It may have arrived late by any time, but not early.
            if abs(step - Double(numbers) * SoundBuffer.packet) <= Self.stampTolerance,
                last.time + step <= usual + Self.arrivalTolerance
            {
                return Place(time: last.time + step, isContinuous: true)
            }
        }
        var time = last.time + step
        let elapsed = sound.arrival.seconds(since: last.arrival)
        if elapsed > Self.longSilence {
            if let now = sound.clockOffset, let before = last.clockOffset {
                time += now.inSeconds - before.inSeconds
            } else if elapsed > Self.longestSilence {
                time = usual
            }
        }
        return Place(time: abs(time - usual) <= Self.arrivalTolerance ? time : usual, isContinuous: false)
    }

    /// This packet is played now.
    mutating func pass(_ sound: ReceivedSound, at place: Place) {
        let deviation = seconds(sound.arrival) - place.time - transit
        transit += min(max(deviation, -Self.mostDeviation), Self.mostDeviation) / 64
        last = Point(
            number: sound.number, stamp: sound.time, arrival: sound.arrival, clockOffset: sound.clockOffset,
            time: place.time)
    }

    /// The next packet's number says nothing about its time.
    mutating func renumber() { last?.number = nil }
}

extension MediaTime {
    /// In seconds, for differences of any size.
    package func seconds(since other: MediaTime) -> Double {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return (overflow ? Double(nanoseconds) - Double(other.nanoseconds) : Double(difference)) * 1e-9
    }
}
