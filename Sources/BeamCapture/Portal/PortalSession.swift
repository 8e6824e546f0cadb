import BeamBus
import BeamMedia
import Glibc

/// A session of the portal that the person has agreed to: its streams, and the descriptor of the connection to PipeWire
/// that may see them. Used by one thread at a time; the desktop ends the session when this is released.
final class PortalSession {
    static let portal = "org.freedesktop.portal.Desktop"
    static let object = "/org/freedesktop/portal/desktop"
    static let screenCast = "org.freedesktop.portal.ScreenCast"
    private static let request = "org.freedesktop.portal.Request"
    private static let session = "org.freedesktop.portal.Session"
    private static let bus = "org.freedesktop.DBus"
    /// The name by which the desktop knows the program, and keeps its consent.
    static let applicationID = "org.beamroom.BeamRoom"

    /// The first call starts the portal, and with it the parts for the desktop. As long as systemd and D-Bus wait for that.
    private static let startTimeout = Duration.seconds(30)
    private static let callTimeout = Duration.seconds(10)
    /// After this a person is told that the desktop asks: with a token, or no dialog, it takes some 30 ms.
    private static let dialogNotice = Duration.seconds(1)

    private let connection: PortalBus
    private let options: PortalOptions
    private let owner: String
    private let handle: String
    let streams: [PortalStream]
    let selection: PortalSelection
    /// Person-facing warnings.
    let warnings: [String]
    /// Owned by this until it is taken.
    private var descriptor: CInt?

    /// Asks the desktop. Waits for the person as long as the dialog is open, and for each other answer at most 30 s.
    ///
    /// - Parameters:
    ///   - isWanted: asked while this waits; no ends it.
    ///   - say: tells the person what to do.
    init(_ options: PortalOptions, while isWanted: @escaping () -> Bool, say: @escaping (String) -> Void)
        throws(PortalTrouble)
    {
        let connection = try PortalBus(address: options.buses.session, isWanted: isWanted)
        var dialogue = try Dialogue(connection, options)
        let offer = try dialogue.offer()
        selection = try PortalSelection(options.choice, drawsCursor: options.drawsCursor, of: offer)
        let lock = PortalLock(connection: connection, desktop: options.desktop, say: say)
        let (handle, results) = try Self.begin(dialogue, selection, options, lock)
        var warnings = [selection.cursorWarning(drawsCursor: options.drawsCursor)].compactMap { $0 }
        if !offer.remembers {
            warnings.append(
                "This desktop's portal (version \(offer.version) of ScreenCast) can't remember that you agreed, and asks each time. "
                    + "Version \(PortalOffer.remembering) can: xdg-desktop-portal 1.16 or newer.")
        } else if let token = results["restore_token"]?.text, !token.isEmpty,
            let failure = options.tokens.keep(options.tokenKey, token)
        {
            warnings.append("The desktop will ask again next time: \(failure)")
        }
        streams = PortalStream.all(in: results, asked: selection.sources)
        guard !streams.isEmpty else { throw .noPictures(reason: "it has named no stream") }
        descriptor = try dialogue.openRemote(handle)
        self.connection = connection
        self.options = options
        self.handle = handle
        self.warnings = warnings
        owner = dialogue.owner
    }

    /// Begins a session that the desktop has agreed to; not while its screen is locked, if it begins none then.
    private static func begin(
        _ dialogue: Dialogue, _ selection: PortalSelection, _ options: PortalOptions, _ lock: PortalLock
    ) throws(PortalTrouble) -> (handle: String, results: [String: BusValue]) {
        if options.waitsForUnlock, lock.forbidsSharing { _ = try lock.waitForUnlock() }
        while true {
            do throws(PortalTrouble) {
                let handle = try dialogue.createSession()
                return (handle, try agree(dialogue, selection, handle, options, lock))
            } catch {
                switch error {
                // It may have been the lock.
                case .failed, .refused: if options.waitsForUnlock, try lock.waitForUnlock() { continue }
                default: break
                }
                throw error
            }
        }
    }

    /// Has the desktop give its consent, by the token of the last time if there is one.
    private static func agree(
        _ dialogue: Dialogue, _ selection: PortalSelection, _ handle: String, _ options: PortalOptions,
        _ lock: PortalLock
    ) throws(PortalTrouble) -> [String: BusValue] {
        let kept = options.tokens.take(options.tokenKey)
        let token = options.asksAgain ? nil : kept
        do throws(PortalTrouble) {
            try dialogue.select(selection, in: handle, token: token)
            return try dialogue.start(handle, notice: lock.sayThatItAsks)
        } catch {
            switch error {
            case .declined, .refused: break
            // Nobody said no, so the token may still serve. If it doesn't, the desktop asks.
            default: if let token { _ = options.tokens.keep(options.tokenKey, token) }
            }
            throw error
        }
    }

    /// What the portal can do; nobody is asked.
    static func offer(_ options: PortalOptions) throws(PortalTrouble) -> PortalOffer {
        var dialogue = try Dialogue(PortalBus(address: options.buses.session, isWanted: { true }), options)
        return try dialogue.offer()
    }

    deinit { if let descriptor { close(descriptor) } }

    func takeDescriptor() -> CInt? {
        defer { descriptor = nil }
        return descriptor
    }

    // MARK: While it lasts

    /// What became of the session.
    enum News: Equatable {
        /// The person ended it at the desktop, or what was shared is gone.
        case closed
        /// The portal, or the bus, has gone.
        case portalGone
    }

    var pollEntry: pollfd { connection.pollEntry }

    /// Nil: nothing new. Doesn't wait.
    func news() -> News? {
        let signals: [BusSignal]
        do { signals = try connection.takeSignals() } catch { return .portalGone }
        for signal in signals {
            if signal.sender == owner, signal.path == handle, signal.member == "Closed" { return .closed }
            if Self.means(signal, gone: owner) { return .portalGone }
        }
        return nil
    }

    /// Whether the bus tells that the portal, as its connection `owner`, is away.
    private static func means(_ signal: BusSignal, gone owner: String) -> Bool {
        signal.sender == bus && signal.member == "NameOwnerChanged" && signal.arguments.first?.text == portal
            && signal.arguments.last?.text != owner
    }

    // MARK: The dialogue

    /// The calls that lead to a session.
    private struct Dialogue {
        let connection: PortalBus
        let options: PortalOptions
        private(set) var owner = ""
        /// This connection's part of paths of requests and sessions.
        private let sender: String

        init(_ connection: PortalBus, _ options: PortalOptions) throws(PortalTrouble) {
            self.connection = connection
            self.options = options
            sender = String(connection.uniqueName.dropFirst().map { $0 == "." ? "_" : $0 })
            try register()
        }

        /// Tells the portal what program this is, before any other call (version 1.20 or newer). Others take it from the
        /// name of the program's systemd unit.
        private func register() throws(PortalTrouble) {
            do throws(PortalBus.Failure) {
                _ = try connection.call(
                    portal, object, "org.freedesktop.host.portal.Registry", "Register",
                    [.text(applicationID), .dictionary([])], timeout: startTimeout)
            } catch {
                // No such interface, or no such application installed: both are usual.
                if case .error(let name, _) = error, !Self.meansNoService(name) { return }
                throw trouble(error, "Register", startTimeout)
            }
        }

        /// What the portal can do; also whose signals count.
        mutating func offer() throws(PortalTrouble) -> PortalOffer {
            let properties: [BusValue]
            do throws(PortalBus.Failure) {
                properties = try connection.call(
                    portal, object, "org.freedesktop.DBus.Properties", "GetAll", [.text(screenCast)],
                    timeout: startTimeout)
                owner =
                    try connection.call(
                        bus, "/org/freedesktop/DBus", bus, "GetNameOwner", [.text(portal)], timeout: callTimeout
                    ).first?.text ?? ""
                try connection.match(
                    "sender='\(portal)',interface='\(request)',path_namespace='\(object)/request/\(sender)'",
                    timeout: callTimeout)
                try connection.match(
                    "sender='\(portal)',interface='\(session)',path_namespace='\(object)/session/\(sender)'",
                    timeout: callTimeout)
                try connection.match(
                    "sender='\(bus)',interface='\(bus)',member='NameOwnerChanged',arg0='\(portal)'",
                    timeout: callTimeout)
            } catch {
                if case .error(let name, _) = error, Self.meansNoInterface(name) {
                    throw .noBackend(desktop: options.desktop)
                }
                throw trouble(error, "GetAll", startTimeout)
            }
            guard let offer = PortalOffer(properties: properties.first?.entries ?? [:]), !offer.sources.isEmpty else {
                throw .noBackend(desktop: options.desktop)
            }
            return offer
        }

        func createSession() throws(PortalTrouble) -> String {
            let results = try ask("CreateSession", [], deadline: .now + startTimeout) { handle in
                [("handle_token", .text(handle)), ("session_handle_token", .text(Self.token()))]
            }
            // The specification calls it a string; it is an object's path.
            guard let handle = results["session_handle"]?.text, handle.hasPrefix("\(object)/session/\(sender)/") else {
                throw .refused(call: "CreateSession", reason: "it has named no session")
            }
            return handle
        }

        func select(_ selection: PortalSelection, in session: String, token: String?) throws(PortalTrouble) {
            _ = try ask("SelectSources", [.path(session)], deadline: .now + startTimeout) { handle in
                selection.arguments(token: token, handle: handle)
            }
        }

        /// The person decides here.
        func start(_ session: String, notice: @escaping () -> Void) throws(PortalTrouble) -> [String: BusValue] {
            try ask("Start", [.path(session), .text("")], deadline: .distantFuture, notice: notice) { handle in
                [("handle_token", .text(handle))]
            }
        }

        func openRemote(_ session: String) throws(PortalTrouble) -> CInt {
            let descriptor: CInt?
            do throws(PortalBus.Failure) {
                descriptor = try connection.callForDescriptor(
                    portal, object, screenCast, "OpenPipeWireRemote", [.path(session), .dictionary([])],
                    timeout: callTimeout)
            } catch {
                throw trouble(error, "OpenPipeWireRemote", callTimeout)
            }
            guard let descriptor else { throw .noPipeWire(reason: "the portal has handed out no connection to it") }
            return descriptor
        }

        /// Makes a request and waits for its answer. Its signals were asked for before: an answer can come before the
        /// call's reply.
        private func ask(
            _ member: String, _ arguments: [BusArgument], deadline: MediaTime,
            notice: (() -> Void)? = nil, options make: (_ handle: String) -> [(key: String, value: BusArgument)]
        ) throws(PortalTrouble) -> [String: BusValue] {
            let name = Self.token()
            let path = "\(object)/request/\(sender)/\(name)"
            let owner = owner
            let isIt: (BusSignal) -> Bool = {
                $0.sender == owner && $0.path == path && $0.member == "Response" || PortalSession.means($0, gone: owner)
            }
            let answer: BusSignal
            var timeout = callTimeout
            do throws(PortalBus.Failure) {
                _ = try connection.call(
                    portal, object, screenCast, member, arguments + [.dictionary(make(name))], timeout: callTimeout)
                timeout = startTimeout
                answer = try response(isIt, deadline, notice)
            } catch {
                throw trouble(error, member, timeout)
            }
            guard answer.path == path else { throw .portalGone(call: member) }
            switch PortalAnswer(answer.arguments) {
            case .granted(let results): return results
            case .declined: throw .declined
            case .failed: throw .failed(call: member, desktop: options.desktop)
            }
        }

        private func response(
            _ isIt: (BusSignal) -> Bool, _ deadline: MediaTime, _ notice: (() -> Void)?
        ) throws(PortalBus.Failure) -> BusSignal {
            guard let notice else { return try connection.signal(until: deadline, where: isIt) }
            do throws(PortalBus.Failure) {
                return try connection.signal(until: .now + dialogNotice, where: isIt)
            } catch .timeout {
                notice()
                return try connection.signal(until: deadline, where: isIt)
            }
        }

        private func trouble(_ failure: PortalBus.Failure, _ call: String, _ timeout: Duration) -> PortalTrouble {
            switch failure {
            case .error(let name, _) where Self.meansNoService(name): .noPortal(desktop: options.desktop)
            case .error(let name, let message): .refused(call: call, reason: message.isEmpty ? name : message)
            case .timeout: .noAnswer(call: call, seconds: Int(timeout.components.seconds))
            case .abandoned: .abandoned
            case .lost: .noSessionBus(reason: "the connection was lost")
            }
        }

        /// The bus can't find or start the portal.
        private static func meansNoService(_ name: String) -> Bool {
            let prefix = "org.freedesktop.DBus.Error."
            return [prefix + "ServiceUnknown", prefix + "NameHasNoOwner"].contains(name)
                || name.hasPrefix(prefix + "Spawn.")
        }

        /// The portal has no part that shares screens.
        private static func meansNoInterface(_ name: String) -> Bool {
            ["UnknownInterface", "UnknownMethod", "InvalidArgs"].contains { name == "org.freedesktop.DBus.Error." + $0 }
        }

        private static func token() -> String { "beamroom\(UInt64.random(in: 1 ... .max))" }
    }
}
