/// H.264 sequence and picture parameter sets: NAL units without start code or length.
public struct ParameterSets: Sendable, Equatable {
    public var sps: [[UInt8]]
    public var pps: [[UInt8]]

    public init(sps: [[UInt8]], pps: [[UInt8]]) {
        self.sps = sps
        self.pps = pps
    }
}
