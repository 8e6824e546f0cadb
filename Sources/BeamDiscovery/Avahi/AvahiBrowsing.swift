import CAvahi

/// A service instance as seen on one interface and protocol. Avahi reports each combination separately.
struct Sighting: Hashable {
    /// The interface's index.
    var interface: Int32
    /// `AVAHI_PROTO_INET` or `AVAHI_PROTO_INET6`: the protocol of the announcement.
    var proto: Int32
    /// As announced: up to 63 arbitrary bytes.
    var name: String
    var domain: String
}

/// Browses for services of one type on all interfaces.
final class AvahiBrowser {
    enum Event {
        case appeared(Sighting)
        case disappeared(Sighting)
        /// All instances known at this time have been reported.
        case complete
        case failed(AvahiError)
    }

    /// Must outlive the browser.
    private let client: AvahiClient
    private var browser: OpaquePointer?
    private let onEvent: (Event) -> Void

    /// Nil if the daemon refuses; `client.lastError` says why.
    init?(_ client: AvahiClient, type: String, onEvent: @escaping (Event) -> Void) {
        self.client = client
        self.onEvent = onEvent
        guard let pointer = client.pointer else { return nil }
        browser = avahi_service_browser_new(
            pointer, AVAHI_IF_UNSPEC.rawCode, AVAHI_PROTO_UNSPEC.rawCode, type, nil, AvahiLookupFlags(0),
            { _, interface, proto, event, name, _, domain, _, userdata in
                guard let userdata else { return }
                // The owner is still alive: it is freed only with the lock held, which this callback holds.
                let owner = Unmanaged<AvahiBrowser>.fromOpaque(userdata).takeUnretainedValue()
                let sighting = name.flatMap { name in
                    domain.map { domain in
                        Sighting(
                            interface: interface, proto: proto, name: String(cString: name),
                            domain: String(cString: domain))
                    }
                }
                owner.happened(event, sighting)
            }, Unmanaged.passUnretained(self).toOpaque())
        if browser == nil { return nil }
    }

    deinit {
        if let browser { avahi_service_browser_free(browser) }
    }

    private func happened(_ event: AvahiBrowserEvent, _ sighting: Sighting?) {
        switch (event, sighting) {
        case (AVAHI_BROWSER_NEW, let sighting?): onEvent(.appeared(sighting))
        case (AVAHI_BROWSER_REMOVE, let sighting?): onEvent(.disappeared(sighting))
        case (AVAHI_BROWSER_ALL_FOR_NOW, _): onEvent(.complete)
        case (AVAHI_BROWSER_FAILURE, _): onEvent(.failed(client.lastError))
        default: break
        }
    }
}

/// Resolves one sighting of a service to host, address, port and TXT record, and reports changes.
final class AvahiResolver {
    /// Must outlive the resolver.
    private let client: AvahiClient
    private var resolver: OpaquePointer?
    private let onResult: (Resolution?) -> Void

    /// Nil if the daemon refuses; `client.lastError` says why.
    ///
    /// - Parameter onResult: gets nil if nobody answers for the service.
    init?(_ client: AvahiClient, _ sighting: Sighting, type: String, onResult: @escaping (Resolution?) -> Void) {
        self.client = client
        self.onResult = onResult
        guard let pointer = client.pointer else { return nil }
        resolver = avahi_service_resolver_new(
            pointer, sighting.interface, sighting.proto, sighting.name, type, sighting.domain, sighting.proto,
            AvahiLookupFlags(0),
            { _, interface, _, event, _, _, _, hostName, address, port, txt, flags, userdata in
                guard let userdata else { return }
                // The owner is still alive: it is freed only with the lock held, which this callback holds.
                let owner = Unmanaged<AvahiResolver>.fromOpaque(userdata).takeUnretainedValue()
                guard event == AVAHI_RESOLVER_FOUND, let hostName, let address else { return owner.onResult(nil) }
                owner.onResult(
                    Resolution(
                        interface: interface, hostName: String(cString: hostName), address: address, port: port,
                        txt: txtEntries(txt), isLocal: flags.rawValue & AVAHI_LOOKUP_RESULT_LOCAL.rawValue != 0))
            }, Unmanaged.passUnretained(self).toOpaque())
        if resolver == nil { return nil }
    }

    deinit {
        if let resolver { avahi_service_resolver_free(resolver) }
    }
}

/// The strings of a TXT record in order. The record's size is bounded by the datagram it came in.
private func txtEntries(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [[UInt8]] {
    var entries: [[UInt8]] = []
    var next = list
    while let entry = next {
        entries.append(
            Array(
                UnsafeBufferPointer(start: avahi_string_list_get_text(entry), count: avahi_string_list_get_size(entry)))
        )
        next = avahi_string_list_get_next(entry)
    }
    return entries
}
