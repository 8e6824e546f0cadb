import BeamMedia
import BeamWire

/// The questions that the person at the host hasn't answered, and recent answers.
///
/// A version 2 question belongs to its connection and ends with it. It has two steps: whether to compare digits, then
/// whether both screens show the same digits.
///
/// A version 1 question belongs to a viewer's address and code, not to a connection: a viewer that gives up after a few
/// seconds and reconnects isn't asked about twice, and an answer given in between still counts. But it keeps nobody
/// waiting: it ends as soon as its viewer is away while another one asks, and soon after a viewer that hasn't waited for
/// the answer.
///
/// A browser's question belongs to its connection, too, and has one step: whether to let it in.
struct PairingQuestions: Sendable {
    /// What is asked.
    enum Subject: Hashable, Sendable {
        /// Whether the version 1 viewer that shows this code may be admitted.
        case code(PairingCode)
        /// Whether to compare digits with a version 2 viewer.
        case comparison
        /// Whether a browser may watch.
        case browser

        /// The question outlives its connection.
        fileprivate var isLasting: Bool {
            if case .code = self { true } else { false }
        }
    }

    private struct Question: Sendable {
        /// The question's ID for the person: the connection that caused it.
        let id: ConnectionID
        let address: IPAddress
        let prefix: AddressPrefix
        let askedAt: MediaTime
        let subject: Subject
        /// Version 2: the state of the comparison.
        var comparing = Comparing.asked
        /// The connection that waits for the answer; nil since `goneAt`.
        var connection: ConnectionID?
        /// When that connection, or the last one, asked.
        var arrivedAt: MediaTime
        var goneAt: MediaTime?

        var expiry: MediaTime? {
            goneAt.map {
                let isBetweenAttempts = $0 - arrivedAt >= HostLimits.version1Patience
                return $0 + (isBetweenAttempts ? HostLimits.questionGracePeriod : HostLimits.hangUpGracePeriod)
            }
        }
    }

    private enum Comparing: Sendable {
        /// The person is being asked whether to compare digits.
        case asked
        /// The person has agreed; the digits aren't known yet.
        case agreed
        /// Both screens show the digits.
        case shown
    }

    private struct StoredAnswer: Sendable {
        let address: IPAddress
        let code: PairingCode
        let accept: Bool
        let expiry: MediaTime
    }

    /// What to do with a viewer that asks to be admitted.
    enum Arrival: Hashable, Sendable {
        case accept
        case decline
        /// Too many questions are waiting.
        case busy
        /// Ask the person. The questions in `withdrawn` are void. `evicted` waited for the answer to one of them, and
        /// has to be refused.
        case ask(withdrawn: [ConnectionID], evicted: ConnectionID?)
        /// The person was asked before, because of the connection `instead`, which this one replaces.
        case wait(instead: ConnectionID?)
    }

    private var questions: [Question] = []
    private var storedAnswers: [StoredAnswer] = []
    /// Which address prefixes the person was asked about, and when: the last `HostLimits.questionHistory`.
    private var history: [(prefix: AddressPrefix, time: MediaTime)] = []
    private static let mostHistory = 256

    /// What the person's answer means.
    enum Decision: Hashable, Sendable {
        /// The person agrees to compare digits with this connection's viewer.
        case compare(ConnectionID)
        /// This connection's viewer is admitted or refused.
        case settled(ConnectionID, Subject)
    }

    /// When to call `expire`.
    var deadline: MediaTime? { questions.compactMap(\.expiry).min() }

    mutating func arrive(
        _ connection: ConnectionID, from address: IPAddress, _ subject: Subject, now: MediaTime
    ) -> Arrival {
        storedAnswers.removeAll { $0.expiry <= now }
        if let index = storedAnswers.firstIndex(where: { $0.address == address && subject == .code($0.code) }) {
            return storedAnswers.remove(at: index).accept ? .accept : .decline
        }
        let known = questions.firstIndex { $0.address == address && $0.subject == subject }
        if subject.isLasting, let index = known {
            defer {
                questions[index].connection = connection
                questions[index].arrivedAt = now
                questions[index].goneAt = nil
            }
            return .wait(instead: questions[index].connection)
        }
        let prefix = AddressPrefix(address)
        history.removeAll { now - $0.time > HostLimits.questionHistory }
        let recent = history.filter { now - $0.time <= HostLimits.questionGracePeriod }
        guard recent.count(where: { $0.prefix == prefix }) < HostLimits.questionsPerPrefix + 1,
            recent.count < HostLimits.questions * 4
        else { return .busy }
        // A viewer that is away keeps no other waiting.
        var withdrawn = questions.filter { $0.connection == nil }.map(\.id)
        questions.removeAll { withdrawn.contains($0.id) }
        let own = questions.count { $0.prefix == prefix }
        let isNew = !history.contains { $0.prefix == prefix }
        var evicted: ConnectionID?
        guard own < HostLimits.questionsPerPrefix else { return .busy }
        if questions.count >= HostLimits.questions - (isNew ? 0 : HostLimits.questionsReserved) {
            guard let index = questionToEvict(own: own, now: now) else { return .busy }
            let question = questions.remove(at: index)
            withdrawn.append(question.id)
            evicted = question.connection
        }
        questions.append(
            Question(
                id: connection, address: address, prefix: prefix, askedAt: now, subject: subject,
                connection: connection, arrivedAt: now))
        if history.count >= Self.mostHistory { history.removeFirst() }
        history.append((prefix, now))
        return .ask(withdrawn: withdrawn, evicted: evicted)
    }

    /// The question to withdraw for one from a prefix that has `own` already: the oldest of the prefix that has most.
    /// If that prefix would have fewer than the new one afterwards, only a question older than
    /// `HostLimits.questionMinimumTime`.
    private func questionToEvict(own: Int, now: MediaTime) -> Int? {
        var counts: [AddressPrefix: Int] = [:]
        // Questions whose digits are being compared stay.
        for question in questions where question.comparing == .asked { counts[question.prefix, default: 0] += 1 }
        guard let most = counts.values.max(), most > own else { return nil }
        let oldest = questions.firstIndex { $0.comparing == .asked && counts[$0.prefix] == most }
        guard most <= own + 1, let oldest else { return oldest }
        return now - questions[oldest].askedAt >= HostLimits.questionMinimumTime ? oldest : nil
    }

    /// The person has answered. Nil if no connection waits for the answer; in version 1 the answer is then kept for
    /// `HostLimits.answerLifetime`.
    mutating func decide(_ id: ConnectionID, accept: Bool, now: MediaTime) -> Decision? {
        guard let index = questions.firstIndex(where: { $0.id == id }) else { return nil }
        if questions[index].subject == .comparison, accept {
            switch questions[index].comparing {
            case .asked:
                questions[index].comparing = .agreed
                return .compare(id)
            // There are no digits yet that the person could have compared.
            case .agreed: return nil
            case .shown: break
            }
        }
        let question = questions.remove(at: index)
        if let connection = question.connection { return .settled(connection, question.subject) }
        guard case .code(let code) = question.subject else { return nil }
        if storedAnswers.count == HostLimits.storedAnswers { storedAnswers.removeFirst() }
        storedAnswers.append(
            StoredAnswer(
                address: question.address, code: code, accept: accept,
                expiry: now + HostLimits.answerLifetime))
        return nil
    }

    /// Both screens show the digits: the next answer is about those.
    mutating func digitsShown(_ id: ConnectionID) {
        guard let index = questions.firstIndex(where: { $0.id == id }) else { return }
        questions[index].comparing = .shown
    }

    /// A connection has ended. Returns the questions that are void because of it.
    mutating func connectionEnded(_ connection: ConnectionID, now: MediaTime) -> [ConnectionID] {
        guard let index = questions.firstIndex(where: { $0.connection == connection }) else { return [] }
        guard questions[index].subject.isLasting, questions.count == 1 else { return [questions.remove(at: index).id] }
        questions[index].connection = nil
        questions[index].goneAt = now
        return []
    }

    /// Drops and returns the questions whose viewers haven't reconnected.
    mutating func expire(now: MediaTime) -> [ConnectionID] {
        let expired = questions.filter { $0.expiry.map { $0 <= now } ?? false }.map(\.id)
        questions.removeAll { expired.contains($0.id) }
        return expired
    }
}
