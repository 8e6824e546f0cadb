import CAvahi

/// A connection to the Avahi daemon. After `failed` it is unusable, and a new one is needed.
final class AvahiClient {
    enum State: Equatable {
        /// D-Bus is available, but the daemon isn't running (yet).
        case waiting
        /// The daemon is registering its host name; nothing can be announced.
        case settling
        case running
        case failed(AvahiError)
    }

    private(set) var state = State.waiting
    private(set) var pointer: OpaquePointer?
    private let onChange: () -> Void
    private var isMade = false

    /// Queries the daemon, which may take long.
    ///
    /// - Parameter onChange: called after each later change of the state.
    init(_ loop: AvahiLoop, onChange: @escaping () -> Void) {
        self.onChange = onChange
        var error: Int32 = 0
        pointer = avahi_client_new(
            loop.api, AVAHI_CLIENT_NO_FAIL,
            { client, state, userdata in
                guard let client, let userdata else { return }
                // The owner is still alive: it is freed only with the lock held, which this callback holds.
                Unmanaged<AvahiClient>.fromOpaque(userdata).takeUnretainedValue().changed(to: state, client)
            }, Unmanaged.passUnretained(self).toOpaque(), &error)
        if pointer == nil { state = .failed(AvahiError(code: error)) }
        isMade = true
    }

    deinit {
        if let pointer { avahi_client_free(pointer) }
    }

    /// The error of the client's last failed call.
    var lastError: AvahiError { pointer.map { AvahiError(code: avahi_client_errno($0)) } ?? .disconnected }

    private func changed(to state: AvahiClientState, _ client: OpaquePointer) {
        self.state =
            switch state {
            case AVAHI_CLIENT_S_RUNNING: .running
            case AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION: .settling
            case AVAHI_CLIENT_FAILURE: .failed(AvahiError(code: avahi_client_errno(client)))
            default: .waiting
            }
        if isMade { onChange() }
    }
}
