/// An encoder's frame, on its way to the sinks.
///
/// It has no number: the session counts the frames that it sends (`ReceivedFrame.number`).
public struct EncodedFrame: Sendable, Equatable {
    public var unit: AccessUnit
    /// When the screen looked like this, on this machine's clock. For a repeated picture: when it was coded again, as the
    /// screen still looked the same.
    public var captureTime: MediaTime
    /// Nil if unknown, as for a repeated picture.
    public var stages: StageTimes?
    /// What it shows was sent before: the same picture, of which this is a keyframe or a refinement; or its changes, exactly
    /// (`ExactPatch`), to all who get it.
    public var isRepeated: Bool
    /// The simulcast layer: 0 for everybody, or 1, reduced, for viewers that can't have layer 0 (`StreamDemand`).
    public var layer: Int

    public init(
        unit: AccessUnit, captureTime: MediaTime, stages: StageTimes? = nil, isRepeated: Bool = false, layer: Int = 0
    ) {
        self.unit = unit
        self.captureTime = captureTime
        self.stages = stages
        self.isRepeated = isRepeated
        self.layer = layer
    }

    public var isKeyframe: Bool { unit.isKeyframe }
}
