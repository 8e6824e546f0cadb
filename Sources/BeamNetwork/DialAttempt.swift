import BeamSession
import BeamSockets
import NIOCore

/// One of the connections that a `ControlDialer` tries to make to a host. Confined to its event loop.
final class DialAttempt {
    let endpoint: Endpoint
    private let began = NIODeadline.now()
    /// Those that connect or are connected: several if the host's name has several addresses.
    var channels: [any Channel] = []
    /// The one that is connected, and in version 2 its last handler.
    var channel: (any Channel)?
    var secure: SecureControl?

    init(_ endpoint: Endpoint) { self.endpoint = endpoint }

    var age: TimeAmount { NIODeadline.now() - began }

    /// TCP is established, and the host's machine has received all that was sent to it.
    var isAnswered: Bool {
        guard let progress = channel.flatMap({ TCPProgress($0) }) else { return false }
        return progress.unacknowledged == 0
    }

    func abandon() {
        secure?.discard()
        // At once: an orderly end of TLS would wait for an answer.
        for channel in channels { channel.reset() }
    }
}

extension SecureControl {
    /// What the end of a viewer's connection says about the host.
    func dialFailure(_ reason: String) -> ViewerSession.ControlFailure {
        switch certificate {
        case .failure: .refusedCertificate
        case .success: TLSFailure.isFinal(reason) ? .refusedCertificate : .network
        // A handshake that stalls because packets are lost says nothing of what the host speaks.
        case nil: stall == nil || stall == .nothingReceived ? .notSecure : .network
        }
    }
}
