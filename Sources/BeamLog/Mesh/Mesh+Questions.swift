import BeamMedia
import BeamWire

/// What a member of a room tells its program about newcomers who ask at a door, its own or another member's.
///
/// The numbers are those of the own door's connections, or, with the highest bit set, of questions at other doors.
public enum MeshQuestion: Hashable, Sendable {
    /// Somebody asks at another member's door to compare digits.
    case asked(UInt64, Visitor)
    /// The newcomer shows these digits, as the member at whose door it is has worked them out.
    case digits(UInt64, PairingCode, Visitor)
    /// The newcomer is gone, or its door is.
    case withdrawn(UInt64)
    /// Another member has answered first.
    case taken(UInt64, by: String)
    /// Another member has answered a question at the own door.
    case decided(UInt64, accept: Bool)

    /// The question with this number is asked at another member's door.
    public static func isElsewhere(_ number: UInt64) -> Bool { number & QuestionKeeping.mark != 0 }
}

/// What a member keeps of newcomers' questions.
struct QuestionKeeping: Sendable {
    /// At the own door.
    struct Own: Sendable {
        var visitor: Visitor
        /// Who has answered first.
        var takenBy: DeviceKey?
        /// The next answer is about the digits, and the last one.
        var hasDigits = false
        /// Who was told of it.
        var told: Set<DeviceKey>
    }

    /// At another member's.
    struct Other: Sendable {
        var door: DeviceKey
        var number: UInt64
        var visitor: Visitor
        /// The person here has agreed to compare digits.
        var isAnswered = false
        var hasDigits = false
        /// When it was asked.
        var since: MediaTime
    }

    var own: [UInt64: Own] = [:]
    var others: [UInt64: Other] = [:]
    var last: UInt64 = 0
    /// How often each member's newcomers are asked about here: a member could send ever new questions.
    var rates: [DeviceKey: TokenBucket] = [:]

    static let mark: UInt64 = 1 << 63
}

/// Newcomers who ask to be let in: everybody in the room is asked, and the first answer counts. The newcomer stays connected
/// to the door at which it asked. The digits are those of that door, which binds its own key and the newcomer's into them;
/// who answers elsewhere sees them too, and relies on the member whose door it is, as everybody relies on who lets somebody
/// in.
extension Mesh {
    /// Questions of one member that are open here, and how fast new ones come.
    private static let mostQuestions = 8

    // MARK: At the door

    /// Another member who is here has a person to ask.
    var asksElsewhere: Bool {
        present.contains { $0.device != own.device && statuses[$0.device]?.flags.contains(.asksPerson) == true }
    }

    mutating func questionAsked(_ number: UInt64, _ visitor: Visitor, now: MediaTime) {
        guard membership != nil, !isEnded else { return }
        let others = present.map(\.device).filter {
            $0 != own.device && statuses[$0]?.flags.contains(.keepsCode) == true
        }
        questions.own[number] = QuestionKeeping.Own(visitor: visitor, takenBy: nil, told: Set(others))
        for device in others {
            sendErrand(
                QuestionErrand(
                    from: own.device, to: device, number: number, what: .asked, isNamesake: visitor.isNamesake,
                    name: visitor.name ?? "", address: visitor.address), now: now)
        }
    }

    /// Both ends show digits. Returns false if another member is to compare them.
    mutating func digitsShown(_ number: UInt64, _ digits: PairingCode, now: MediaTime) -> Bool {
        questions.own[number]?.hasDigits = true
        guard let member = questions.own[number]?.takenBy, member != own.device else { return true }
        sendErrand(
            QuestionErrand(from: own.device, to: member, number: number, what: .digits, name: digits.description),
            now: now)
        return false
    }

    /// The person at the door has answered. Returns false if another member was first.
    mutating func questionAnswered(_ number: UInt64, accept: Bool, now: MediaTime) -> Bool {
        guard let question = questions.own[number] else { return true }
        return answer(number, question, by: own.device, accept: accept, now: now)
    }

    private mutating func answer(
        _ number: UInt64, _ question: QuestionKeeping.Own, by member: DeviceKey, accept: Bool, now: MediaTime
    ) -> Bool {
        guard question.takenBy == nil || question.takenBy == member else { return false }
        if question.takenBy == nil {
            questions.own[number]?.takenBy = member
            let name = name(of: member)
            for device in question.told where device != member {
                sendErrand(
                    QuestionErrand(from: own.device, to: device, number: number, what: .taken, name: name), now: now)
            }
            if member != own.device { outputs.append(.question(.taken(number, by: name))) }
        }
        if !accept || question.hasDigits { questions.own[number] = nil }
        return true
    }

    /// The newcomer is gone, or was let in.
    mutating func questionEnded(_ number: UInt64, now: MediaTime) {
        guard let question = questions.own.removeValue(forKey: number) else { return }
        // Those who were told that somebody has answered may not have heard it.
        for device in question.told {
            sendErrand(QuestionErrand(from: own.device, to: device, number: number, what: .withdrawn), now: now)
        }
    }

    // MARK: Elsewhere

    /// The person here has answered a question at another door.
    mutating func answerElsewhere(_ local: UInt64, accept: Bool, now: MediaTime) {
        guard let question = questions.others[local] else { return }
        questions.others[local]?.isAnswered = true
        sendErrand(
            QuestionErrand(from: own.device, to: question.door, number: question.number, what: accept ? .yes : .no),
            now: now)
        if !accept || question.hasDigits { questions.others[local] = nil }
    }

    private func local(_ errand: QuestionErrand) -> UInt64? {
        questions.others.first { $0.value.door == errand.from && $0.value.number == errand.number }?.key
    }

    mutating func take(_ errand: QuestionErrand, from index: Int, now: MediaTime) {
        guard membership?.belongs(errand.from) == true, errand.from != own.device else { return }
        guard errand.to == own.device else {
            guard errand.hops > 0, membership?.belongs(errand.to) == true else { return }
            var passed = errand
            passed.hops -= 1
            return pass(.question(passed), to: errand.to, butNot: links[index].device, now: now)
        }
        switch errand.what {
        case .asked: wasAsked(errand, now: now)
        case .digits:
            guard let local = local(errand), let question = questions.others[local], question.isAnswered,
                let digits = PairingCode.compared(errand.name)
            else { return }
            questions.others[local]?.hasDigits = true
            outputs.append(.question(.digits(local, digits, question.visitor)))
        case .withdrawn:
            guard let local = local(errand) else { return }
            questions.others[local] = nil
            outputs.append(.question(.withdrawn(local)))
        case .taken:
            guard let local = local(errand) else { return }
            questions.others[local] = nil
            outputs.append(.question(.taken(local, by: PeerText.name(errand.name))))
        case .yes, .no:
            guard let question = questions.own[errand.number] else {
                // It is over, which that member hasn't heard.
                return sendErrand(
                    QuestionErrand(from: own.device, to: errand.from, number: errand.number, what: .withdrawn), now: now
                )
            }
            guard question.told.contains(errand.from) else { return }
            let accept = errand.what == .yes
            guard answer(errand.number, question, by: errand.from, accept: accept, now: now) else { return }
            outputs.append(.question(.decided(errand.number, accept: accept)))
        }
    }

    private mutating func wasAsked(_ errand: QuestionErrand, now: MediaTime) {
        guard local(errand) == nil, let address = errand.address,
            questions.others.values.count(where: { $0.door == errand.from }) < Self.mostQuestions,
            questions.rates[errand.from, default: TokenBucket(capacity: Self.mostQuestions, bitsPerSecond: 8)]
                .take(1, now: now) == nil
        else { return }
        questions.last += 1
        let local = QuestionKeeping.mark | questions.last
        let visitor = Visitor(address: address, name: errand.name, isNamesake: errand.isNamesake)
        questions.others[local] = QuestionKeeping.Other(
            door: errand.from, number: errand.number, visitor: visitor, since: now)
        outputs.append(.question(.asked(local, visitor)))
    }

    /// Members may have left: with their doors, or with questions that they had taken.
    mutating func settleQuestions(now: MediaTime) {
        guard !questions.others.isEmpty || !questions.own.isEmpty else { return }
        let here = Set(present.map(\.device))
        for (local, question) in questions.others
        where !here.contains(question.door) || now - question.since >= MeshLimits.longestQuestion {
            questions.others[local] = nil
            outputs.append(.question(.withdrawn(local)))
        }
        for (number, question) in questions.own {
            guard let member = question.takenBy, !here.contains(member) else { continue }
            // The member that was to compare digits has gone; nobody else has agreed to.
            questions.own[number] = nil
            outputs.append(.question(.decided(number, accept: false)))
        }
    }

    // MARK: On the way

    private mutating func sendErrand(_ errand: QuestionErrand, now: MediaTime) {
        pass(.question(errand), to: errand.to, butNot: nil, now: now)
    }
}
