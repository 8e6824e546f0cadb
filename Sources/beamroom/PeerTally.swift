import BeamMedia
import BeamProtocol

/// Limits the reports about events that anybody on the network can cause as often as they like. In each period the
/// first few of a kind are reported one by one, and all of them are summed up at its end.
///
/// The time is passed in. `mostAddresses` bounds the memory of each kind.
struct PeerTally {
    enum Kind: CaseIterable, Hashable {
        /// A connection was closed before its viewer had said who it is.
        case connectionRefused
        case viewerRefused
        case wrongCode
        /// A question was put to the person.
        case question
        /// A viewer was let in, got its picture, or left.
        case visit
    }

    /// Where one event is reported.
    struct Verdict: Equatable {
        var toPerson: Bool
        /// As a JSON event.
        var toProgram: Bool
    }

    /// The sum of one kind's events in a period in which not all were reported.
    struct Summary: Equatable {
        var kind: Kind
        /// All events, including those that were reported one by one.
        var count: Int
        /// Number of different addresses, at most `mostAddresses`.
        var addresses: Int
        var isForPerson: Bool
        var isForProgram: Bool
    }

    static let period = Duration.seconds(10)
    static let mostAddresses = 1024

    private struct Entry {
        var start: MediaTime
        var count = 0
        /// Events from each address.
        var addresses: [IPAddress: Int] = [:]
        /// Reported one by one, to the person and as JSON events.
        var told = 0
        var written = 0
    }

    private var entries: [Kind: Entry] = [:]

    /// Counts an event. Call `takeSummaries` first, so that the event isn't counted in a period that is over.
    mutating func note(_ kind: Kind, from address: IPAddress, now: MediaTime) -> Verdict {
        var entry = entries[kind] ?? Entry(start: now)
        entry.count += 1
        let fromAddress = (entry.addresses[address] ?? 0) + 1
        if fromAddress > 1 || entry.addresses.count < Self.mostAddresses { entry.addresses[address] = fromAddress }
        let verdict = Verdict(
            toPerson: entry.told < kind.messageLimit && fromAddress <= kind.messageLimitPerAddress,
            toProgram: entry.written < kind.eventLimit)
        if verdict.toPerson { entry.told += 1 }
        if verdict.toProgram { entry.written += 1 }
        entries[kind] = entry
        return verdict
    }

    /// The sums of the periods that are over. A period begins with its first occurrence.
    mutating func takeSummaries(now: MediaTime) -> [Summary] {
        Kind.allCases.compactMap { kind in
            guard let entry = entries[kind], now - entry.start >= Self.period else { return nil }
            entries[kind] = nil
            let summary = Summary(
                kind: kind, count: entry.count, addresses: entry.addresses.count,
                isForPerson: entry.count > entry.told, isForProgram: entry.count > entry.written)
            return summary.isForPerson || summary.isForProgram ? summary : nil
        }
    }
}

extension PeerTally.Kind {
    /// Messages to the person in each period.
    var messageLimit: Int {
        switch self {
        case .connectionRefused, .viewerRefused, .question: 10
        case .wrongCode: 5
        case .visit: 60
        }
    }

    /// The same from one address, so that one busy address leaves room for others.
    var messageLimitPerAddress: Int {
        switch self {
        case .connectionRefused, .viewerRefused: 3
        case .wrongCode, .question, .visit: messageLimit
        }
    }

    /// JSON events in each period.
    var eventLimit: Int {
        switch self {
        case .connectionRefused, .viewerRefused, .wrongCode, .question: 20
        case .visit: 200
        }
    }

    /// The field `what` of the JSON event `unknown-peers`.
    var name: String {
        switch self {
        case .connectionRefused: "connections-refused"
        case .viewerRefused: "viewers-refused"
        case .wrongCode: "wrong-codes"
        case .question: "questions"
        case .visit: "visits"
        }
    }
}

extension PeerTally.Summary {
    /// `212 connections from 3 addresses were refused in the last 10 s.`
    var words: String {
        let from =
            "from \(addresses)\(addresses == PeerTally.mostAddresses ? " or more" : "") "
            + (addresses == 1 ? "address" : "addresses")
        let time = "in the last \(Int(PeerTally.period.inSeconds)) s."
        return switch kind {
        case .connectionRefused: "\(count) connections \(from) were refused \(time)"
        case .viewerRefused: "\(count) viewers \(from) were refused \(time)"
        case .wrongCode: "\(count) wrong codes \(from) were typed \(time)"
        case .question: "\(count) viewers \(from) asked to watch \(time)"
        case .visit: "Viewers \(from) joined, got their picture or left \(count) times \(time)"
        }
    }
}
