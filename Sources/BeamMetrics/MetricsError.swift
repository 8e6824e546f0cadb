import BeamSockets
import Glibc
import NIOCore

/// Why metrics can't be served, in words for a person.
public enum MetricsError: Error, CustomStringConvertible, Equatable {
    case portInUse(MetricsAddress)
    case notAllowed(MetricsAddress)
    case notOwn(MetricsAddress)
    case cannotListen(MetricsAddress, reason: String)

    init(_ error: any Error, _ address: MetricsAddress) {
        self =
            switch (error as? IOError)?.errnoCode {
            case EADDRINUSE: .portInUse(address)
            case EACCES: .notAllowed(address)
            case EADDRNOTAVAIL, EAFNOSUPPORT: .notOwn(address)
            default: .cannotListen(address, reason: networkReason(error))
            }
    }

    public var description: String {
        switch self {
        case .portInUse(let address):
            "Another program uses port \(address.port), so metrics can't be served at \(address.text). "
                + "Choose another port for --metrics; 0 takes a free one."
        case .notAllowed(let address):
            "This user may not use port \(address.port) for metrics. Choose one above 1023 for --metrics."
        case .notOwn(let address):
            "Metrics can't be served at \(address.host): this machine doesn't have that address. "
                + "Give --metrics a port alone, or an address of this machine."
        case .cannotListen(let address, let reason):
            "Metrics can't be served at \(address.text): \(reason). Choose another address for --metrics."
        }
    }
}
