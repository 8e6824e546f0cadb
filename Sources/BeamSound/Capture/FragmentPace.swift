import BeamMedia

/// Predicts when the fragments of a stream come that is recorded, so that its reader can sleep until they make a block.
///
/// They come evenly, but when they came is known only if the reader has waited for them. If they were there when it woke up,
/// it wakes up a little sooner the next time, and so on, until it has to wait again.
struct FragmentPace {
    /// How much later than predicted the reader wakes up.
    private static let margin = Duration.microseconds(150)
    private static let creep = Duration.microseconds(10)
    /// Fragments that came later than predicted move the prediction by this at most: one that was late alone says nothing.
    private static let mostStep = Duration.microseconds(100)

    /// When the last fragment came.
    private var last: MediaTime?
    /// Its length in samples.
    private var length = 1

    /// When samples that are needed will be there, if nothing holds them up; nil if that isn't known.
    ///
    /// - Parameter needed: how many, beyond those that have come.
    func time(ofNext needed: Int) -> MediaTime? {
        let fragments = (max(1, needed) + length - 1) / length
        return last.map { $0 + SoundBlock.time(ofSamples: fragments * length) + Self.margin }
    }

    /// Fragments have come.
    ///
    /// - Parameters:
    ///   - samples: how many in all.
    ///   - length: those of the last one.
    ///   - hasWaited: the reader has waited for the last one, and `now` is when it came. Otherwise it slept.
    mutating func came(samples: Int, length: Int, hasWaited: Bool, now: MediaTime) {
        self.length = max(1, length)
        guard let last, case let predicted = last + SoundBlock.time(ofSamples: samples),
            now - predicted < SoundBlock.duration, predicted - now < SoundBlock.duration
        else {
            self.last = now
            return
        }
        if hasWaited {
            self.last = min(now, predicted + Self.mostStep)
        } else {
            self.last = min(now, predicted - Self.creep)
        }
    }
}
