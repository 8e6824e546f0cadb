import CAvahi

/// One connection to the Avahi daemon. It doesn't outlive the daemon: after `failed` a new one is needed.
final class AvahiClient {
    enum State: Equatable {
        /// The bus is there, the daemon isn't (yet).
        case waiting
        /// The daemon is settling its host name; nothing can be announced.
        case settling
        case running
        case failed(AvahiError)
    }

    private(set) var state = State.waiting
    private(set) var pointer: OpaquePointer?
    private let onChange: () -> Void
    private var isMade = false

    /// `onChange` is called when the state changes from what it is after this. Can take long: it asks the daemon.
    init(_ loop: AvahiLoop, onChange: @escaping () -> Void) {
        self.onChange = onChange
        var error: Int32 = 0
        pointer = avahi_client_new(
            loop.api, AVAHI_CLIENT_NO_FAIL,
            { client, state, userdata in
                guard let client, let userdata else { return }
                // The owner can't have gone: it is freed with the lock held, which this callback has.
                Unmanaged<AvahiClient>.fromOpaque(userdata).takeUnretainedValue().changed(to: state, client)
            }, Unmanaged.passUnretained(self).toOpaque(), &error)
        if pointer == nil { state = .failed(AvahiError(code: error)) }
        isMade = true
    }

    deinit {
        if let pointer { avahi_client_free(pointer) }
    }

    /// The error of the last call on this client that failed.
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
