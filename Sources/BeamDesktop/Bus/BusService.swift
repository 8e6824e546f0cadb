import BeamBus

/// Uses a service of a bus. Called on the loop's thread.
protocol BusServiceUser: AnyObject {
    /// The service runs: reported again after it was away.
    func serviceAppeared()
    /// The bus is there, but nobody owns the service's name.
    func serviceIsMissing()
    /// The bus is gone, and with it everything that the service was told.
    func busIsLost()
    /// A signal of the service's owner, which may own other names, too.
    func serviceSignalled(_ signal: BusSignal)
}

/// A well-known name on a bus. Used on the loop's thread only.
final class BusService {
    static let busName = "org.freedesktop.DBus"

    let name: String
    private let rules: [String]
    private unowned let bus: Bus
    private weak var user: (any BusServiceUser)?
    /// The unique name of the connection that owns the name.
    private(set) var owner: String?
    private var reads: [Read: Bool] = [:]
    private var connection = 0

    /// Properties that are being read.
    private struct Read: Hashable {
        var path: String
        var interface: String
    }

    init(_ name: String, rules: [String], bus: Bus, user: any BusServiceUser) {
        self.name = name
        self.rules = rules
        self.bus = bus
        self.user = user
    }

    // MARK: From the bus

    func connected() {
        match("type='signal',sender='\(Self.busName)',member='NameOwnerChanged',arg0='\(name)'")
        for rule in rules { match("type='signal',sender='\(name)',\(rule)") }
        let connection = connection
        bus.call(Self.busName, "/org/freedesktop/DBus", Self.busName, "GetNameOwner", [.text(name)]) {
            [weak self] reply in
            guard let self, connection == self.connection else { return }
            if case .values(let values) = reply, let owner = values.first?.text {
                isOwned(by: owner)
            } else if owner == nil {
                user?.serviceIsMissing()
            }
        }
    }

    func disconnected() {
        connection += 1
        owner = nil
        reads = [:]
        user?.busIsLost()
    }

    func isOwned(by owner: String) {
        let owner = owner.isEmpty ? nil : owner
        guard owner != self.owner else { return }
        self.owner = owner
        reads = [:]
        if owner != nil { user?.serviceAppeared() } else { user?.serviceIsMissing() }
    }

    func signalled(_ signal: BusSignal) { user?.serviceSignalled(signal) }

    // MARK: For the user

    /// Adds or removes a rule while the service is in use.
    func match(_ rule: String, isWanted: Bool = true) {
        bus.call(
            Self.busName, "/org/freedesktop/DBus", Self.busName, isWanted ? "AddMatch" : "RemoveMatch", [.text(rule)])
    }

    func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument] = [],
        then: @escaping (BusReply) -> Void = { _ in }
    ) {
        let owner = owner
        bus.call(name, path, interface, member, arguments) { [weak self] reply in
            // The answer of an earlier owner says nothing of this one.
            guard let self, owner == self.owner else { return }
            then(reply)
        }
    }

    /// Reads all properties of an interface. While a read is under way, further ones become a single one after it, so
    /// that a service that signals often isn't asked more often than it answers.
    func readProperties(_ path: String, _ interface: String, then: @escaping ([String: BusValue]?) -> Void) {
        let read = Read(path: path, interface: interface)
        guard reads[read] == nil else {
            reads[read] = true
            return
        }
        reads[read] = false
        call(path, "org.freedesktop.DBus.Properties", "GetAll", [.text(interface)]) { [weak self] reply in
            guard let self else { return }
            let isAskedAgain = reads.removeValue(forKey: read) == true
            if isAskedAgain { return readProperties(path, interface, then: then) }
            if case .values(let values) = reply { then(values.first?.entries) } else { then(nil) }
        }
    }
}
