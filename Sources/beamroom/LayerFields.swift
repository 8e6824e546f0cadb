import BeamHost

extension HostReport.Layer {
    /// The current state of a simulcast layer's encoder, for `stats` and `summary`. The field `lane` is the layer's number.
    func fields(number: Int) -> EventWriter.Value {
        let fields: [String: EventWriter.Value?] = [
            "layer": .integer(number), "encoder": encoder.map { .string($0) }, "bitRateLimit": .integer(bitRateLimit),
            "pathBound": .bool(isPathBound), "frameRateLimit": .rounded(frameRateLimit),
            "sentSize": .string(sentSize.description), "quantiser": quantiser.map { .integer($0) },
        ]
        return .object(fields.compactMapValues { $0 })
    }
}
