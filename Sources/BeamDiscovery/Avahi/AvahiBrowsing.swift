import CAvahi

/// Where an instance of a service is seen: each interface and protocol sees it on its own.
struct Sight: Hashable {
    /// The system's number of the interface.
    var interface: Int32
    /// `AVAHI_PROTO_INET` or `AVAHI_PROTO_INET6`: how the announcement travels.
    var proto: Int32
    /// As announced: up to 63 bytes of anything.
    var name: String
    var domain: String
}

/// Watches for services of one type on all interfaces.
final class AvahiBrowser {
    enum Event {
        case appeared(Sight)
        case disappeared(Sight)
        /// All that is there by now has appeared.
        case complete
        case failed(AvahiError)
    }

    /// Outlives the browser.
    private let client: AvahiClient
    private var browser: OpaquePointer?
    private let onEvent: (Event) -> Void

    /// Nil when the daemon refuses; the client knows why.
    init?(_ client: AvahiClient, type: String, onEvent: @escaping (Event) -> Void) {
        self.client = client
        self.onEvent = onEvent
        guard let pointer = client.pointer else { return nil }
        browser = avahi_service_browser_new(
            pointer, AVAHI_IF_UNSPEC.rawCode, AVAHI_PROTO_UNSPEC.rawCode, type, nil, AvahiLookupFlags(0),
            { _, interface, proto, event, name, _, domain, _, userdata in
                guard let userdata else { return }
                // The owner can't have gone: it is freed with the lock held, which this callback has.
                let owner = Unmanaged<AvahiBrowser>.fromOpaque(userdata).takeUnretainedValue()
                let sight = name.flatMap { name in
                    domain.map { domain in
                        Sight(
                            interface: interface, proto: proto, name: String(cString: name),
                            domain: String(cString: domain))
                    }
                }
                owner.happened(event, sight)
            }, Unmanaged.passUnretained(self).toOpaque())
        if browser == nil { return nil }
    }

    deinit {
        if let browser { avahi_service_browser_free(browser) }
    }

    private func happened(_ event: AvahiBrowserEvent, _ sight: Sight?) {
        switch (event, sight) {
        case (AVAHI_BROWSER_NEW, let sight?): onEvent(.appeared(sight))
        case (AVAHI_BROWSER_REMOVE, let sight?): onEvent(.disappeared(sight))
        case (AVAHI_BROWSER_ALL_FOR_NOW, _): onEvent(.complete)
        case (AVAHI_BROWSER_FAILURE, _): onEvent(.failed(client.lastError))
        default: break
        }
    }
}

/// Follows what stands behind one sight of a service: host, address, port and TXT record, as they change.
final class AvahiResolver {
    /// Outlives the resolver.
    private let client: AvahiClient
    private var resolver: OpaquePointer?
    private let onResult: (Resolution?) -> Void

    /// `onResult` gets nil when nobody answers for the service. Nil when the daemon refuses; the client knows why.
    init?(_ client: AvahiClient, _ sight: Sight, type: String, onResult: @escaping (Resolution?) -> Void) {
        self.client = client
        self.onResult = onResult
        guard let pointer = client.pointer else { return nil }
        resolver = avahi_service_resolver_new(
            pointer, sight.interface, sight.proto, sight.name, type, sight.domain, sight.proto, AvahiLookupFlags(0),
            { _, interface, _, event, _, _, _, hostName, address, port, txt, flags, userdata in
                guard let userdata else { return }
                // The owner can't have gone: it is freed with the lock held, which this callback has.
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

/// The strings of a TXT record, in order, of which a record can't have more than fits into a datagram.
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
