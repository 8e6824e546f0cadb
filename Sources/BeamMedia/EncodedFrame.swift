/// A frame that an encoder has made, on its way to the network and to files.
///
/// It has no number: the session counts the frames that it sends (`ReceivedFrame.number`).
public struct EncodedFrame: Sendable, Equatable {
    public var unit: AccessUnit
    /// When the screen looked like this, on this machine's clock. For a repeated picture: when it was coded again, for the screen
    /// still looked like this then.
    public var captureTime: MediaTime
    /// Nil where they aren't known, as for a repeated picture.
    public var stages: StageTimes?
    /// The picture was coded before, and this is the same one again, as a keyframe or better: nothing has changed on the screen.
    public var isRepeated: Bool
    /// The simulcast layer: 0 for everybody, or 1, the reduced one, for viewers that can't have it (`StreamDemand`).
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
