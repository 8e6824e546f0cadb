import BeamHost
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWeb
import BeamWire
import Dispatch
import Synchronization

/// This device in a room of equals: joins the room's connections with discovery, what is watched, shared and written, and
/// with the person.
public final class Meeting: RoomActions {
    public struct Settings: Sendable {
        var server: MeshServer.Options
        var makeCode: @Sendable () -> HostCode
        var store: TrustStore
        var invitation: DoorReporter.Invitation
        var viewing: @Sendable (MeshServer) -> MeshViewers.Options
        var sharing: @Sendable (MeshServer, @escaping @Sendable () -> Bool) throws -> HostOptions
        var acquaintances: @Sendable (_ room: String) -> [DeviceKey: String]
        public var hasWindow = false
        /// The sound that is shared is what this machine plays.
        public var sharesPlayedSound = false
        /// What others share is watched.
        public var watches = true
        public var sharesAtOnce = false
        /// Browsers that may watch what is shared from here; nil: none may.
        public var web: Web?
        public var captionsPath: String?
        public var transcriptPath: String?

        /// - Parameters:
        ///   - makeCode: a code for the newcomers of another room.
        ///   - viewing: how what others share is watched.
        ///   - sharing: what is shared from here. The second argument tells whether sharing is still wanted, while the
        ///     person chooses what.
        ///   - acquaintances: those with whom this device was in a room of this name.
        public init(
            server: MeshServer.Options, makeCode: @escaping @Sendable () -> HostCode, store: TrustStore,
            invitation: DoorReporter.Invitation, viewing: @escaping @Sendable (MeshServer) -> MeshViewers.Options,
            sharing: @escaping @Sendable (MeshServer, @escaping @Sendable () -> Bool) throws -> HostOptions,
            acquaintances: @escaping @Sendable (_ room: String) -> [DeviceKey: String]
        ) {
            (self.server, self.makeCode, self.store, self.invitation) = (server, makeCode, store, invitation)
            (self.viewing, self.sharing, self.acquaintances) = (viewing, sharing, acquaintances)
        }
    }

    /// How browsers are let in at this member.
    public struct Web: Sendable {
        var server: WebServer.Options
        var door: Door.Configuration
        var invitation: DoorReporter.Invitation.Web

        public init(server: WebServer.Options, door: Door.Configuration, invitation: DoorReporter.Invitation.Web) {
            (self.server, self.door, self.invitation) = (server, door, invitation)
        }
    }

    /// What belongs to the present room.
    struct Parts: Sendable {
        var server: MeshServer
        var viewers: MeshViewers
        var share: MeshShare
    }

    /// This device is to leave its room for another one.
    enum Move: Sendable {
        /// To ask at the doors of this one.
        case ask(MeshPresence.Found)
        /// To enter this one, in which somebody who is known here has let it in.
        case enter(MeetingEntry.Entrance, MeshPresence.Found)
        /// To look which rooms there are: the one that was entered has gone meanwhile.
        case search
    }

    struct State {
        var parts: Parts?
        /// The files of words, which stay the same in all rooms.
        var words: HostWords?
        var hasBegunWords = false
        /// They stay from one room to the next, like the files of words.
        var browsers: Browsers?
        var hasBegunWeb = false
        /// How the present room has begun.
        var entrance: MeetingEntry.Entrance?
        /// The terminal asks whether this is the right room; and the screen is shared once that is answered with yes.
        var asksForProof = false
        var sharesOnceProved = false
        var move: Move?
        var letsInAcquaintances = false
        var onMove: (@Sendable () -> Void)?
        /// A member that is known here is sought in the room with this mark.
        var probed: Set<MeshMark> = []
        /// The present room's name.
        var room: String?
        var reporters: [DeviceKey: WatchReporter] = [:]
        /// How to reach this machine is to be said as soon as it has an address; nil: it was said.
        var addressless: AddressText?
        /// The figures of the second before, and what was shared then.
        var last: (host: Host, report: HostReport, rate: StreamRate, viewers: [ViewerRate])?
        /// The room has ended for this device; the person reads in the window why.
        var hasEnded = false
        /// The same for the last line of the terminal.
        var farewell: String?
    }

    let board: MeshBoard
    let settings: Settings
    let context: CommandContext
    let person: any MeetingPerson
    private let desk: QuestionDesk
    /// How other rooms are entered.
    let entry: MeetingEntry
    let people: MeetingPeople
    let words: LogReporter
    let door: DoorReporter
    let shareReporter: RoomShareReporter
    /// Nil: no browsers are let in.
    let webReporter: RoomWebReporter?
    let store: MeetingStore
    let relays: MeetingRelays
    let presence: MeshPresence?
    let neighbours = MeetingNeighbours()
    /// Seeks those who are known here in other rooms; one after another.
    let probes = DispatchQueue(label: "beam-room-probe")
    let state = Mutex(State())
    /// What was written in the room before the event `ready`, which is the first one.
    let early = EarlyEvents<LogEvent>()

    var own: DeviceKey { settings.server.identity.deviceKey }

    /// - Parameter presence: discovery, which is running; nil: it isn't used.
    public init(
        _ context: CommandContext, _ settings: Settings, person: any MeetingPerson, entry: MeetingEntry,
        presence: MeshPresence?
    ) {
        self.entry = entry
        self.context = context
        self.settings = settings
        self.person = person
        self.presence = presence
        // Of those who share nobody needs a code.
        desk = QuestionDesk(context.console, programs: nil)
        let board = MeshBoard(own: settings.server.identity.deviceKey)
        self.board = board
        people = MeetingPeople(context, own: settings.server.identity.deviceKey) { board.tell($0) }
        words = LogReporter(context)
        let people = self.people
        shareReporter = RoomShareReporter(
            context, board, takesCommands: person.takesCommands, sharesPlayedSound: settings.sharesPlayedSound,
            isAlone: { people.here.count < 2 })
        let own = settings.server.identity.deviceKey
        door = DoorReporter(
            context, person: person, invitation: settings.invitation, guests: .newcomers,
            memberName: { $0 == own ? nil : people.name(of: $0) })
        webReporter = settings.web.map {
            RoomWebReporter(
                context, board, person: person, $0.invitation, acceptance: settings.invitation.acceptance)
        }
        store = MeetingStore(context, settings.store)
        relays = MeetingRelays(context, people, board, takesCommands: person.takesCommands)
    }

    /// Opens files and ports. Nothing else happens before `begin`.
    public func open() throws {
        let words = try HostWords(
            captionsPath: settings.captionsPath, transcriptPath: settings.transcriptPath
        ) { [shareReporter] in shareReporter.handle($0) }
        do {
            try openBrowsers()
            try openRoom(settings.server)
        } catch {
            browsers?.shutdown()
            words.close()
            throw error
        }
        state.withLock { $0.words = words }
        presence?.connect { [weak self] in self?.handle($0) }
    }

    /// Opens the ports for another room, after `leave`.
    func reopen() throws {
        var options = settings.server
        options.door.trust.code = settings.makeCode()
        try openRoom(options)
    }

    private func openRoom(_ options: MeshServer.Options) throws {
        let server = try MeshServer(
            options,
            handlers: MeshServer.Handlers(
                onEvent: { [weak self] in self?.handle($0) },
                locate: { [presence] in presence?.endpoints(of: $0) ?? [] }))
        let viewers = MeshViewers(settings.viewing(server)) { [weak self] device, name, notice in
            self?.handle(notice, of: device, name)
        }
        let share = MeshShare({ [settings, browsers] isWanted in
            var options = try settings.sharing(server, isWanted)
            options.browsers = browsers
            return options
        }) { [shareReporter] in shareReporter.handle($0) }
        let parts = Parts(server: server, viewers: viewers, share: share)
        state.withLock { $0.parts = parts }
        // The room says which one, once this device is in it.
        showCode(nil)
    }

    /// Leaves the room for another one. A room in which nothing was, and nobody else, is forgotten. Waits for the network.
    ///
    /// - Returns: the room's name, if it was entered.
    func leave() -> String? {
        let (left, name) = state.withLock { ($0.parts, $0.room) }
        guard let parts = left else { return nil }
        parts.share.stop()
        parts.viewers.stop()
        // Before discovery, which takes a while: nobody enters meanwhile.
        parts.server.shutdown()
        presence?.withdraw()
        closeProofQuestion()
        person.leaveRoom()
        let isEmpty = neighbours.isEmpty
        storeChanges(isEnd: true)
        if isEmpty { store.forget() }
        store.finish()
        state.withLock { state in
            (state.parts, state.room, state.entrance, state.last, state.reporters) = (nil, nil, nil, nil, [:])
            (state.move, state.letsInAcquaintances) = (nil, false)
            (state.asksForProof, state.sharesOnceProved) = (false, false)
        }
        store.reset()
        relays.forget()
        early.restart()
        neighbours.left()
        people.forget()
        board.reset()
        context.console.live([])
        context.console.setStatus(nil)
        return name
    }

    var parts: Parts? { state.withLock { $0.parts } }
    var server: MeshServer? { parts?.server }
    var viewers: MeshViewers? { parts?.viewers }
    /// Commands for the room do nothing while there is none.
    private var presentParts: Parts? { state.withLock { $0.room == nil || $0.hasEnded ? nil : $0.parts } }

    func begin(_ entrance: MeetingEntry.Entrance) {
        state.withLock { $0.entrance = entrance }
        server?.begin(entrance.beginning)
    }

    /// What the exit status says: whatever ends the program is a failure if the room had ended for this device.
    func verdict(_ ending: Ending) -> Ending {
        if state.withLock({ $0.hasEnded }) { context.latch.noteRefusal() }
        return context.latch.verdict(ending)
    }

    private func handle(_ event: MeshPresence.Event) {
        switch event {
        case .appeared(let device): server?.appeared(device)
        // `lookAround` does so each second.
        case .changed: break
        case .announced:
            guard let room = state.withLock({ $0.room }) else { break }
            context.say(
                "Announced on the network: `beamroom room \(CommonText.shellWord(room))` on another machine finds it.")
        case .unavailable(let reason):
            context.say("Warning: No automatic discovery on this machine: others enter by address. \(reason)")
        }
    }

    // MARK: What the person and programs do

    public func write(_ input: LogInput) {
        switch input {
        case .partial: break
        default: neighbours.noteUse()
        }
        presentParts?.server.write(input)
    }

    public func toggleShare() {
        guard isProved || presentParts?.share.isOn == true else { return askForProof(thenShare: true) }
        neighbours.noteUse()
        presentParts?.share.toggle()
    }

    /// - Parameter isOn: true only after the caller has checked whose room it is.
    public func setSharing(_ isOn: Bool) {
        if isOn { trustRoom() }
        if isOn { neighbours.noteUse() }
        presentParts?.share.set(isOn)
    }

    public func togglePause() { presentParts?.share.togglePause() }

    func setPaused(_ isPaused: Bool) { presentParts?.share.setPaused(isPaused) }

    /// The person has answered in the terminal.
    func decide(_ connection: ConnectionID, accept: Bool) {
        board.settle(connection, isAgreed: accept)
        passOn(connection, accept: accept)
    }

    private func passOn(_ connection: ConnectionID, accept: Bool) {
        if connection.isBrowser {
            browsers?.decide(connection, accept: accept)
        } else {
            server?.decide(connection, accept: accept)
        }
    }

    /// The person has answered in the window.
    func decideInWindow(_ connection: ConnectionID, accept: Bool) {
        board.settle(connection, isAgreed: accept)
        person.answered(connection, accept: accept)
        passOn(connection, accept: accept)
    }

    func decideRelay(_ source: DeviceKey, through relay: DeviceKey, accept: Bool) {
        relays.decide(source, through: relay, accept: accept, parts)
    }

    /// The person wants to see the screen that was asked about first.
    public func takeRelay() { relays.takeFirst(parts) }

    public func answerRelay(_ accept: Bool, from text: String?) -> String? {
        relays.answer(accept, from: text, parts)
    }

    public func renewCode() {
        server?.renewCode()
        if settings.web?.invitation.codeFile == nil { browsers?.renewCode() }
    }

    /// Other members are here.
    var hasCompany: Bool { people.here.count > 1 }

    public func listPeople() { people.list() }

    // MARK: Keeping and announcing

    func keep(_ room: KeptRoom) {
        store.keep(room)
        if let presence, let server {
            presence.setRoom(room.id, members: people.people.map(\.device), own: own)
            presence.announce(PeerText.name(room.name), port: server.controlPort)
        }
        storeChanges()
    }

    /// Stores what has changed.
    func storeChanges(isEnd: Bool = false) {
        store.write(isEnd: isEnd) { [weak self] in self?.isProved ?? false }
    }

    // MARK: What is watched and shared

    func reporter(of device: DeviceKey, _ name: String) -> WatchReporter {
        state.withLock { state in
            if let reporter = state.reporters[device] { return reporter }
            let part = CommandContext(context, host: name, device: device)
            let reporter = WatchReporter(
                part,
                WatchReporter.Purpose(
                    hasWindow: true, isOneOfSeveral: true, isInRoom: true, files: 0, timeLimit: nil), desk: desk)
            state.reporters[device] = reporter
            return reporter
        }
    }

    private func handle(_ notice: ViewerNotice, of device: DeviceKey, _ name: String) {
        reporter(of: device, name).handle(notice)
    }

    /// Leaves the room and ends everything, in this order: what is shared, what is watched, words, discovery, browsers, the
    /// room.
    public func close() {
        let (parts, words) = state.withLock { ($0.parts, $0.words) }
        parts?.share.stop()
        parts?.viewers.stop()
        words?.stopReading()
        presence?.stop()
        browsers?.shutdown()
        parts?.server.shutdown()
        words?.close()
        storeChanges(isEnd: true)
        store.finish()
        context.console.finish()
        context.events.write(.room(.summary(seconds: context.events.millisecondsSinceStart / 1000)))
        if let transcript = words?.report { context.say(CommonText.written(transcript)) }
    }
}
