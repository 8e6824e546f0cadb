import BeamMedia

/// The viewer's control connection: who may answer, why it has ended, and how dependable it is.
extension ViewerSession {
    /// The hosts that may answer; nil: any. If another one answers at one of several addresses, the others are tried
    /// before that is reported (`ControlFailure.wrongHost`).
    public var expectedHosts: Set<DeviceKey>? { watchedKey.map { [$0] } ?? configuration.trust.required }

    mutating func controlClosed(reason: String, _ failure: ControlFailure, now: MediaTime) {
        let isOver = if case .version1 = dialog { membership?.isBroadcasting == false } else { false }
        dialog = .none
        room?.disconnected(Self.keeper)
        // A version 1 host says that it stops sharing, and hangs up.
        if isOver, control.isPaired { return perform(control.hostEnded("", now: now), now: now) }
        switch failure {
        case .notSecure where refusedByMemory != nil:
            refuse(refusedByMemory ?? .other(says: reason), now: now)
        case .notSecure
        where configuration.allowsUnencrypted && !isSecureHost && configuration.trust.required == nil
            && announcedVersion != 2:
            version = .version1
            perform(control.fallBack(now: now), now: now)
        case .notSecure where announcedVersion == 1 && configuration.trust.required != nil:
            mistrust(.unencryptedImpostor, now: now)
        case .notSecure where announcedVersion == 1:
            refuse(.notEncrypted, now: now)
        case .refusedCertificate:
            mistrust(.unproven(reason: reason), now: now)
        case .wrongHost(let host):
            if let conflict = conflict(with: host) { return mistrust(conflict, now: now) }
            perform(control.closed(reason: reason, now: now), now: now)
        case .notSecure where mayBeOlder:
            perform(control.closed(reason: reason + Self.olderHint, now: now), now: now)
        case .network, .notSecure:
            perform(control.closed(reason: reason, now: now), now: now)
        }
    }

    /// The host may speak version 1 only: nothing has shown yet that it speaks version 2.
    private var mayBeOlder: Bool {
        !configuration.allowsUnencrypted && !isSecureHost && configuration.trust.required == nil
            && announcedVersion != 2
    }

    private static let olderHint =
        "; if it is an older app, on an iPhone for example, it can only be watched with --allow-unencrypted"

    /// What was heard shows that the host hears this viewer, too.
    mutating func noteHeard(now: MediaTime) { tell(connection.heard(now: now)) }

    mutating func noteLost(now: MediaTime) { tell(connection.lost(now: now)) }

    mutating func noteEnded() { tell(connection.ended()) }

    private mutating func tell(_ state: ConnectionState?) {
        if let state { emit(.connection(state)) }
    }
}
