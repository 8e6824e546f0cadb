import BeamLog
import BeamMedia
import BeamWire

/// A receiver without I/O: a door to which senders come, and whose screen is shown, one at a time. (In code it is a
/// *station*, because `Receiver` is a part of every viewer.)
///
/// The screen itself is watched over another connection, by a viewer that the owner begins at `.watch` and ends at
/// `.unwatch`. Call `handle` for each event, then `pollOutput` until it returns `.wait`.
public struct StationSession: Sendable {
    /// Whoever sends a screen, as far as its connection proves it.
    public struct Sender: Sendable, Equatable {
        public var device: DeviceKey
        /// Made safe to show.
        public var name: String
        public var address: IPAddress

        public init(device: DeviceKey, name: String, address: IPAddress) {
            (self.device, self.name, self.address) = (device, name, address)
        }
    }

    /// What the receiver does.
    public enum State: Sendable, Equatable {
        /// Nil: the code isn't needed, because only known senders are taken.
        case waiting(code: PairingCode?)
        /// The sender has proved itself, and is about to say where its screen can be watched.
        case awaiting(Sender)
        /// Its screen is watched, or is about to be.
        case showing(Sender)
    }

    /// Why nothing more is shown of a sender.
    public enum End: Sendable, Equatable {
        /// The sender has ended its share, or left.
        case sender
        /// The person here has ended it.
        case person
        /// Nothing has been heard of it for `lostTime`.
        case lost
        /// It couldn't be reached where it said it was; a clause, nil if no reason is known.
        case unreachable(reason: String?)
        /// It let this machine not in; a clause.
        case refused(reason: String)
        /// It was let in, and has offered nothing in time.
        case idle
        /// The same device has come again.
        case replaced
        /// It was forgotten here.
        case forgotten
    }

    /// What the viewer reports of a sender's screen.
    public enum Report: Sendable, Equatable {
        /// It was let in, or is connected again.
        case connected
        case lost
        /// Trying to connect has failed so far; a clause.
        case unreached(reason: String)
        case ended
        case refused(reason: String)
    }

    public enum Input: Sendable {
        case door(Door.Input)
        /// About the screen of that number.
        case report(Int, Report)
        /// The person here wants nothing more of the present sender.
        case end
    }

    public enum Output: Sendable {
        /// A whole message for a connection at the door.
        case send(ConnectionID, [UInt8])
        /// Close once everything sent so far has left.
        case close(ConnectionID)
        /// About the door. Comings and goings of guests aren't among them.
        case event(HostEvent)
        case state(State)
        /// It was shown, or about to be; a new state follows.
        case ended(Sender, End)
        /// Somebody else was told that the receiver is busy.
        case busy(Sender)
        /// Watch the screen of this number at this port of the machine that holds the connection, and report on it.
        case watch(Int, Sender, ConnectionID, port: UInt16)
        /// Don't any more.
        case unwatch(Int)
        /// Nothing to do until this deadline or the next event.
        case wait(until: MediaTime)
    }

    /// From a sender's coming to its offer: its desktop may ask what to share meanwhile.
    static let offerTime = Duration.seconds(180)
    /// From the offer to being let in there. An attempt to connect takes 3 s at most, and several are made.
    static let reachTime = Duration.seconds(15)
    /// From a loss to its end. The viewer dials again all the while.
    static let lostTime = Duration.seconds(10)

    private enum Phase: Sendable {
        case waiting
        case awaiting(Sender, ViewerID, until: MediaTime)
        /// `guest`: at the door until its screen is reached.
        case showing(Sender, Int, guest: ViewerID?, until: MediaTime?, reason: String?)
    }

    private var door: Door
    private var phase = Phase.waiting
    private var outputs = OutputQueue<Output>()
    private var lastNumber = 0
    private var isEnded = false
    /// The last state that was told.
    private var told: State?
    /// A sender that isn't remembered types the code each time.
    private let forgetsSenders: Bool

    /// `random` makes keys, nonces and codes: has to be the system's generator, except in tests.
    public init(configuration: Door.Configuration, random: any RandomNumberGenerator & Sendable) {
        var (random, configuration) = (random, configuration)
        let key = SealingKey(number: 0, random: &random)
        configuration.isReceivers = true
        forgetsSenders = !configuration.trust.remembersNewViewers
        door = Door(configuration: configuration, mediaKey: key, random: random)
    }

    // MARK: Inputs

    public mutating func handle(_ input: Input, now: MediaTime) {
        guard !isEnded else { return }
        switch input {
        case .door(.remembered(let devices)):
            let isForgotten = sender.map { door.book.isRemembered($0.device) && devices[$0.device] == nil } ?? false
            door.handle(.remembered(devices), now: now)
            if isForgotten { end(.forgotten, now: now) }
        case .door(let input): door.handle(input, now: now)
        case .report(let number, let report): reported(number, report, now: now)
        case .end: end(.person, now: now)
        }
        settle(now: now)
    }

    /// Where guests may send datagrams, which nobody reads. They have to be told a port, though nothing comes from it.
    public mutating func mediaPortChanged(_ port: UInt16) { door.mediaPortChanged(port) }

    /// A known device was admitted from this address, so its connections go before unknown ones.
    public func isKnownAddress(_ address: IPAddress) -> Bool { door.isKnownAddress(address) }

    /// Announces the end, and closes all connections.
    public mutating func shutdown(now: MediaTime) {
        guard !isEnded else { return }
        door.handle(.farewell("The receiver has ended"), now: now)
        door.shutdown()
        settle(now: now)
        isEnded = true
    }

    /// The next thing to do; `.wait` when there is nothing more for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if isEnded { return .wait(until: .distantFuture) }
            tellState()
            if let output = outputs.popFirst() { return output }
            if let own = deadline, own <= now {
                timeIsOver(now: now)
            } else if !door.performDue(now: now) {
                return .wait(until: min(door.deadline, deadline ?? .distantFuture))
            }
            settle(now: now)
        }
    }

    /// Whose screen is shown, or about to be.
    public var sender: Sender? {
        switch phase {
        case .waiting: nil
        case .awaiting(let sender, _, _), .showing(let sender, _, _, _, _): sender
        }
    }

    // MARK: The door

    private mutating func settle(now: MediaTime) {
        while let output = door.popOutput() {
            switch output {
            case .send(let id, let bytes): outputs.append(.send(id, bytes))
            case .close(let id): outputs.append(.close(id))
            case .event(.viewerPaired), .event(.viewerLeft), .event(.controlLost): break
            case .event(let event): outputs.append(.event(event))
            case .admitted(let guest, _): came(guest, now: now)
            case .left(let id): left(id, now: now)
            case .quiet(let id): door.quiet(id, heardElsewhere: nil, now: now)
            case .message(let id, .screenOffered(let port)): offered(id, port, now: now)
            case .message, .disconnected, .browser: break
            }
        }
    }

    private mutating func came(_ guest: AdmittedGuest, now: MediaTime) {
        guard let device = guest.device else { return }
        let sender = Sender(device: device, name: guest.name, address: guest.address)
        switch phase {
        case .awaiting(_, guest.id, _): return door.awaitOffer(of: guest.id)
        case .showing(_, _, guest.id?, _, _): return
        case .awaiting(let present, _, _), .showing(let present, _, _, _, _):
            guard present.device == device else {
                outputs.append(.busy(sender))
                return door.turnAway(guest.id, .busy, reason: Self.busy, now: now)
            }
            // Its program was started again, perhaps before its end was noticed here.
            end(.replaced, now: now)
        case .waiting: break
        }
        phase = .awaiting(sender, guest.id, until: now + Self.offerTime)
        door.handle(.closedToNew(reason: Self.busy), now: now)
        door.awaitOffer(of: guest.id)
    }

    /// Without a name: whoever hasn't proved itself learns only this.
    static let busy = "This receiver shows another screen at the moment"

    private mutating func offered(_ id: ViewerID, _ port: UInt16, now: MediaTime) {
        guard case .awaiting(let sender, id, _) = phase,
            let control = door.members.first(where: { $0.id == id })?.control
        else { return }
        lastNumber += 1
        phase = .showing(sender, lastNumber, guest: id, until: now + Self.reachTime, reason: nil)
        outputs.append(.watch(lastNumber, sender, control, port: port))
    }

    private mutating func left(_ id: ViewerID, now: MediaTime) {
        switch phase {
        case .awaiting(_, id, _), .showing(_, _, id?, _, _): end(.sender, now: now)
        default: break
        }
    }

    // MARK: What is shown

    private mutating func reported(_ number: Int, _ report: Report, now: MediaTime) {
        guard case .showing(let sender, number, let guest, let until, _) = phase else { return }
        switch report {
        case .connected:
            phase = .showing(sender, number, guest: nil, until: nil, reason: nil)
            if let guest { door.letGo(guest, now: now) }
        case .lost:
            guard guest == nil, until == nil else { return }
            phase = .showing(sender, number, guest: nil, until: now + Self.lostTime, reason: nil)
        case .unreached(let reason):
            phase = .showing(sender, number, guest: guest, until: until, reason: reason)
        case .ended: end(.sender, now: now)
        case .refused(let reason): end(.refused(reason: reason), now: now)
        }
    }

    private var deadline: MediaTime? {
        switch phase {
        case .waiting: nil
        case .awaiting(_, _, let until): until
        case .showing(_, _, _, let until, _): until
        }
    }

    private mutating func timeIsOver(now: MediaTime) {
        switch phase {
        case .waiting: break
        case .awaiting: end(.idle, now: now)
        case .showing(_, _, nil, _, _): end(.lost, now: now)
        case .showing(_, _, _, _, let reason): end(.unreachable(reason: reason), now: now)
        }
    }

    /// Back to waiting, with another code.
    private mutating func end(_ end: End, now: MediaTime) {
        let guest: ViewerID?
        let present: Sender
        switch phase {
        case .waiting: return
        case .awaiting(let sender, let id, _): (present, guest) = (sender, id)
        case .showing(let sender, let number, let id, _, _):
            (present, guest) = (sender, id)
            outputs.append(.unwatch(number))
        }
        phase = .waiting
        outputs.append(.ended(present, end))
        if let guest, end != .sender {
            let (refusal, reason) = Self.told(end)
            door.turnAway(guest, refusal, reason: reason, now: now)
        }
        if forgetsSenders { door.handle(.unpair(present.device), now: now) }
        door.handle(.closedToNew(reason: nil), now: now)
        door.handle(.renewCode, now: now)
    }

    /// What a sender is told whose screen wasn't reached.
    private static func told(_ end: End) -> (SecureMessage.Refusal, reason: String) {
        switch end {
        case .person: (.declined, "The person there has declined")
        case .unreachable(let reason):
            (
                .other,
                "It can't reach your share\(reason.map { ": \($0)" } ?? ""). A firewall on your machine may block its ports"
            )
        case .refused(let reason): (.other, "Your share doesn't let it in: \(reason)")
        case .idle: (.other, "Nothing was shared in time")
        case .replaced: (.busy, "Another share of your machine has taken its place")
        case .forgotten: (.forgotten, "This device was forgotten there")
        case .sender, .lost: (.other, "The receiver has given up")
        }
    }

    private mutating func tellState() {
        let state: State =
            switch phase {
            case .waiting: .waiting(code: door.code.current)
            case .awaiting(let sender, _, _): .awaiting(sender)
            case .showing(let sender, _, _, _, _): .showing(sender)
            }
        guard state != told else { return }
        told = state
        outputs.append(.state(state))
    }
}
