/// What a version 1 connection may say, and what that means.
struct LineDialog: Sendable {
    enum Action: Equatable, Sendable {
        case none
        /// A viewer asks to be let in.
        case introduce(ControlMessage.Handshake)
        /// A paired viewer introduces itself once more.
        case replyAgain(ViewerID)
        /// A paired viewer has named the port of its media socket.
        case mediaSource(ViewerID, port: UInt16)
        /// A sign of life, nothing else.
        case alive(ViewerID)
        /// The connection has to be closed.
        case refuse(reason: String)
    }

    private var buffer = LineBuffer()
    /// Lines before it was let in.
    private var lines = 0
    /// Malformed lines after that.
    private var malformedLines = 0

    /// Cuts `bytes` into complete lines. A line that is too long makes for an action after those.
    mutating func append(_ bytes: [UInt8]) -> (lines: [ArraySlice<UInt8>], end: Action) {
        var complete: [ArraySlice<UInt8>] = []
        do {
            try buffer.append(bytes) { complete.append($0) }
            return (complete, .none)
        } catch {
            return (complete, .refuse(reason: "it sent \(error)"))
        }
    }

    /// One line has come: from `viewer`, or from a stranger, about whom the person may be being asked.
    mutating func line(_ line: ArraySlice<UInt8>, from viewer: ViewerID?, isAsking: Bool) -> Action {
        guard let viewer else { return unadmittedLine(line, isAsking: isAsking) }
        do {
            switch try ControlMessage(line: line) {
            case .handshake: return .replyAgain(viewer)
            case .mediaSource(let port): return .mediaSource(viewer, port: port)
            default: return .alive(viewer)
            }
        } catch {
            malformedLines += 1
            guard malformedLines < HostLimits.malformedLines else {
                return .refuse(reason: "it sent \(error), the \(HostLimits.malformedLines)th malformed one")
            }
            return .none
        }
    }

    private mutating func unadmittedLine(_ line: ArraySlice<UInt8>, isAsking: Bool) -> Action {
        guard lines < HostLimits.messagesBeforeAdmission else {
            return .refuse(reason: "it sent \(HostLimits.messagesBeforeAdmission) lines before it was let in")
        }
        lines += 1
        do {
            guard case .handshake(let handshake) = try ControlMessage(line: line), !isAsking else { return .none }
            return .introduce(handshake)
        } catch {
            return .refuse(reason: "it sent \(error)")
        }
    }
}
