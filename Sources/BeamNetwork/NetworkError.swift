import BeamSockets
import Glibc
import NIOCore
import NIOPosix

/// Why a host can't listen, in words for a person.
public enum NetworkError: Error, CustomStringConvertible, Equatable {
    case portInUse(port: Int, address: String)
    case cannotBind(address: String, port: Int, reason: String)
    case notAllowed(port: Int)
    case tooFewDescriptors(free: Int, needed: Int)

    public var description: String {
        switch self {
        case .portInUse(let port, let address):
            // Looked up here, because few of these errors are shown, and it takes a moment.
            PortHolder.find(port: port).words(
                port: port, place: ["::", "0.0.0.0"].contains(address) ? "" : " on \(address)")
        case .cannotBind(let address, let port, let reason):
            "Can't listen on \(address), port \(port): \(reason). Give an address of this machine with --bind, or leave --bind out."
        case .notAllowed(let port):
            "This user may not listen on port \(port). Choose one above 1023 with --port."
        case .tooFewDescriptors(let free, let needed):
            "This program needs to open \(needed) files, but the system allows it only \(free) more. Raise the limit (`ulimit -n 1024`) and start again."
        }
    }

    init(binding address: String, port: Int, _ error: any Error) {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: self = .portInUse(port: port, address: address)
        case EACCES: self = .notAllowed(port: port)
        default: self = .cannotBind(address: address, port: port, reason: networkReason(error))
        }
    }
}
