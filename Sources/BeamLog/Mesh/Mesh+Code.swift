import BeamMedia
import BeamWire

/// The room's code. One member keeps it: the first, in the order of stays, of those who are here. Each member checks the
/// proofs of its own newcomers, because these are bound to both keys; but the keeper allows one check at a time, in the
/// whole room, and counts what comes of it. So a guess at any member is a guess at all of them.
extension Mesh {
    /// How long a member waits for the keeper, and the keeper for the result of a check.
    static let codeAnswerTime = Duration.seconds(3)
    static let codeCheckTime = Duration.seconds(2)
    /// How long a member without a code waits for the room's, and what it waits longer for each member before it.
    static let codeGrace = Duration.seconds(1)
    static let codeGracePerMember = Duration.milliseconds(500)
    /// Proofs that wait at the keeper.
    static let mostWaitingProofs = 64
    /// The least time between two renewals that members ask for.
    static let codeRenewalPause = Duration.seconds(1)

    /// Another one whenever somebody is put out.
    private var codeEra: UInt64 { membership?.endingsDigest ?? 0 }

    /// Who keeps the code; nil in no room.
    var codeKeeper: DeviceKey? {
        present.first { person in
            person.device == own.device || statuses[person.device]?.flags.contains(.keepsCode) == true
        }?.device
    }

    private var isCodeKeeper: Bool { codeKeeper == own.device }

    // MARK: Which code

    /// This device has come into a room; `isNew`: it has made it.
    mutating func codeBegan(isNew: Bool, now: MediaTime) {
        ownStatus.flags.insert(.keepsCode)
        if isNew { codes.usesOwn = true }
        if isNew { makeCode(.given, now: now) } else { expectCode(now: now) }
    }

    private mutating func expectCode(now: MediaTime) {
        let before = present.firstIndex { $0.device == own.device } ?? present.count
        codes.makeAt = now + Self.codeGrace + Self.codeGracePerMember * before
    }

    private mutating func makeCode(_ reason: CodeChange.Reason, now: MediaTime) {
        codes.makeAt = nil
        guard codes.canMake else { return }
        let (digits, service) = codes.make(random: &random)
        put(digits, service, reason, now: now)
    }

    /// Makes a code that takes the place of the present one, at all members. `member` has caused that; nil: this one.
    private mutating func put(
        _ digits: PairingCode?, _ service: MeshCode.Service, _ reason: CodeChange.Reason, by member: DeviceKey? = nil,
        now: MediaTime
    ) {
        var code = MeshCode(era: codeEra, number: 1, digits: digits, service: service)
        code.cause = MeshCode.Why(reason).map { MeshCode.Cause(why: $0, member: member ?? own.device) }
        if let old = codes.code, old.era == code.era { code.number = old.number == .max ? .max : old.number + 1 }
        code.left = service == .everybody ? UInt32(clamping: HostCode.lifetime.inMilliseconds64) : 0
        take(code, reason, now: now)
        spreadCode(butNotTo: nil, now: now)
    }

    private mutating func take(_ code: MeshCode, _ reason: CodeChange.Reason?, now: MediaTime) {
        let isTimed = code.service == .everybody && code.digits != nil
        codes.makeAt = nil
        codes.isVoid = false
        codes.code = code
        codes.expiry = isTimed ? now + min(.milliseconds(Int64(code.left)), HostCode.lifetime) : nil
        codes.guardian.learn(
            wrongTries: Int(code.countedTries), pause: .milliseconds(Int64(clamping: code.pause)), now: now)
        tellCode(reason, now: now)
    }

    private mutating func tellCode(_ reason: CodeChange.Reason?, now: MediaTime) {
        let code = codes.code
        outputs.append(
            .event(
                .code(
                    MeshCodeState(
                        code: code?.digits, service: code?.service.service ?? .everybody, reason: reason,
                        member: reason == nil ? nil : code?.cause.flatMap { causeMember($0, of: reason) },
                        left: codes.expiry.map { max(.zero, $0 - now) }, wrongTries: codes.guardian.counted(now: now),
                        pause: codes.guardian.pause(now: now), isBeforeLastTry: code?.isBeforeLastTry ?? false))))
    }

    /// The member that has caused it; nil: it isn't told for this reason, or has left the room.
    private func causeMember(_ cause: MeshCode.Cause, of reason: CodeChange.Reason?) -> DeviceKey? {
        let isTold = reason == .wrongTries || reason == .byMember
        return isTold && membership?.belongs(cause.member) == true ? cause.member : nil
    }

    /// As it is sent now.
    private func codeToSend(now: MediaTime) -> MeshCode? {
        guard var code = codes.code else { return nil }
        code.left = codes.expiry.map { UInt32(clamping: max(.zero, $0 - now).inMilliseconds64) } ?? 0
        code.countedTries = UInt8(clamping: codes.guardian.counted(now: now))
        code.pause = UInt32(clamping: (codes.guardian.pause(now: now) ?? .zero).inMilliseconds64)
        return code
    }

    /// To members only.
    mutating func sendCode(_ index: Int, now: MediaTime) {
        guard links[index].isUp, membership?.belongs(links[index].device) == true, let code = codeToSend(now: now)
        else { return }
        send(.mesh(.code(code)), index, now: now)
    }

    private mutating func spreadCode(butNotTo sender: MeshLinkID?, now: MediaTime) {
        for index in links.indices where links[index].id != sender { sendCode(index, now: now) }
    }

    /// Somebody may have been put out, who knows the code.
    mutating func codeMembershipChanged(now: MediaTime) {
        guard let code = codes.code, code.era != codeEra else { return }
        codes.code = nil
        codes.isVoid = true
        codes.expiry = nil
        tellCode(.memberPutOut, now: now)
        expectCode(now: now)
    }

    /// This device has put somebody out, and makes the next code.
    mutating func codePutOut(now: MediaTime) { makeCode(.memberPutOut, now: now) }

    /// A member has told its code.
    mutating func take(_ code: MeshCode, from index: Int, now: MediaTime) {
        let id = links[index].id
        guard let own = codes.code else {
            // Of another era it comes again, with the statements that this device or the other one lacks.
            guard code.era == codeEra else { return }
            take(code, codes.isVoid ? .memberPutOut : .given, now: now)
            return spreadCode(butNotTo: id, now: now)
        }
        if own.isSame(as: code) {
            let known = (codes.guardian.wrongTries, own.wrongTries)
            codes.code?.wrongTries = max(own.wrongTries, code.wrongTries)
            codes.guardian.learn(
                wrongTries: Int(code.countedTries), pause: .milliseconds(Int64(clamping: code.pause)), now: now)
            guard known != (codes.guardian.wrongTries, max(own.wrongTries, code.wrongTries)) else { return }
            tellCode(nil, now: now)
            spreadCode(butNotTo: id, now: now)
        } else if own.yields(to: code), code.era == codeEra {
            let isNext = code.number > own.number
            take(code, isNext ? code.cause?.why.reason ?? .byMember : .roomsJoined, now: now)
            spreadCode(butNotTo: id, now: now)
        } else if code.yields(to: own) {
            sendCode(index, now: now)
        }
    }

    // MARK: What a person or a program wants

    mutating func renewCode(now: MediaTime) {
        guard membership != nil, !isEnded else { return }
        guard let keeper = codeKeeper, keeper != own.device, codes.code != nil, way(to: keeper) != nil else {
            return renew(.asked, now: now)
        }
        sendErrand(CodeErrand(from: own.device, to: keeper, number: 0, what: .renew), now: now)
    }

    mutating func giveCode(_ code: PairingCode, now: MediaTime) {
        guard membership != nil, !isEnded else { return }
        put(code, MeshCode.Service(codes.own.service), .given, now: now)
    }

    private mutating func renew(_ reason: CodeChange.Reason, by member: DeviceKey? = nil, now: MediaTime) {
        guard let code = codes.code else { return makeCode(reason, now: now) }
        codes.lastRenewal = now
        put(.random(using: &random), code.service == .one ? .one : .everybody, reason, by: member, now: now)
    }

    // MARK: Newcomers' proofs

    /// A newcomer here has sent its proof, which may be checked when `codeVerdict` allows it.
    mutating func codeTried(_ number: UInt64, now: MediaTime) {
        guard let keeper = codeKeeper, !isEnded else { return answer(number, pause: Self.codeGrace) }
        codes.asked[number] = now + Self.codeAnswerTime
        if keeper == own.device {
            ask(CodeKeeping.Request(member: own.device, number: number), now: now)
        } else if way(to: keeper) == nil {
            answer(number, pause: Self.codeGrace)
        } else {
            sendErrand(CodeErrand(from: own.device, to: keeper, number: number, what: .mayCheck), now: now)
        }
    }

    /// What came of it; nil: it wasn't checked.
    mutating func codeChecked(_ number: UInt64, isRight: Bool?, now: MediaTime) {
        guard let keeper = codeKeeper, !isEnded else { return }
        let what: CodeErrand.What = isRight.map { $0 ? .right : .wrong } ?? .unchecked
        if keeper == own.device {
            conclude(CodeKeeping.Request(member: own.device, number: number), what, now: now)
        } else {
            sendErrand(CodeErrand(from: own.device, to: keeper, number: number, what: what), now: now)
        }
    }

    /// To the door, once for each proof.
    private mutating func answer(_ number: UInt64, pause: Duration?) {
        codes.asked[number] = nil
        outputs.append(.codeVerdict(number, pause: pause))
    }

    // MARK: At the keeper

    private mutating func ask(_ request: CodeKeeping.Request, now: MediaTime) {
        guard codes.waiting.count < Self.mostWaitingProofs, !codes.waiting.contains(request) else {
            return reply(request, pause: Self.codeGrace, now: now)
        }
        codes.waiting.append(request)
        allowChecks(now: now)
    }

    private mutating func reply(_ request: CodeKeeping.Request, pause: Duration?, now: MediaTime) {
        guard request.member != own.device else { return answer(request.number, pause: pause) }
        sendErrand(
            CodeErrand(
                from: own.device, to: request.member, number: request.number, what: pause == nil ? .check : .wait,
                value: UInt32(clamping: (pause ?? .zero).inMilliseconds64)), now: now)
    }

    private mutating func allowChecks(now: MediaTime) {
        while codes.checking == nil, !codes.waiting.isEmpty {
            let request = codes.waiting.removeFirst()
            if let pause = codes.guardian.pause(now: now) {
                reply(request, pause: pause, now: now)
            } else {
                codes.checking = (request, now)
                reply(request, pause: nil, now: now)
            }
        }
    }

    private mutating func conclude(_ request: CodeKeeping.Request, _ what: CodeErrand.What, now: MediaTime) {
        let wasAllowed = codes.checking?.request == request
        if wasAllowed { codes.checking = nil }
        switch what {
        case .right where codes.code?.service == .one: usedCode(now: now)
        // Also one that was allowed by the keeper before this one.
        case .wrong: wrongTry(at: request.member, now: now)
        default: break
        }
        allowChecks(now: now)
    }

    private mutating func usedCode(now: MediaTime) {
        if case .one(isRenewed: false) = codes.own.service {
            put(nil, .one, .used, now: now)
        } else {
            renew(.used, now: now)
        }
    }

    private mutating func wrongTry(at member: DeviceKey, now: MediaTime) {
        codes.guardian.failed(now: now)
        guard var code = codes.code else { return }
        code.wrongTries = code.wrongTries == .max ? .max : code.wrongTries + 1
        codes.code = code
        if code.service == .everybody, code.wrongTries >= HostCode.mostWrongTries {
            renew(.wrongTries, by: member, now: now)
        } else {
            tellCode(nil, now: now)
            spreadCode(butNotTo: nil, now: now)
        }
    }

    // MARK: Errands

    /// The link that leads to the member, itself or by another one.
    private func way(to device: DeviceKey, butNot sender: DeviceKey? = nil) -> Int? {
        if let index = links.firstIndex(where: { $0.device == device && $0.isUp }) { return index }
        for relay in relays(to: device) where relay != sender {
            if let index = links.firstIndex(where: { $0.device == relay && $0.isUp }) { return index }
        }
        return nil
    }

    private mutating func sendErrand(_ errand: CodeErrand, now: MediaTime) {
        pass(.errand(errand), to: errand.to, butNot: nil, now: now)
    }

    /// Sends it to the member, or to one that is nearer to it.
    mutating func pass(_ message: MeshMessage, to device: DeviceKey, butNot sender: DeviceKey?, now: MediaTime) {
        guard let index = way(to: device, butNot: sender) else { return }
        send(.mesh(message), index, now: now)
    }

    mutating func take(_ errand: CodeErrand, from index: Int, now: MediaTime) {
        guard membership?.belongs(errand.from) == true, errand.from != own.device else { return }
        guard errand.to == own.device else {
            guard errand.hops > 0, membership?.belongs(errand.to) == true else { return }
            var passed = errand
            passed.hops -= 1
            return pass(.errand(passed), to: errand.to, butNot: links[index].device, now: now)
        }
        let request = CodeKeeping.Request(member: errand.from, number: errand.number)
        switch errand.what {
        case .mayCheck:
            // Members may disagree for a moment about who keeps the code: it is asked again then.
            if isCodeKeeper { ask(request, now: now) } else { reply(request, pause: Self.codeGrace, now: now) }
        case .check, .wait:
            guard codes.asked[errand.number] != nil, errand.from == codeKeeper else {
                // This door waits for it no more: the keeper needn't wait for what comes of it, nor take it for wrong.
                guard errand.what == .check else { return }
                return sendErrand(
                    CodeErrand(from: own.device, to: errand.from, number: errand.number, what: .unchecked), now: now)
            }
            answer(errand.number, pause: errand.what == .check ? nil : .milliseconds(Int64(errand.value)))
        case .right, .wrong, .unchecked:
            if isCodeKeeper { conclude(request, errand.what, now: now) }
        case .renew:
            guard isCodeKeeper, codes.lastRenewal.map({ now - $0 >= Self.codeRenewalPause }) ?? true else { return }
            renew(.byMember, by: errand.from, now: now)
        }
    }

    // MARK: Time

    /// What is due about the code. Returns when to call it again at the latest.
    mutating func settleCode(now: MediaTime) -> MediaTime {
        guard membership != nil else { return .distantFuture }
        if let time = codes.makeAt, time <= now { makeCode(codes.isVoid ? .memberPutOut : .given, now: now) }
        if isCodeKeeper, let expiry = codes.expiry, expiry <= now { renew(.time, now: now) }
        if let checking = codes.checking, checking.since + Self.codeCheckTime <= now {
            // It may have been checked.
            conclude(checking.request, .wrong, now: now)
        }
        for (number, time) in codes.asked where time <= now {
            let request = CodeKeeping.Request(member: own.device, number: number)
            codes.waiting.removeAll { $0 == request }
            answer(number, pause: Self.codeGrace)
        }
        var next = codes.makeAt ?? .distantFuture
        if isCodeKeeper, let expiry = codes.expiry { next = min(next, expiry) }
        if let checking = codes.checking { next = min(next, checking.since + Self.codeCheckTime) }
        return codes.asked.values.reduce(next) { min($0, $1) }
    }
}
