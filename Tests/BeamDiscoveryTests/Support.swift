import BeamDiscovery

typealias PublisherLog = EventLog<PublisherEvent>
typealias BrowserLog = EventLog<BrowserEvent>

extension EventLog<PublisherEvent> {
    func publish(_ name: String, port: UInt16 = 52345, type: String = ServiceType.control) -> ServicePublisher {
        ServicePublisher(
            name: name, type: type, port: port, txt: [(key: "deviceName", value: name), (key: "beam", value: "1")]
        ) { [self] event in add(event) }
    }

    func waitForUnavailable(skipping: Int = 0) throws -> String {
        guard
            case .unavailable(let reason) = try wait(
                "unavailable", skipping: skipping,
                {
                    if case .unavailable = $0 { true } else { false }
                })
        else { return "" }
        return reason
    }
}

extension EventLog<BrowserEvent> {
    func browse() -> ServiceBrowser { ServiceBrowser(type: ServiceType.control) { [self] event in add(event) } }

    func waitForHost(
        _ name: String, skipping: Int = 0, _ fits: (DiscoveredHost) -> Bool = { _ in true }
    ) throws -> DiscoveredHost? {
        let event = try wait("host “\(name)”", skipping: skipping) {
            if case .found(let host) = $0 { host.name == name && fits(host) } else { false }
        }
        guard case .found(let host) = event else { return nil }
        return host
    }

    func waitForUnavailable() throws {
        _ = try wait("unavailable") { if case .unavailable = $0 { true } else { false } }
    }

    var lost: [String] { all.compactMap { if case .lost(let name) = $0 { name } else { nil } } }
}
