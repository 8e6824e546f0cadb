import BeamMedia
import BeamWire

/// A member of a room of equals, without I/O: the room itself (`Mesh`), and what viewers and hosts say on its links.
///
/// Call a `handle…` method for each thing that happens, then `pollOutput` until it returns `.wait`.
public struct MeshSession: Sendable {
    public struct Configuration: Sendable {
        public var own: DeviceKey
        /// This member's name, if it founds the room; otherwise it has the one by which it was let in.
        public var name: String
        public var signing: LogSigning
        /// The code for newcomers that this member makes if the room has none.
        public var code: HostCode
        /// Somebody can be asked here about newcomers; the other members' doors rely on it.
        public var asksPerson: Bool

        public init(
            own: DeviceKey, name: String, signing: LogSigning, code: HostCode = .none, asksPerson: Bool = false
        ) {
            self.own = own
            self.name = name
            self.signing = signing
            self.code = code
            self.asksPerson = asksPerson
        }
    }

    /// How the room begins.
    public enum Beginning: Sendable {
        /// A new room with this name.
        case found(name: String)
        /// A room in which this device was before.
        case resume(KeptRoom)
        /// The room of this member, which has let this device in. The driver dials it at once.
        case enter(through: DeviceKey)
    }

    public enum Input: Sendable {
        case begin(Beginning)
        /// A connection to a member, or to somebody who may be one, is secured: its peer holds this key.
        case opened(MeshLinkID, DeviceKey, isOutgoing: Bool)
        /// A message without its length.
        case message(MeshLinkID, [UInt8])
        case closed(MeshLinkID)
        /// The connection that `.dial` asked for couldn't be made.
        case dialFailed(DeviceKey)
        /// The member is announced on the network: it is dialled soon.
        case appeared(DeviceKey)
        /// Where this device's control port can be reached.
        case addresses([NetworkAddress])
        case write(LogInput)
        case sharing(Bool, isPaused: Bool)
        /// A newcomer at this member's door has sent its proof of the code; `codeVerdict` answers.
        case codeTried(UInt64)
        /// What came of that proof; nil: it wasn't checked.
        case codeChecked(UInt64, isRight: Bool?)
        /// A random code, or this one, is to take the place of the room's.
        case renewCode
        case giveCode(PairingCode)
        /// A newcomer at this member's door asks to compare digits.
        case questionAsked(UInt64, Visitor)
        /// That newcomer is gone.
        case questionEnded(UInt64)
        /// The person here has answered a question at another door (`MeshQuestion.asked`).
        case answerElsewhere(UInt64, accept: Bool)
        /// Ends the room for this device; everything is closed.
        case leave
    }

    /// A part of a viewer's dialog with the one that serves it what `source` shares.
    public struct Carried: Hashable, Sendable {
        public var source: DeviceKey
        /// Chosen by the viewer: another one in each dialog on the link.
        public var dialog: UInt32
        /// A message of version 2's control plane. Empty: the dialog ends.
        public var message: [UInt8]
        /// From the viewer; otherwise from the one that serves it.
        public var isToHost: Bool

        public init(source: DeviceKey, dialog: UInt32, message: [UInt8], isToHost: Bool) {
            self.source = source
            self.dialog = dialog
            self.message = message
            self.isToHost = isToHost
        }
    }

    public enum Output: Sendable {
        /// A whole message.
        case send(MeshLinkID, [UInt8])
        /// Close once everything sent so far has left.
        case close(MeshLinkID, MeshRefusal)
        /// The link is to be read again (`spent`).
        case resume(MeshLinkID)
        /// Connect to the member; `addresses`: where it has said that it is.
        case dial(DeviceKey, addresses: [NetworkAddress])
        case carried(MeshLinkID, Carried)
        /// The proof may be checked; `pause`: it may not for so long.
        case codeVerdict(UInt64, pause: Duration?)
        case question(MeshQuestion)
        case event(MeshEvent)
        /// Nothing to do until this time or the next input.
        case wait(until: MediaTime)
    }

    private var mesh: Mesh
    /// When `pollOutput` has done what was due.
    private var settled = MediaTime.distantPast
    /// Counted on each link: no honest viewer says so much.
    private var carriedRates: [MeshLinkID: MessageRate] = [:]

    /// `random` has to be the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        mesh = Mesh(
            Mesh.Configuration(
                own: configuration.own, name: configuration.name, signing: configuration.signing,
                sealing: MeshSealing(), code: configuration.code, asksPerson: configuration.asksPerson),
            random: random)
    }

    // MARK: What is known

    /// Nobody is in the room any more: this device has left, or was put out.
    public var isEnded: Bool { mesh.isEnded }

    public func belongs(_ device: DeviceKey) -> Bool { mesh.membership?.belongs(device) ?? false }

    /// The device has belonged to the room, and doesn't any more.
    public func wasPutOut(_ device: DeviceKey) -> Bool {
        mesh.membership?.putOut[device] != nil
    }

    /// Everybody who belongs to the room, and their names.
    public var members: [DeviceKey: String] {
        Dictionary((mesh.membership?.people ?? []).map { ($0.device, $0.name) }, uniquingKeysWith: { $1 })
    }

    /// As many are here as a room takes.
    public var isFull: Bool { mesh.present.count >= MeshLimits.members }

    /// Somebody at another member's machine can be asked about newcomers at this door.
    public var asksElsewhere: Bool { mesh.asksElsewhere }

    /// Grows whenever `kept` changes, but for the age.
    public var keepsakes: Int { mesh.keepsakes }

    public func kept(now: MediaTime) -> KeptRoom? { mesh.kept(now: now) }

    /// Links to unknown peers: neither members nor the one through which this device enters.
    public var unknownLinks: Int { mesh.links.count { !belongs($0.device) } }

    /// The link to the member, if it is up.
    public func link(to device: DeviceKey) -> MeshLinkID? {
        mesh.links.first { $0.device == device && $0.isUp }?.id
    }

    /// The member at the other end of the link, if it is up.
    public func member(on link: MeshLinkID) -> DeviceKey? {
        mesh.links.first { $0.id == link && $0.isUp }?.device
    }

    /// The neighbours through whom what `device` shares can be got while there is no link to it: nearest to it first.
    public func relays(to device: DeviceKey) -> [DeviceKey] { mesh.relays(to: device) }

    // MARK: What happens

    public mutating func handle(_ input: Input, now: MediaTime) {
        switch input {
        case .begin(.found(let name)): mesh.found(name, now: now)
        case .begin(.resume(let room)): resume(room, now: now)
        case .begin(.enter(let device)): mesh.enter(through: device)
        case .opened(let link, let device, let isOutgoing):
            mesh.opened(link, device: device, isOutgoing: isOutgoing, now: now)
        case .message(let link, let bytes): received(bytes, from: link, now: now)
        case .closed(let link):
            carriedRates[link] = nil
            mesh.closed(link, now: now)
        case .dialFailed(let device): mesh.dialFailed(device, now: now)
        case .appeared(let device): mesh.appeared(device, now: now)
        case .addresses(let addresses): mesh.setAddresses(addresses, now: now)
        case .write(let input): mesh.handle(input, now: now)
        case .sharing(let isOn, let isPaused): mesh.setSharing(isOn, isPaused: isPaused, now: now)
        case .codeTried(let number): mesh.codeTried(number, now: now)
        case .codeChecked(let number, let isRight): mesh.codeChecked(number, isRight: isRight, now: now)
        case .renewCode: mesh.renewCode(now: now)
        case .giveCode(let code): mesh.giveCode(code, now: now)
        case .questionAsked(let number, let visitor): mesh.questionAsked(number, visitor, now: now)
        case .questionEnded(let number): mesh.questionEnded(number, now: now)
        case .answerElsewhere(let number, let accept): mesh.answerElsewhere(number, accept: accept, now: now)
        case .leave: mesh.leave(now: now)
        }
        mesh.settle(now: now)
    }

    /// A message of `bytes` bytes that came on the link has been handled, which took so much of the thread's time. To be
    /// called after each; `device` is the link's peer, also if the link is closed by now. Returns whether the link isn't to
    /// be read until `Output.resume`.
    public mutating func spent(
        _ time: Duration, bytes: Int, on link: MeshLinkID, of device: DeviceKey, now: MediaTime
    ) -> Bool {
        mesh.spent(time, bytes: bytes, on: link, of: device, now: now)
    }

    /// The person at the own door has answered. Returns false if another member was first.
    public mutating func questionAnswered(_ number: UInt64, accept: Bool, now: MediaTime) -> Bool {
        defer { mesh.settle(now: now) }
        return mesh.questionAnswered(number, accept: accept, now: now)
    }

    /// Digits are shown about a question at the own door. Returns false if another member compares them.
    public mutating func digitsShown(_ number: UInt64, _ digits: PairingCode, now: MediaTime) -> Bool {
        defer { mesh.settle(now: now) }
        return mesh.digitsShown(number, digits, now: now)
    }

    private mutating func resume(_ room: KeptRoom, now: MediaTime) {
        mesh.resume(room: room.id, statements: room.readStatements, age: room.age, now: now)
        if mesh.membership == nil { mesh.outputs.append(.event(.notResumed)) }
    }

    private mutating func received(_ bytes: [UInt8], from link: MeshLinkID, now: MediaTime) {
        do {
            mesh.received(try SecureMessage(bytes), from: link, now: now)
        } catch {
            guard let index = mesh.index(of: link) else { return }
            mesh.violated(index, "it sent \(error)", now: now)
        }
    }

    /// This device has let in a newcomer, by code, comparison, or because it lets in all: vouches for it.
    public mutating func admit(publicKey: [UInt8], name: String, now: MediaTime) throws(MeshRefusal) {
        defer { mesh.settle(now: now) }
        try mesh.admit(publicKey: publicKey, name: name, now: now)
    }

    /// Puts out a member that came after this device, and perhaps also those whom that member has let in.
    public mutating func putOut(
        _ device: DeviceKey, alsoThoseLetIn: Bool = false, now: MediaTime
    ) throws(MeshRefusal) {
        defer { mesh.settle(now: now) }
        try mesh.putOut(device, alsoThoseLetIn: alsoThoseLetIn, now: now)
    }

    /// Who belongs to the room only because the member has let them in, or somebody whom it has let in: keys and names, in
    /// the order in which they came.
    public func letIn(by device: DeviceKey) -> [(device: DeviceKey, name: String)] {
        mesh.letIn(by: device).map { ($0.device, $0.name) }
    }

    /// Sends a part of a dialog about pictures. False: the link isn't up.
    @discardableResult public mutating func carry(_ carried: Carried, on link: MeshLinkID, now: MediaTime) -> Bool {
        guard let index = mesh.index(of: link), mesh.links[index].isUp else { return false }
        let message = MeshMessage.Carried(
            source: carried.source, dialog: carried.dialog, message: carried.message)
        mesh.send(.mesh(carried.isToHost ? .toHost(message) : .toViewer(message)), index, now: now)
        return true
    }

    // MARK: What is to be done

    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            while let output = mesh.pollOutput() {
                switch output {
                case .send(let link, let message): return .send(link, message.bytes)
                case .close(let link, let reason):
                    carriedRates[link] = nil
                    return .close(link, reason)
                case .resume(let link): return .resume(link)
                case .dial(let device):
                    return .dial(device, addresses: mesh.statuses[device]?.addresses ?? [])
                case .carried(let link, let message):
                    if let carried = take(message, from: link, now: now) { return .carried(link, carried) }
                case .codeVerdict(let number, let pause): return .codeVerdict(number, pause: pause)
                case .question(let question): return .question(question)
                case .event(let event): return .event(event)
                }
            }
            guard mesh.deadline <= now, !mesh.isEnded, now > settled else { return .wait(until: mesh.deadline) }
            settled = now
            mesh.settle(now: now)
        }
    }

    private mutating func take(_ message: MeshMessage, from link: MeshLinkID, now: MediaTime) -> Carried? {
        guard let index = mesh.index(of: link) else { return nil }
        guard mesh.links[index].isUp, carriedRates[link, default: MessageRate()].admits(now: now) else {
            mesh.violated(index, MessageRate.reason, now: now)
            return nil
        }
        switch message {
        case .toHost(let carried):
            return Carried(
                source: carried.source, dialog: carried.dialog, message: carried.message, isToHost: true)
        case .toViewer(let carried):
            return Carried(
                source: carried.source, dialog: carried.dialog, message: carried.message, isToHost: false)
        default: return nil
        }
    }
}
