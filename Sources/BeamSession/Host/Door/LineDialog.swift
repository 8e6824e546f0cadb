import BeamWire

/// Parses the lines of a version 1 connection and says what each one asks for.
struct LineDialog: Sendable {
    enum Action: Equatable, Sendable {
        case none
        /// A viewer asks to be admitted.
        case introduce(ControlMessage.Handshake)
        /// An admitted viewer repeats its handshake.
        case replyAgain(ViewerID)
        /// An admitted viewer announces the port of its media socket.
        case mediaSource(ViewerID, port: UInt16)
        /// Any other valid line: the viewer is alive.
        case alive(ViewerID)
        /// The connection has to be closed.
        case refuse(reason: String)
    }

    private var buffer = LineBuffer()
    /// Lines received before the viewer was admitted.
    private var lines = 0
    /// Malformed lines received after the viewer was admitted.
    private var malformedLines = 0

    /// Cuts `bytes` into complete lines. `end` is what to do after those lines: `.refuse` if a line is too long.
    mutating func append(_ bytes: [UInt8]) -> (lines: [ArraySlice<UInt8>], end: Action) {
        var complete: [ArraySlice<UInt8>] = []
        do {
            try buffer.append(bytes) { complete.append($0) }
            return (complete, .none)
        } catch {
            return (complete, .refuse(reason: "it sent \(error)"))
        }
    }

    /// Handles one line. `viewer` is nil before admission; `isAsking`: the person at the host is being asked about the
    /// viewer.
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
                return .refuse(reason: "it sent \(HostLimits.malformedLines) malformed lines; the last was \(error)")
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
