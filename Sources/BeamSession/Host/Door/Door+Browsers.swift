import BeamLog
import BeamMedia
import BeamWire

/// Browsers at the door: their persons type a code of their own, or the person at the host is asked.
///
/// Whoever serves the pages speaks HTTP with them. The door is told what they want, and says what they get.
extension Door {
    mutating func browserOpened(_ id: ConnectionID, from address: IPAddress, now: MediaTime) {
        connectionOpened(id, from: address, now: now)
        connections[id]?.dialog = .browser(kind: nil)
    }

    mutating func browserHello(_ id: ConnectionID, _ hello: BrowserHello, now: MediaTime) {
        let isRightCode = hello.code != nil && hello.code == webCode?.current
        // Whoever listens on the network has read it, if it came by http: it is used up, whatever it was good for.
        defer { if isRightCode { spendWebCode(connections[id]?.viewer == nil ? .typed : .used, now: now) } }
        guard let connection = connections[id], connection.isBrowser else { return }
        guard connection.isUnadmitted, !connection.isAsking else {
            return violated(id, reason: "it sent a message out of turn", now: now)
        }
        guard connections[id]?.messages.admits(now: now) == true else {
            return violated(id, reason: MessageRate.reason, now: now)
        }
        connections[id]?.dialog = .browser(kind: PeerText.name(hello.kind))
        guard !blocked.browsers.contains(connection.address) else {
            return refuseViewer(id, .sentAway, reason: Self.blockedText, now: now)
        }
        if let end = blocked.browsersForNow[connection.address], end > now {
            let reason = "A browser of this address was sent away a moment ago"
            return refuseViewer(id, .busy, reason: reason, browser: .away, now: now)
        }
        guard takesNewViewers, closedToNew == nil, webCode != nil else {
            return refuseViewer(id, .notTrusted, reason: closedToNew ?? Self.closedToBrowsers, now: now)
        }
        if hello.code != nil {
            typed(isRight: isRightCode, on: id, now: now)
        } else if acceptance == .all {
            admitBrowser(id, now: now)
        } else if acceptance == .ask {
            askAboutBrowser(id, now: now)
        } else {
            refuseViewer(id, .notTrusted, reason: Self.nobodyToAsk, now: now)
        }
    }

    static let closedToBrowsers = "Nobody new is let in here"
    static let nobodyToAsk = "Nobody is there to let browsers in without the code"

    /// A page that comes again is another one.
    mutating func browserClosed(_ id: ConnectionID, reason: String?, now: MediaTime) {
        guard let viewer = connections[id]?.viewer else { return connectionClosed(id, now: now) }
        left(viewer, reason: reason ?? "its page was closed", now: now)
    }

    // MARK: The code

    private mutating func typed(isRight: Bool, on id: ConnectionID, now: MediaTime) {
        if let pause = webGuard.pause(now: now) {
            // The page waits until the pause is over. Others would guess, uncounted, to have the code replaced.
            guard let count = connections[id]?.codesInPause, count < HostLimits.codesInPause else {
                return violated(id, reason: "it typed codes in a pause", now: now)
            }
            connections[id]?.codesInPause = count + 1
            return outputs.append(.browser(id, .wrongCode(pause: pause)))
        }
        guard isRight else { return webCodeWrong(id, now: now) }
        admitBrowser(id, now: now)
    }

    /// A code that serves one browser is replaced.
    private mutating func spendWebCode(_ reason: CodeChange.Reason, now: MediaTime) {
        if webCode?.used(random: &random, now: now) == true { webCodeChanged(reason, now: now) }
    }

    private mutating func webCodeWrong(_ id: ConnectionID, now: MediaTime) {
        webGuard.failed(now: now)
        let pause = webGuard.pause(now: now)
        emit(.wrongCode(from: visitor(id), pause: pause))
        outputs.append(.browser(id, .wrongCode(pause: pause)))
        if webCode?.failed() == true { renewWebCode(.wrongTries, now: now) }
    }

    mutating func giveWebCode(_ next: PairingCode, now: MediaTime) {
        guard webCode != nil else { return }
        webCode?.give(next, now: now)
        webCodeChanged(.given, now: now)
    }

    mutating func renewWebCode(_ reason: CodeChange.Reason, now: MediaTime) {
        guard webCode?.current != nil else { return }
        webCode?.renew(random: &random, now: now)
        webCodeChanged(reason, now: now)
    }

    private mutating func webCodeChanged(_ reason: CodeChange.Reason, now: MediaTime) {
        guard let code = webCode else { return }
        armWebCode()
        emit(
            .webCodeChanged(
                CodeChange(
                    code: code.current, service: code.service, reason: reason, left: code.expiry.map { $0 - now })))
    }

    mutating func armWebCode() { deadlines.arm(.webCode, at: webCode?.expiry) }

    // MARK: The question

    private mutating func askAboutBrowser(_ id: ConnectionID, now: MediaTime) {
        ask(id, .browser, now: now)
        if connections[id]?.isAsking == true { outputs.append(.browser(id, .asking)) }
    }

    /// Lets a browser in. False: there is no room, and it was refused.
    @discardableResult
    mutating func admitBrowser(_ id: ConnectionID, now: MediaTime) -> Bool {
        guard case .browser(let kind?) = connections[id]?.dialog,
            let index = addMember(.browser(kind: kind), on: id, now: now)
        else { return false }
        attach(index, to: id, now: now)
        let session = members[index].session.description
        emit(.viewerPaired(session: session, from: visitor(index), isResumed: false))
        outputs.append(.browser(id, .admitted(session: session)))
        return true
    }

    /// The person at the host sends this browser away. It has no key: no browser is let in from its address for
    /// `HostLimits.evictionDuration`, or, `forGood`, until the host ends.
    mutating func sendAwayBrowser(_ session: String, forGood: Bool, now: MediaTime) {
        guard let member = members.first(where: { $0.peer.isBrowser && $0.session.description == session }) else {
            return
        }
        if forGood {
            blocked.browsers.insert(member.address)
        } else {
            blocked.browsersForNow = blocked.browsersForNow.filter { $0.value > now }
            blocked.browsersForNow[member.address] = now + HostLimits.evictionDuration
        }
        if let control = member.control {
            let told = forGood ? Self.blockedText : "You were sent away for now. You may come again in a minute"
            outputs.append(.browser(control, .refused(.sentAway, reason: told)))
        }
        left(member.id, reason: forGood ? "it was sent away" : "it was sent away for now", now: now)
    }
}

extension BrowserRefusal {
    /// The same as other viewers are told it.
    init(_ refusal: SecureMessage.Refusal) {
        self =
            switch refusal {
            case .declined: .declined
            case .unanswered: .unanswered
            case .busy: .busy
            case .sentAway: .sentAway
            default: .closed
            }
    }
}
