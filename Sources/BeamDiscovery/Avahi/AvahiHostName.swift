import CAvahi

/// Resolves a host name by multicast DNS to one address of a protocol, and reports changes.
final class AvahiHostNameResolver {
    /// Must outlive the resolver.
    private let client: AvahiClient
    private var resolver: OpaquePointer?
    private let onResult: (Resolution?) -> Void

    /// Nil if the daemon refuses; `client.lastError` says why.
    ///
    /// - Parameters:
    ///   - isV6: the kind of address.
    ///   - onResult: gets nil if nobody answers for the name.
    init?(_ client: AvahiClient, _ name: String, isV6: Bool, onResult: @escaping (Resolution?) -> Void) {
        self.client = client
        self.onResult = onResult
        guard let pointer = client.pointer else { return nil }
        resolver = avahi_host_name_resolver_new(
            pointer, AVAHI_IF_UNSPEC.rawCode, AVAHI_PROTO_UNSPEC.rawCode, name,
            (isV6 ? AVAHI_PROTO_INET6 : AVAHI_PROTO_INET).rawCode, AvahiLookupFlags(0),
            { _, interface, _, event, name, address, flags, userdata in
                guard let userdata else { return }
                // The owner is still alive: it is freed only with the lock held, which this callback holds.
                let owner = Unmanaged<AvahiHostNameResolver>.fromOpaque(userdata).takeUnretainedValue()
                guard event == AVAHI_RESOLVER_FOUND, let name, let address else { return owner.onResult(nil) }
                owner.onResult(
                    Resolution(
                        interface: interface, hostName: String(cString: name), address: address, port: 0, txt: [],
                        isLocal: flags.rawValue & AVAHI_LOOKUP_RESULT_LOCAL.rawValue != 0))
            }, Unmanaged.passUnretained(self).toOpaque())
        if resolver == nil { return nil }
    }

    deinit {
        if let resolver { avahi_host_name_resolver_free(resolver) }
    }
}
