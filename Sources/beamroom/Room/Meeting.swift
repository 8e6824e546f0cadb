import BeamHost
import BeamMedia
import BeamNetwork
import BeamProtocol
import BeamTerminal
import BeamTrust
import BeamViewer
import Dispatch
import Synchronization

/// This device in a room of equals: joins the room's connections with discovery, what is watched, shared and written, and
/// with the person.
final class Meeting: Sendable, RoomActions {
    struct Settings: Sendable {
        var server: MeshServer.Options
        /// A code for the newcomers of another room.
        var makeCode: @Sendable () -> HostCode
        var store: TrustStore
        var invitation: DoorReporter.Invitation
        /// How what others share is watched.
        var viewing: @Sendable (MeshServer) -> MeshViewers.Options
        /// What is shared from here.
        /// The second one tells whether sharing is still wanted, while the person chooses what.
        var sharing: @Sendable (MeshServer, @Sendable () -> Bool) throws -> HostOptions
        var hasWindow: Bool
        /// The sound that is shared is what this machine plays.
        var sharesPlayedSound: Bool
        /// What others share is watched.
        var watches: Bool
        var sharesAtOnce: Bool
        var captionsPath: String?
        var transcriptPath: String?
        /// Those with whom this device was in a room of this name.
        var acquaintances: @Sendable (_ room: String) -> [DeviceKey: String]
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
        /// The present room's name, and its ID once it is known.
        var room: String?
        var id: [UInt8]?
        /// What is to be stored next; nil: nothing waits.
        var unstored: KeptRoom?
        /// When the room was stored last.
        var stored: ContinuousClock.Instant?
        /// No other program of this user is in the room.
        var claim: RoomClaim?
        var reporters: [DeviceKey: WatchReporter] = [:]
        /// In the order in which they came up.
        var relayQuestions: [RelayQuestion] = []
        /// Through whom pictures come, by name.
        var relays: [DeviceKey: String] = [:]
        /// How to reach this machine is to be said as soon as it has an address; nil: it was said.
        var addressless: AddressText?
        /// The figures of the second before, and what was shared then.
        var last: (host: Host, report: HostReport)?
        /// The room has ended for this device; the person reads in the window why.
        var hasEnded = false
        /// The same for the last line of the terminal.
        var farewell: String?
    }

    let board: MeshBoard
    let settings: Settings
    let context: CommandContext
    let prompt: PairingPrompt
    private let desk: QuestionDesk
    /// How other rooms are entered.
    let entry: MeetingEntry
    let people: MeetingPeople
    let words: LogReporter
    let door: DoorReporter
    let shareReporter: RoomShareReporter
    let keeper: TrustQueue
    let presence: MeshPresence?
    let neighbours = MeetingNeighbours()
    /// Seeks those who are known here in other rooms; one after another.
    let probes = DispatchQueue(label: "beam-room-probe")
    let state = Mutex(State())
    /// What was written in the room before the event `ready`, which is the first one.
    let early = EarlyEvents<LogEvent>()

    var own: DeviceKey { settings.server.identity.deviceKey }

    /// - Parameter presence: discovery, which is running; nil: it isn't used.
    init(
        _ context: CommandContext, _ settings: Settings, prompt: PairingPrompt, entry: MeetingEntry,
        presence: MeshPresence?
    ) {
        self.entry = entry
        self.context = context
        self.settings = settings
        self.prompt = prompt
        self.presence = presence
        // Of those who share nobody needs a code.
        desk = QuestionDesk(context.console, programs: nil)
        let board = MeshBoard(own: settings.server.identity.deviceKey)
        self.board = board
        people = MeetingPeople(context, own: settings.server.identity.deviceKey) { board.tell($0) }
        words = LogReporter(context)
        let people = self.people
        shareReporter = RoomShareReporter(
            context, board, takesCommands: prompt.takesCommands, sharesPlayedSound: settings.sharesPlayedSound,
            isAlone: { people.here.count < 2 })
        let own = settings.server.identity.deviceKey
        door = DoorReporter(
            context, prompt: prompt, invitation: settings.invitation, guests: .newcomers,
            memberName: { $0 == own ? nil : people.name(of: $0) })
        keeper = TrustQueue(settings.store)
    }

    /// Opens files and ports. Nothing else happens before `begin`.
    func open() throws {
        let words = try HostWords(
            captionsPath: settings.captionsPath, transcriptPath: settings.transcriptPath
        ) { [shareReporter] in shareReporter.handle($0) }
        do {
            try openRoom(settings.server)
        } catch {
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
        let share = MeshShare({ [settings] in try settings.sharing(server, $0) }) { [shareReporter] in
            shareReporter.handle($0)
        }
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
        prompt.withdrawAll()
        let isEmpty = neighbours.isEmpty
        store(isEnd: true)
        if isEmpty, let id = state.withLock({ $0.id }) { _ = keeper.perform { try? $0.forgetRoom(id) } }
        _ = keeper.finish()
        state.withLock { state in
            // The claim of the old room ends with it.
            (state.parts, state.room, state.id, state.claim, state.entrance) = (nil, nil, nil, nil, nil)
            (state.unstored, state.stored, state.last, state.reporters) = (nil, nil, nil, [:])
            (state.move, state.letsInAcquaintances) = (nil, false)
            (state.asksForProof, state.sharesOnceProved) = (false, false)
            (state.relayQuestions, state.relays) = ([], [:])
        }
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

    /// Takes the room for this program. Waits for the disk.
    ///
    /// - Returns: why it can't be entered; nil: it can.
    func claim(_ room: KeptRoom) -> String? {
        do throws(TrustStoreError) {
            if let id = state.withLock({ $0.claim == nil ? nil : $0.id }), id == room.id { return nil }
            guard let claim = try settings.store.claim(room.id) else {
                return "Another beamroom on this machine is in the room “\(PeerText.name(room.name))” already."
            }
            state.withLock { ($0.claim, $0.id) = (claim, room.id) }
            return nil
        } catch {
            return "\(error)"
        }
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

    func write(_ input: LogInput) {
        switch input {
        case .partial: break
        default: neighbours.noteUse()
        }
        presentParts?.server.write(input)
    }

    func toggleShare() {
        guard isProved || presentParts?.share.isOn == true else { return askForProof(thenShare: true) }
        neighbours.noteUse()
        presentParts?.share.toggle()
    }

    /// - Parameter isOn: true only after the caller has checked whose room it is.
    func setSharing(_ isOn: Bool) {
        if isOn { trustRoom() }
        if isOn { neighbours.noteUse() }
        presentParts?.share.set(isOn)
    }

    func togglePause() { presentParts?.share.togglePause() }

    func setPaused(_ isPaused: Bool) { presentParts?.share.setPaused(isPaused) }

    /// The person has answered in the terminal.
    func decide(_ connection: ConnectionID, accept: Bool) {
        board.settle(connection, isAgreed: accept)
        server?.decide(connection, accept: accept)
    }

    /// The person has answered in the window.
    func decideInWindow(_ connection: ConnectionID, accept: Bool) {
        board.settle(connection, isAgreed: accept)
        prompt.answered(connection, accept: accept)
        server?.decide(connection, accept: accept)
    }

    func renewCode() { server?.renewCode() }

    /// Other members are here.
    var hasCompany: Bool { people.here.count > 1 }

    func listPeople() { people.list() }

    // MARK: Keeping and announcing

    func keep(_ room: KeptRoom) {
        state.withLock { state in
            state.id = room.id
            state.unstored = room
        }
        if let presence, let server {
            presence.setRoom(room.id, members: people.people.map(\.device), own: own)
            let name = PeerText.name(room.name)
            presence.announce(name, port: server.controlPort)
        }
        store()
    }

    /// Stores the newest state, at most every two seconds: a member can change it as often as it likes. What waits is
    /// stored by `tick`, and at the end.
    private func store(isEnd: Bool = false) {
        let isDue = state.withLock { state in
            guard state.unstored != nil, isEnd || state.stored.map({ .now - $0 >= Self.storePause }) ?? true else {
                return false
            }
            state.stored = .now
            return true
        }
        guard isDue else { return }
        _ = keeper.perform { [weak self] store in
            guard let self, let room = state.withLock({ state in state.unstored.take() }) else { return }
            if let problem = claim(room) { return context.latch.end(.failed(problem)) }
            do {
                try store.keep(room, isProved: isProved)
            } catch {
                context.say("Warning: The room can't be kept for the next time. \(error)")
            }
        }
    }

    private static let storePause = Duration.seconds(2)

    // MARK: What is watched and shared

    private func reporter(of device: DeviceKey, _ name: String) -> WatchReporter {
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

    // MARK: Figures, and the end

    /// Once a second.
    func tick() {
        presence?.refresh()
        lookAround()
        store()
        door.tick { server?.setCode($0) }
        if let words = state.withLock({ $0.addressless }), words.isReachable() {
            state.withLock { $0.addressless = nil }
            context.say(words.sentence())
        }
        guard let parts else { return }
        let here = people.here
        var lines: [String] = []
        for watched in parts.viewers.watched {
            let line = reporter(of: watched.device, watched.name).tick(watched.viewer)
            let relay = state.withLock { $0.relays[watched.device] }.map { " through “\($0)”" } ?? ""
            lines.append("“\(PeerText.name(watched.name))”\(relay)   \(line ?? "")")
        }
        let room = state.withLock { $0.room }
        let sharing = here.count { $0.isSharing }
        var own: (rate: StreamRate, viewers: Int)?
        if let host = parts.share.host {
            let report = host.report()
            // Each share counts from 0.
            let last = state.withLock { state in
                defer { state.last = (host, report) }
                return state.last.flatMap { $0.host === host ? $0.report : nil }
            }
            let rate = StreamRate(report, since: last)
            own = (rate, report.session.viewers)
            lines.append(
                "You   \(host.isPaused ? "paused" : CommonText.rate(rate))   "
                    + CommonText.count(report.session.viewers, "viewer"))
        } else {
            state.withLock { $0.last = nil }
        }
        context.events.write(
            .room(.stats(here: here.count, sharing: sharing, own: own?.rate, viewers: own?.viewers ?? 0)))
        guard let room else { return context.console.live(["Entering the room…"]) }
        context.console.live(lines)
        showStatus(room)
    }

    /// The last line of the terminal.
    func showStatus(_ room: String) {
        // Its code isn't this device's to show any more, and keys do nothing.
        if let farewell = state.withLock({ $0.farewell }) {
            return context.console.setStatus(
                StatusLine(name: room, code: nil, facts: [farewell, "Ctrl-C ends"], keys: []))
        }
        let here = people.here
        let sharing = here.count { $0.isSharing }
        let isPaused = here.contains { $0.device == own && $0.isPaused }
        context.console.setStatus(
            StatusLine(
                name: room, code: settings.invitation.showsCode ? door.code : nil,
                facts: ["\(max(1, here.count)) here"] + (sharing > 0 ? ["\(sharing) sharing"] : [])
                    + (isPaused ? ["you have paused"] : []), keys: prompt.keys
            ))
    }

    /// The same while this device asks at the door of another room. Its own room's code is dead.
    func showWaiting(at room: String) {
        context.console.setStatus(
            StatusLine(name: room, code: nil, facts: ["you wait to be let in", "Ctrl-C ends"], keys: []))
    }

    /// Leaves the room and ends everything, in this order: what is shared, what is watched, words, discovery, the room.
    func close() {
        let (parts, words) = state.withLock { ($0.parts, $0.words) }
        parts?.share.stop()
        parts?.viewers.stop()
        words?.stopReading()
        presence?.stop()
        parts?.server.shutdown()
        words?.close()
        store(isEnd: true)
        _ = keeper.finish()
        context.console.finish()
        context.events.write(.room(.summary(seconds: context.events.millisecondsSinceStart / 1000)))
        if let transcript = words?.report { context.say(CommonText.written(transcript)) }
    }
}
