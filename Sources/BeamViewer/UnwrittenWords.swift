import BeamLog

/// What was written to the room before there was a connection that could take it.
struct UnwrittenWords: Sendable {
    private static let mostInputs = 1000
    private static let mostBytes = 8 << 20

    private var inputs: [LogInput] = []
    private var bytes = 0

    /// False: there is too much already.
    mutating func add(_ input: LogInput) -> Bool {
        let size = Self.size(input)
        guard inputs.count < Self.mostInputs, bytes + size <= Self.mostBytes else { return false }
        inputs.append(input)
        bytes += size
        return true
    }

    mutating func takeAll() -> [LogInput] {
        defer { self = UnwrittenWords() }
        return inputs
    }

    private static func size(_ input: LogInput) -> Int {
        switch input {
        case .message(_, let json, _): json.count
        case .note(let text), .caption(let text, _), .partial(let text, _): text.utf8.count
        case .alert: 0
        }
    }
}
