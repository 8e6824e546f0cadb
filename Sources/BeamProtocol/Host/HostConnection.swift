/// One control connection at the host: what it may say, and what that means.
struct HostConnection: Sendable {
    enum State: Sendable {
        /// It hasn't been let in, and has said `lines` lines. `isAsking`: the person at the host is being asked.
        case stranger(lines: Int, isAsking: Bool)
        case paired(ViewerID, strikes: Int)
    }

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

    let address: IPAddress
    private(set) var state = State.stranger(lines: 0, isAsking: false)
    private var lines = LineBuffer()

    init(from address: IPAddress) { self.address = address }

    var isStranger: Bool {
        if case .stranger = state { true } else { false }
    }

    var isAsking: Bool {
        if case .stranger(_, true) = state { true } else { false }
    }

    var viewer: ViewerID? {
        if case .paired(let viewer, _) = state { viewer } else { nil }
    }

    mutating func asks() {
        guard case .stranger(let lines, _) = state else { return }
        state = .stranger(lines: lines, isAsking: true)
    }

    mutating func paired(_ viewer: ViewerID) { state = .paired(viewer, strikes: 0) }

    /// Cuts `bytes` into complete lines. A line that is too long makes for an action after those.
    mutating func append(_ bytes: [UInt8]) -> (lines: [ArraySlice<UInt8>], end: Action) {
        var complete: [ArraySlice<UInt8>] = []
        do {
            try lines.append(bytes) { complete.append($0) }
            return (complete, .none)
        } catch {
            return (complete, .refuse(reason: "it sent \(error)"))
        }
    }

    /// One line has come.
    mutating func line(_ line: ArraySlice<UInt8>) -> Action {
        switch state {
        case .stranger(let count, let isAsking):
            guard count < HostLimits.strangerLines else {
                return .refuse(reason: "it sent \(HostLimits.strangerLines) lines before it was let in")
            }
            state = .stranger(lines: count + 1, isAsking: isAsking)
            do {
                guard case .handshake(let handshake) = try ControlMessage(line: line), !isAsking else { return .none }
                return .introduce(handshake)
            } catch {
                return .refuse(reason: "it sent \(error)")
            }
        case .paired(let viewer, let strikes):
            do {
                switch try ControlMessage(line: line) {
                case .handshake: return .replyAgain(viewer)
                case .mediaSource(let port): return .mediaSource(viewer, port: port)
                default: return .alive(viewer)
                }
            } catch {
                guard strikes + 1 < HostLimits.strikes else {
                    return .refuse(reason: "it sent \(error), the \(HostLimits.strikes)th malformed one")
                }
                state = .paired(viewer, strikes: strikes + 1)
                return .none
            }
        }
    }
}
