import BeamMedia
import BeamWire

/// The six digits by which unknown viewers are paired.
public struct HostCode: Sendable {
    /// Whom a code serves.
    public enum Service: Hashable, Sendable {
        /// Everybody, until `HostCode.lifetime` has passed or `HostCode.mostWrongTries` wrong tries were made against it. A
        /// random one follows.
        case everybody
        /// One viewer. `isRenewed`: a random one follows; otherwise none does until another is given.
        case one(isRenewed: Bool)
        /// Everybody, until another is given or asked for.
        case always
        /// Everybody who is allowed to try it: a room of equals decides that, and counts.
        case room
    }

    /// How long a code serves that is renewed by itself.
    public static let lifetime = Duration.seconds(600)
    /// Wrong tries after which such a code is replaced.
    public static let mostWrongTries = 5
    /// Whoever types a code that was replaced less than this ago is told so.
    static let memory = Duration.seconds(180)
    /// Tries that are compared with the code before: it isn't valid any more, but it may have been chosen by a person.
    static let mostTriesOfPrevious = 100

    /// The code before, for those who have typed it without knowing that it was replaced.
    private struct Previous: Sendable {
        var code: PairingCode
        var replaced: MediaTime
        var tries = 0
    }

    /// The digits to type; nil: no code is accepted.
    public private(set) var current: PairingCode?
    public private(set) var service: Service
    /// A code has let in a viewer, or was replaced.
    package private(set) var hasBeenReplaced = false
    /// Wrong tries against the present code.
    package private(set) var wrongTries = 0
    /// When the present code is replaced by itself; nil: it isn't, or its time hasn't begun.
    package private(set) var expiry: MediaTime?
    private var previous: Previous?

    /// The code was used, and no other has followed.
    package var wasUsed: Bool { current == nil && hasBeenReplaced }

    private init(_ code: PairingCode?, _ service: Service) {
        current = code
        self.service = service
    }

    /// No code is accepted.
    public static var none: HostCode { HostCode(nil, .one(isRenewed: false)) }

    /// A room of equals gives the code.
    public static var ofRoom: HostCode { HostCode(nil, .room) }

    /// A random code, and random ones after it. `servesOne`: each lets in one viewer.
    public static func random(servesOne: Bool = false) -> HostCode {
        var generator = SystemRandomNumberGenerator()
        return HostCode(.random(using: &generator), servesOne ? .one(isRenewed: true) : .everybody)
    }

    /// A given code that lets in one viewer. `isRenewed`: random ones follow it; otherwise none does until another is
    /// given.
    public init(given code: PairingCode, isRenewed: Bool) { self.init(code, .one(isRenewed: isRenewed)) }

    /// A given code that serves everybody.
    public init(given code: PairingCode) { self.init(code, .always) }

    /// The time of the present code begins, if it has one.
    package mutating func begin(now: MediaTime) {
        expiry = current != nil && service == .everybody ? now + Self.lifetime : nil
    }

    /// A viewer was let in by the code, or others may have read it. Returns whether the code is replaced.
    package mutating func used(random: inout some RandomNumberGenerator, now: MediaTime) -> Bool {
        guard case .one(let isRenewed) = service else { return false }
        replace(isRenewed ? .random(using: &random) : nil, now: now)
        return true
    }

    /// A wrong code was typed. Returns whether the code has to be replaced.
    package mutating func failed() -> Bool {
        wrongTries = min(wrongTries + 1, Self.mostWrongTries)
        return service == .everybody && wrongTries >= Self.mostWrongTries
    }

    /// Another code was given.
    package mutating func give(_ code: PairingCode?, now: MediaTime) { replace(code, now: now) }

    /// A random code takes the place of this one. One that was to last is followed by codes that are renewed.
    package mutating func renew(random: inout some RandomNumberGenerator, now: MediaTime) {
        if service == .always { service = .everybody }
        replace(.random(using: &random), now: now)
    }

    private mutating func replace(_ next: PairingCode?, now: MediaTime) {
        previous = current.map { Previous(code: $0, replaced: now) }
        current = next
        wrongTries = 0
        hasBeenReplaced = true
        begin(now: now)
    }

    /// The code before, if it was replaced a moment ago, to compare one try with.
    package mutating func takePrevious(now: MediaTime) -> PairingCode? {
        guard let previous, wasReplaced(now: now), previous.tries < Self.mostTriesOfPrevious else { return nil }
        self.previous?.tries += 1
        return previous.code == current ? nil : previous.code
    }

    /// Whether there was another code a moment ago.
    package func wasReplaced(now: MediaTime) -> Bool {
        previous.map { now - $0.replaced < Self.memory } ?? false
    }
}

/// Why the code is another one, and how long the new one serves.
public struct CodeChange: Hashable, Sendable {
    public enum Reason: String, Sendable {
        /// It has let in a viewer, and serves one only.
        case used
        /// A browser's person has typed it, and wasn't let in; others may have read it.
        case typed
        /// Its time is over.
        case time
        /// The person has asked for a new one.
        case asked
        case wrongTries
        /// Another one was given.
        case given
        /// In a room: another member has replaced it.
        case byMember
        /// In a room: two parts of it, each with a code, have met.
        case roomsJoined
        /// In a room: somebody who knew it was put out.
        case memberPutOut
    }

    /// The new code; nil: there is none until another is given.
    public var code: PairingCode?
    public var service: HostCode.Service
    public var reason: Reason
    /// In a room: the member that has asked for it, or at whose door the last wrong code was typed; nil: not known.
    public var member: DeviceKey?
    /// Until it is replaced by itself; nil: it isn't.
    public var left: Duration?

    public init(
        code: PairingCode?, service: HostCode.Service, reason: Reason, member: DeviceKey? = nil, left: Duration?
    ) {
        self.code = code
        self.member = member
        self.service = service
        self.reason = reason
        self.left = left
    }
}
