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

    /// TCP's handshake wasn't answered in time.
    static let noAnswer = "no answer"

    init(binding address: String, port: Int, _ error: any Error) {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: self = .portInUse(port: port, address: address)
        case EACCES: self = .notAllowed(port: port)
        default: self = .cannotBind(address: address, port: port, reason: networkReason(error))
        }
    }
}

/// The resolver doesn't know it.
private func unknownName(_ name: String) -> String { "no machine is known by the name “\(name)” here" }

/// The reason of a network error, in the system's words.
func networkReason(_ error: any Error) -> String {
    if let error = error as? IOError {
        switch error.errnoCode {
        case ECONNREFUSED: return "nobody shares there (connection refused)"
        case EHOSTUNREACH: return "no machine answers at that address"
        case ENETUNREACH: return "this machine has no way to that network"
        default: return String(cString: strerror(error.errnoCode))
        }
    }
    if let error = error as? NIOConnectionError {
        if let failure = error.connectionErrors.first { return networkReason(failure.error) }
        return unknownName(error.host)
    }
    if let error = error as? ChannelError {
        switch error {
        case .connectTimeout: return NetworkError.noAnswer
        case .eof, .inputClosed, .outputClosed, .ioOnClosedChannel, .alreadyClosed: return "the connection has ended"
        default: break
        }
    }
    // A numeric address that can't be read, or a name that can't be resolved. NIO's values have no words for people.
    if let error = error as? SocketAddressError, case .unknown(let host, _) = error {
        return unknownName(host)
    }
    if error is SocketAddressError || error is SocketAddressError.FailedToParseIPByteBuffer {
        return "this isn't an address"
    }
    if let error = error as? SocketAddressError.UnknownHost { return unknownName(error.host) }
    return "an unexpected error of the network (\(error))"
}
