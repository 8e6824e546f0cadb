import BeamSockets
import Glibc
import NIOCore

/// Why browsers can't be served, in words for a person.
public enum WebError: Error, CustomStringConvertible, Equatable {
    /// `file` is nil for the certificate that this machine makes.
    case certificateUnusable(file: String?, reason: String)
    case cannotBind(address: String, reason: String)
    case portsInUse(first: UInt16, last: UInt16, transport: String)
    case notAllowed(port: UInt16)

    public var description: String {
        switch self {
        case .certificateUnusable(let file?, let reason):
            "\(file) can't be used for browsers: \(reason). Give a certificate and its key as PEM files."
        case .certificateUnusable(nil, let reason): "Browsers can't be served by https: \(reason)."
        case .cannotBind(let address, let reason):
            "Can't listen for browsers on \(address): \(reason). Give an address of this machine."
        case .portsInUse(let first, let last, let transport):
            "All \(transport) ports from \(first) to \(last) are in use. Choose another port for browsers."
        case .notAllowed(let port):
            "This user may not use port \(port) for browsers. Choose one above 1023."
        }
    }

    static func binding(_ address: String, _ port: UInt16, tries: Int, _ transport: String, _ error: any Error)
        -> WebError
    {
        if let error = error as? WebError { return error }
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            return .portsInUse(
                first: port, last: UInt16(clamping: Int(port) + tries - 1), transport: transport)
        case EACCES: return .notAllowed(port: port)
        default: return .cannotBind(address: address, reason: networkReason(error))
        }
    }
}
