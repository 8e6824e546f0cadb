import BeamMedia

extension ParameterSets {
    /// Whether the stream is High 4:4:4 Predictive (`profile_idc` 244, H.264 clause A.2.7), which devices don't decode.
    var isFullColour: Bool { sps.contains { $0.count > 1 && $0[1] == 244 } }
}
