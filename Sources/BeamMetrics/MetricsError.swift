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
                + "Start with `--metrics \(address.with(port: 0).option)`, which takes a free port." + Self.ofTheFile
        case .notAllowed(let address):
            "This user may not use port \(address.port) for metrics. Choose one above 1023 for --metrics."
                + Self.ofTheFile
        case .notOwn(let address):
            "Metrics can't be served at \(address.host): this machine doesn't have that address. "
                + "Give --metrics a port alone, or an address of this machine." + Self.ofTheFile
        case .cannotListen(let address, let reason):
            "Metrics can't be served at \(address.text): \(reason). Choose another address for --metrics."
                + Self.ofTheFile
        }
    }

    private static let ofTheFile = " If it is set in the file of settings, `--unset metrics` serves none."
}
