import BeamMetrics
import BeamNetwork

/// Where metrics are served, and who can read them.
enum MetricsText {
    /// - Parameter addresses: of this machine, the likeliest first.
    static func serving(
        _ address: MetricsAddress, _ addresses: [LocalAddress] = LocalAddresses.reachable()
    ) -> String {
        if address.isLoopback { return "Metrics: http://\(address.text)/metrics, for programs on this machine." }
        let listened = AddressText(purpose: "", command: "", bindAddress: address.host, port: address.port)
            .listened(addresses)
        // 0.0.0.0 and [::] can't be opened elsewhere.
        let host = (listened.first { !$0.isLinkLocalV6 } ?? listened.first)?.text ?? address.host
        return "Warning: Everybody who reaches this machine can read its metrics, with the viewers' names, at "
            + "http://\(Endpoint(host: host, port: address.port))/metrics."
    }
}
