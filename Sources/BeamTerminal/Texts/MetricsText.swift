import BeamMetrics

/// Where metrics are served, and who can read them.
enum MetricsText {
    static func serving(_ address: MetricsAddress) -> String {
        let place = "http://\(address.text)/metrics"
        return address.isLoopback
            ? "Metrics: \(place), for programs on this machine."
            : "Warning: Everybody who reaches this machine can read its metrics, with the viewers' names, at \(place)."
    }
}
