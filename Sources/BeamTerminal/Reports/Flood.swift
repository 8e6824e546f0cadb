import BeamClock
import BeamMedia
import BeamWire
import Synchronization

/// What others can cause as often as they like, so that not all of it is reported.
public enum Flood: Hashable, Sendable, CaseIterable {
    // Anybody on the network can cause these. The first few are reported one by one, and all are summed up.
    /// A connection was closed before its viewer had said who it is.
    case connectionRefused
    case viewerRefused
    case wrongCode
    /// A question was put to the person.
    case question
    /// A viewer was let in, got its picture, or left.
    case visit

    // Of these the first few are said. The rest isn't.
    case interruption, layer, drop, load, visibility, captions, sound, code, size, status, warning
    case note, alert, slowing, version
    case people, violation, refusal, relay, windowCode, gateway
    /// A notice on the desktop.
    case notice

    /// Most lines for the person in a period.
    var most: Int {
        switch self {
        case .wrongCode: 5
        case .visit: 60
        default: 10
        }
    }

    /// The same from one address, so that one busy address leaves room for others.
    var mostPerAddress: Int {
        switch self {
        case .connectionRefused, .viewerRefused: 3
        default: most
        }
    }

    /// Most JSON events in a period; nil: all are written.
    var mostEvents: Int? {
        switch self {
        case .connectionRefused, .viewerRefused, .wrongCode, .question: 20
        case .visit: 200
        default: nil
        }
    }
}

/// Counts floods in periods, each of which begins with the first occurrence.
///
/// The time is passed in. `mostAddresses` bounds the memory of each kind.
struct FloodCounts: Sendable {
    static let period = Duration.seconds(10)
    static let mostAddresses = 1024

    /// Where an occurrence is reported.
    struct Verdict: Equatable {
        var toPerson: Bool
        /// As a JSON event.
        var toProgram: Bool
    }

    /// The sum of a period in which not all occurrences were reported.
    struct Summary: Equatable {
        var flood: Flood
        /// All of them, including those that were reported one by one.
        var count: Int
        /// Number of different addresses, at most `mostAddresses`.
        var addresses: Int
        var isForPerson: Bool
        var isForProgram: Bool
    }

    private struct Count {
        var start: MediaTime
        var total = 0
        var addresses: [IPAddress: Int] = [:]
        /// Reported one by one, to the person and as JSON events.
        var told = 0
        var written = 0
    }

    private var counts: [Flood: Count] = [:]

    /// Counts an occurrence. `takeSummaries` comes first, so that it isn't counted in a period that is over.
    mutating func note(_ flood: Flood, from address: IPAddress? = nil, now: MediaTime) -> Verdict {
        var count = counts[flood] ?? Count(start: now)
        if flood.mostEvents == nil, now - count.start >= Self.period { count = Count(start: now) }
        defer { counts[flood] = count }
        count.total += 1
        var fromAddress = 1
        if let address {
            fromAddress += count.addresses[address] ?? 0
            if fromAddress > 1 || count.addresses.count < Self.mostAddresses { count.addresses[address] = fromAddress }
        }
        let verdict = Verdict(
            toPerson: count.told < flood.most && fromAddress <= flood.mostPerAddress,
            toProgram: flood.mostEvents.map { count.written < $0 } ?? true)
        if verdict.toPerson { count.told += 1 }
        if verdict.toProgram { count.written += 1 }
        return verdict
    }

    /// The sums of the periods that are over, of what is summed up.
    mutating func takeSummaries(now: MediaTime) -> [Summary] {
        Flood.allCases.compactMap { flood in
            guard flood.mostEvents != nil, let count = counts[flood], now - count.start >= Self.period else {
                return nil
            }
            counts[flood] = nil
            let summary = Summary(
                flood: flood, count: count.total, addresses: count.addresses.count,
                isForPerson: count.total > count.told, isForProgram: count.total > count.written)
            return summary.isForPerson || summary.isForProgram ? summary : nil
        }
    }
}

/// The counts of a program, or of what it does with one of several hosts.
public final class FloodLimiter: Sendable {
    private let counts = Mutex(FloodCounts())

    /// Whether a line about it may be said now; counts it.
    public func allows(_ flood: Flood) -> Bool { note(flood, from: nil).toPerson }

    func note(_ flood: Flood, from address: IPAddress?) -> FloodCounts.Verdict {
        counts.withLock { $0.note(flood, from: address, now: .now) }
    }

    func takeSummaries() -> [FloodCounts.Summary] { counts.withLock { $0.takeSummaries(now: .now) } }
}

extension Flood {
    /// The field `what` of the event `unknown-peers`.
    fileprivate var name: String {
        switch self {
        case .connectionRefused: "connections-refused"
        case .viewerRefused: "viewers-refused"
        case .wrongCode: "wrong-codes"
        case .question: "questions"
        default: "visits"
        }
    }
}

extension FloodCounts.Summary {
    var event: ProgramEvent {
        .pairing(
            .unknownPeers(
                what: flood.name, count: count, addresses: addresses,
                seconds: Int(FloodCounts.period.inSeconds)))
    }

    /// `212 connections from 3 addresses were refused in the last 10 s.`
    var words: String {
        let from =
            "from \(addresses)\(addresses == FloodCounts.mostAddresses ? " or more" : "") "
            + (addresses == 1 ? "address" : "addresses")
        let time = "in the last \(Int(FloodCounts.period.inSeconds)) s."
        return switch flood {
        case .connectionRefused: "\(count) connections \(from) were refused \(time)"
        case .viewerRefused: "\(count) viewers \(from) were refused \(time)"
        case .wrongCode: "\(count) wrong codes \(from) were typed \(time)"
        case .question: "\(count) viewers \(from) asked to watch \(time)"
        default: "Viewers \(from) joined, got their picture or left \(count) times \(time)"
        }
    }
}
