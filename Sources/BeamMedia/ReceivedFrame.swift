/// A frame that has arrived at a viewer, complete.
public struct ReceivedFrame: Sendable, Equatable {
    public var unit: AccessUnit
    /// The sequence number on the wire. Each simulcast layer numbers its own frames.
    public var number: UInt32
    /// When the first and the last datagram of the frame arrived, on this machine's clock.
    public var firstArrival: MediaTime
    public var lastArrival: MediaTime
    /// When the host's screen looked like this, on this machine's clock, as far as the host's clock is known. (`Reassembler`
    /// and `PlayoutBuffer` have it on the host's clock, in whole µs.) Nil for a repeated picture
    /// (`EncodedFrame.isRepeated`), until the host's clock is known, and in version 1 of the wire, which doesn't say.
    public var captureTime: MediaTime?
    /// The host's stage times, in steps of 10 µs and at most 655.35 ms each. Nil for a repeated picture, and in version
    /// 1 of the wire, which doesn't say.
    public var stages: StageTimes?
    /// The simulcast layer; 0 in version 1 of the wire, which has one.
    public var layer: Int
    /// When its session began, on this machine's clock: times and numbers of another session say nothing of this one's.
    public var session = MediaTime.zero

    public init(
        unit: AccessUnit, number: UInt32, firstArrival: MediaTime, lastArrival: MediaTime,
        captureTime: MediaTime? = nil, stages: StageTimes? = nil, layer: Int = 0
    ) {
        self.unit = unit
        self.number = number
        self.firstArrival = firstArrival
        self.lastArrival = lastArrival
        self.captureTime = captureTime
        self.stages = stages
        self.layer = layer
    }

    public var isKeyframe: Bool { unit.isKeyframe }
}
