import BeamDesktop
import BeamDiscovery
import BeamIdentity
import BeamLog
import BeamNetwork
import BeamSession
import BeamTrust
import BeamWire

/// Finds the host that a viewer is to watch, and keeps it in the store.
final class SoughtHost: Sendable {
    let finder: HostFinder
    let keeper: PairedHosts
    private let options: ViewerOptions
    private let shared: ViewerState
    private let identity: LocalIdentity
    private let onNotice: @Sendable (ViewerNotice) -> Void
    private let trustWatch: TrustWatch
    private let search: HostSearch?
    /// Nil: which host is watched is known.
    private let list: PickList?
    /// The host at the address that was given spoke version 1 last, and may.
    private let wasPlain: Bool

    /// Known hosts that aren't found, in the list.
    private static let mostRecent = 20

    /// Nothing is sought before `start`.
    init(
        _ options: ViewerOptions, _ shared: ViewerState, _ identity: LocalIdentity, nearby: NearbyHosts?,
        _ onNotice: @escaping @Sendable (ViewerNotice) -> Void
    ) throws {
        self.options = options
        self.shared = shared
        self.identity = identity
        self.onNotice = onNotice
        let keeper = try PairedHosts(options.trust.store, options.isAtReceiver ? .receiver : .host)
        if !options.trust.pairs, case .name(let name, _) = options.target, !keeper.knows(name) {
            throw UnknownHost(name: name)
        }
        self.keeper = keeper
        trustWatch = try keeper.watch(
            besides: options.trust.acquaintances, { hosts in shared.setRemembered(hosts) },
            onWarning: { onNotice(.warning($0)) })
        let publish = { @Sendable (choices: [HostChoice]) in
            let away = keeper.recent(most: Self.mostRecent) { name in
                choices.contains { DeviceNames.areSame($0.name, name) }
            }
            shared.change { $0.choices = choices + away }
            shared.updateStatus { if choices.isEmpty { $0.searching() } else { $0.picking() } }
            onNotice(choices.isEmpty ? .searching(name: nil) : .pick(choices))
        }
        let list = options.target == .anyHost ? PickList(onChange: publish) : nil
        self.list = list
        let finder = HostFinder(
            options.target, serviceType: options.isAtReceiver ? ServiceType.receiver : ServiceType.control,
            lastKnown: { keeper.addresses(of: $0) },
            handlers: HostFinder.Handlers(
                onChoices: { list?.set($0) },
                onChosen: { name, isAddress in
                    list?.end()
                    // Of a host that was given up, nothing is left.
                    shared.retireClient()?.shutdown()
                    onNotice(.chosen(name: name))
                    shared.change { $0.choices = nil }
                    shared.updateStatus { status in
                        if isAddress {
                            status = ViewerStatus(connectingTo: name, isAddress: true)
                        } else {
                            status.chosen(name)
                        }
                    }
                },
                onReachable: { version in shared.hostAppeared(announcedVersion: version) },
                onFound: { shared.updateStatus { $0.found() } },
                onSearching: { name in onNotice(.searching(name: name)) },
                onDiscovery: { problem, triesAddresses in
                    shared.updateStatus { $0.discovery(problem: problem, triesAddresses: triesAddresses) }
                }))
        self.finder = finder
        wasPlain = options.trust.allowsUnencrypted && keeper.isPlain(finder.choice)
        search =
            options.usesBluetooth
            ? (nearby ?? NearbyHosts()).makeSearch { host in
                // Only a hint where to connect: TLS proves the key.
                guard keeper.knows(keyPrefix: host.keyPrefix) else { return }
                finder.offer(address: host.address, port: host.port)
            } : nil
    }

    func start() {
        finder.start()
        list?.start()
    }

    /// The person goes back to the list.
    func offerAgain() {
        list?.begin()
        finder.offerAgain()
    }

    /// Nothing is sought any more.
    func end() {
        trustWatch.cancel()
        finder.stop()
        list?.end()
    }

    /// Waits a bounded time until all is stored.
    func finish() {
        search?.stop()
        if let problem = keeper.finish() { onNotice(.warning(problem)) }
    }

    // MARK: The session

    /// How to watch the host, which is chosen by now.
    var session: ViewerSession.Configuration {
        var trust = options.trust
        let (wish, remembered) = shared.read { ($0.wish, $0.remembered) }
        if let wish {
            // The person at the window has asked for it.
            (trust.pairs, trust.asksForCode) = (true, true)
            if case .code(let code) = wish { trust.code = code } else { trust.code = nil }
        }
        var session = ViewerSession.Configuration(
            trust: keeper.trust(trust, identity: identity, choice: finder.choice), code: trust.code,
            asksForCode: trust.asksForCode, allowsUnencrypted: trust.allowsUnencrypted,
            announcedVersion: finder.announcedVersion, wasUnencrypted: wasPlain, buffer: options.buffer,
            // A room's door isn't a host: nothing of a host's log is taken there, or signed for it.
            room: options.isAtRoomDoor || options.isAtReceiver
                ? nil : LogOptions(signing: identity.roomSigning, name: trust.deviceName))
        session.asksPerson = wish == .person
        session.offersScreen = options.isAtReceiver
        if let remembered { session.trust.known = remembered }
        return session
    }

    /// Passes the event on as a notice.
    func handle(_ event: ViewerEvent) {
        switch event {
        // Only when the usual addresses don't answer, so that it costs the first picture nothing.
        case .retrying: search?.begin()
        case .controlLost:
            search?.begin()
            finder.lost()
        case .hostEnded: finder.lost()
        case .paired(_, _, let isNewSession, let isEncrypted):
            search?.end()
            if isNewSession, wasPlain || !isEncrypted, let address = finder.choice.address {
                keeper.note(address, isPlain: !isEncrypted)
            }
        case .hostPaired(let host, let name, true):
            // Reported when the host has been stored.
            return keeper.remember(host, name: name) { [onNotice] isRemembered, warning in
                onNotice(.session(.hostPaired(host, name: name, isToBeRemembered: isRemembered)))
                if let warning { onNotice(.warning(warning)) }
            }
        default: break
        }
        onNotice(.session(event))
    }

    func reached(_ host: DeviceKey, at endpoint: Endpoint) {
        keeper.note(finder.reached(endpoint), at: endpoint, of: host) { [onNotice] in onNotice(.warning($0)) }
    }
}
