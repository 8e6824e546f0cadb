import BeamMedia

/// One of the streams that leave a host: its frames' numbers, its pace, its keyframes.
///
/// Everybody gets lane 0. Lane 1 is there for those who can't have that: it has an encoder of its own, so that nobody in lane 0
/// gets less than his path carries.
struct Lane: Sendable {
    /// Lane 0, and the one for viewers that can't have it.
    static let full = 0
    static let reduced = 1
    static let count = StreamDemand.laneCount

    let number: Int
    var pacer: Pacer
    var keyframes = KeyframeSchedule()
    var tail = TailProbe()
    /// While nobody gets the lane, and somebody is about to.
    var beforeProof = FramesBeforeProof()
    /// Frames were dropped: only a keyframe makes sense now. Counts those since.
    var droppedUntilKeyframe: Int?
    /// As much as may be is on its way.
    var isBlocked = false
    /// For how long guests have kept it waiting.
    var heldByGuests = HeldTime()
    /// What the encoder was told last.
    var demand = StreamDemand()

    init(_ number: Int, _ pacing: Pacing) {
        self.number = number
        pacer = Pacer(pacing, firstNumber: SequenceNumber(0))
    }
}
