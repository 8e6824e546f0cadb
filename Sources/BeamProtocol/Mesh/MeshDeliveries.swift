/// Which members have yet to get which of this device's messages.
struct MeshDeliveries: Sendable {
    private struct Open: Sendable {
        var number: UInt32
        var id: String
        /// The recipients, and the run of each: another run's program isn't the one that it was written for.
        var waiting: [DeviceKey: UInt64]
        var count = 0
        var hasLost = false
    }

    enum Result: Sendable, Equatable {
        case delivered(id: String, count: Int)
        case undelivered(id: String, LogFailure)
    }

    private var open: [Open] = []

    mutating func add(_ id: String, _ number: UInt32, waiting: [DeviceKey: UInt64]) -> [Result] {
        guard !waiting.isEmpty else { return [.undelivered(id: id, .nobody)] }
        open.append(Open(number: number, id: id, waiting: waiting))
        guard open.count > LogLimits.openMessages else { return [] }
        return [result(open.removeFirst())]
    }

    /// The member's program of that run has everything up to `number`.
    mutating func confirmed(upTo number: UInt32, by device: DeviceKey, run: UInt64) -> [Result] {
        update {
            guard let expected = $0.waiting[device] else { return }
            if expected != run {
                $0.waiting[device] = nil
                $0.hasLost = true
            } else if $0.number <= number {
                $0.waiting[device] = nil
                $0.count += 1
            }
        }
    }

    mutating func left(_ device: DeviceKey) -> [Result] {
        update { if $0.waiting.removeValue(forKey: device) != nil { $0.hasLost = true } }
    }

    private mutating func update(_ change: (inout Open) -> Void) -> [Result] {
        for index in open.indices { change(&open[index]) }
        let done = open.filter(\.waiting.isEmpty)
        if !done.isEmpty { open.removeAll(where: \.waiting.isEmpty) }
        return done.map(result)
    }

    private func result(_ message: Open) -> Result {
        if message.count > 0 { return .delivered(id: message.id, count: message.count) }
        return .undelivered(id: message.id, message.hasLost || !message.waiting.isEmpty ? .left : .nobody)
    }
}
