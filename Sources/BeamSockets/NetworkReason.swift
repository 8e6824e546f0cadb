import Glibc
import NIOCore
import NIOPosix

/// Reasons that more than one place knows.
package enum NetworkReason {
    /// TCP's handshake wasn't answered in time.
    package static let noAnswer = "no answer"
}

/// The resolver doesn't know it.
private func unknownName(_ name: String) -> String { "no machine is known by the name “\(name)” here" }

/// The reason of a network error, in the system's words.
package func networkReason(_ error: any Error) -> String {
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
        case .connectTimeout: return NetworkReason.noAnswer
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
