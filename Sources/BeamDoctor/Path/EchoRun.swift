import BeamClock
import BeamMedia
import BeamWire

/// An echo that was to be sent, and what has become of it.
struct Echo: Equatable {
    /// Of the IP packet, in bytes.
    var size: Int
    /// Nil: it couldn't be sent.
    var sent: MediaTime?
    /// Nil: it hasn't come back.
    var arrived: MediaTime?
    /// It is larger than the interface carries.
    var isTooLong = false

    var roundTrip: Duration? {
        guard let sent, let arrived else { return nil }
        return max(.zero, arrived - sent)
    }
}

/// Sends echoes by a plan and takes their replies.
final class EchoRunner {
    /// An echo of `size` bytes, IP's header included, is sent so long after the beginning.
    struct Planned {
        var after: Duration
        var size: Int
    }

    private let socket: EchoSocket
    /// Nothing is sent or waited for any more.
    private let end: MediaTime
    private let isWanted: () -> Bool
    private var nextSequence: UInt16 = 0
    private var bytesSent = 0

    /// All that may be sent, in bytes: a plan that would need more isn't begun. The plans that there are take 1 MB.
    private static let mostBytes = 8 << 20
    /// Replies that are taken before the clock is read again.
    private static let mostReplies = 1024
    /// How long nothing is looked at but the socket.
    private static let turn = Duration.milliseconds(100)

    init(_ socket: EchoSocket, end: MediaTime, while isWanted: @escaping () -> Bool) {
        self.socket = socket
        self.end = end
        self.isWanted = isWanted
    }

    /// Nothing more is sent.
    var isOver: Bool { .now >= end }

    /// - Parameters:
    ///   - plan: at most 1000 echoes, the first to be sent first.
    ///   - patience: how long the last one may take to come back. Later ones are lost.
    ///   - quiet: after so long without a reply, the rest is lost, too; nil: as long as the patience.
    func run(_ plan: [Planned], patience: Duration, quiet: Duration? = nil) -> [Echo] {
        var echoes = plan.map { Echo(size: max($0.size, EchoFormat.leastLength + socket.format.ipHeaderSize)) }
        guard plan.count <= 1000, bytesSent + echoes.reduce(0, { $0 + $1.size }) <= Self.mostBytes else {
            return echoes
        }
        let first = nextSequence
        nextSequence &+= UInt16(truncatingIfNeeded: plan.count)
        // Made before, so that a train leaves as fast as the system takes it.
        let requests = echoes.enumerated().map { index, echo in
            socket.format.request(
                first &+ UInt16(truncatingIfNeeded: index), length: echo.size - socket.format.ipHeaderSize)
        }
        let begun = MediaTime.now
        let over = min(end, begun + (plan.last?.after ?? .zero) + patience)
        var (sent, answered, due) = (0, 0, 0)
        // Of the last echo that was sent or has come back.
        var newest = begun
        func limit() -> MediaTime { due < plan.count ? over : min(over, newest + (quiet ?? patience)) }
        while true {
            // Before the replies are taken: what has arrived in time counts, however late this thread runs.
            let isOver = MediaTime.now >= limit() || !isWanted()
            while !isOver, due < plan.count, begun + plan[due].after <= .now {
                send(requests[due], &echoes[due])
                if let time = echoes[due].sent { (sent, newest) = (sent + 1, time) }
                due += 1
            }
            // Bounded: a machine may send replies without end.
            for _ in 0..<Self.mostReplies {
                guard let (reply, time) = socket.receive() else { break }
                let index = Int(reply.sequence &- first)
                // A reply to an earlier run, to nothing, a second one, or one of another length than was sent.
                guard index < due, echoes[index].sent != nil, echoes[index].arrived == nil,
                    reply.length + socket.format.ipHeaderSize == echoes[index].size
                else { continue }
                echoes[index].arrived = time
                answered += 1
                newest = max(newest, time)
            }
            if isOver || due == plan.count && answered == sent { break }
            let next = due < plan.count ? begun + plan[due].after : limit()
            socket.wait(until: min(next, .now + Self.turn))
        }
        return echoes
    }

    private func send(_ request: [UInt8], _ echo: inout Echo) {
        bytesSent += echo.size
        let time = MediaTime.now
        switch socket.send(request) {
        case .sent: echo.sent = time
        case .tooLong: echo.isTooLong = true
        case .full, .failed: break
        }
    }
}
