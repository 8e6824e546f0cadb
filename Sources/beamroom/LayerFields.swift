import BeamHost

extension HostReport.Layer {
    /// What the layer's encoder does at the moment, for `stats` and `summary`.
    func fields(number: Int) -> EventWriter.Value {
        let fields: [String: EventWriter.Value?] = [
            "lane": .integer(number), "encoder": encoder.map { .string($0) }, "bitRateLimit": .integer(bitRateLimit),
            "pathBound": .bool(isPathBound), "frameRateLimit": .milliseconds(frameRateLimit),
            "sentSize": .string(sentSize.description), "quantiser": quantiser.map { .integer($0) },
        ]
        return .object(fields.compactMapValues { $0 })
    }
}
