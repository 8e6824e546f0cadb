import CAvahi

/// The records of one announced service. They are withdrawn when the group is freed.
final class AvahiEntryGroup {
    enum State: Equatable {
        case registering
        case established
        /// Another machine uses the name.
        case collision
        case failed(AvahiError)
    }

    /// Must outlive the group.
    private let client: AvahiClient
    private var group: OpaquePointer?
    private let onChange: (State) -> Void

    init(_ client: AvahiClient, onChange: @escaping (State) -> Void) throws(AvahiError) {
        self.client = client
        self.onChange = onChange
        guard let pointer = client.pointer else { throw .disconnected }
        group = avahi_entry_group_new(
            pointer,
            { _, state, userdata in
                guard let userdata else { return }
                // The owner is still alive: it is freed only with the lock held, which this callback holds.
                Unmanaged<AvahiEntryGroup>.fromOpaque(userdata).takeUnretainedValue().changed(to: state)
            }, Unmanaged.passUnretained(self).toOpaque())
        if group == nil { throw client.lastError }
    }

    deinit {
        if let group { avahi_entry_group_free(group) }
    }

    /// Announces a service on all interfaces. Throws `collision` if this machine already announces that name.
    ///
    /// - Parameter txt: "key=value" strings of at most 255 bytes each, in order.
    func announce(name: String, type: String, port: UInt16, txt: [String]) throws(AvahiError) {
        guard let group else { throw .badState }
        let list = Self.list(txt)
        defer { avahi_string_list_free(list) }
        let added = avahi_entry_group_add_service_strlst(
            group, AVAHI_IF_UNSPEC.rawCode, AVAHI_PROTO_UNSPEC.rawCode, AvahiPublishFlags(0), name, type, nil, nil,
            port, list)
        guard added == 0 else { throw AvahiError(code: added) }
        let committed = avahi_entry_group_commit(group)
        guard committed == 0 else { throw AvahiError(code: committed) }
    }

    /// Replaces the TXT record of the announced service.
    func update(name: String, type: String, txt: [String]) throws(AvahiError) {
        guard let group else { throw .badState }
        let list = Self.list(txt)
        defer { avahi_string_list_free(list) }
        let updated = avahi_entry_group_update_service_txt_strlst(
            group, AVAHI_IF_UNSPEC.rawCode, AVAHI_PROTO_UNSPEC.rawCode, AvahiPublishFlags(0), name, type, nil, list)
        guard updated == 0 else { throw AvahiError(code: updated) }
    }

    private static func list(_ txt: [String]) -> UnsafeMutablePointer<AvahiStringList>? {
        // avahi_string_list_add prepends.
        var list: UnsafeMutablePointer<AvahiStringList>?
        for entry in txt.reversed() { list = avahi_string_list_add(list, entry) }
        return list
    }

    /// Withdraws the records; the group can be reused.
    func reset() {
        if let group { avahi_entry_group_reset(group) }
    }

    private func changed(to state: AvahiEntryGroupState) {
        switch state {
        case AVAHI_ENTRY_GROUP_ESTABLISHED: onChange(.established)
        case AVAHI_ENTRY_GROUP_COLLISION: onChange(.collision)
        case AVAHI_ENTRY_GROUP_FAILURE: onChange(.failed(client.lastError))
        case AVAHI_ENTRY_GROUP_REGISTERING: onChange(.registering)
        default: break
        }
    }
}

/// The next name to try when `name` is taken: "Studio" → "Studio #2" → "Studio #3", at most 63 bytes.
func alternativeName(for name: String) -> String? {
    guard let alternative = avahi_alternative_service_name(name) else { return nil }
    defer { avahi_free(alternative) }
    return String(cString: alternative)
}
