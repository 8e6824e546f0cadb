import BeamDisplay
import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire
import Dispatch

/// This device's stay in a room, and in those for which it is left, until the end of the program.
public struct MeetingStay: Sendable {
    private let context: CommandContext
    private let meeting: Meeting
    private let entry: MeetingEntry
    private let window: WindowOptions?
    private let wanted: String?
    private let machine: String

    /// How long the rooms of the network are waited for.
    private static let searchTime = Duration.seconds(2)

    /// - Parameters:
    ///   - window: nil: none.
    ///   - room: its name; nil: the only one of the network, or one that is named after `machine`.
    public init(
        _ context: CommandContext, _ meeting: Meeting, _ entry: MeetingEntry, window: WindowOptions?, room: String?,
        machine: String
    ) {
        (self.context, self.meeting, self.entry) = (context, meeting, entry)
        (self.window, self.wanted, self.machine) = (window, room, machine)
    }

    /// On the main thread.
    ///
    /// - Parameters:
    ///   - address: of a member; nil: the room is sought.
    ///   - onFound: called before the room is entered.
    /// - Throws: `ExitStatus`, or why nothing could begin.
    public func run(at address: Endpoint?, onFound: () -> Void) throws {
        var next = try closingOnError {
            try entry.find(wanted, at: address, machine: machine, within: Self.searchTime)
        }
        onFound()
        while let entrance = next {
            if case .resume(let known) = entrance.beginning, let problem = meeting.store.claim(known) {
                meeting.close()
                return try context.conclude(.failed(problem))
            }
            meeting.person.setOthers { [meeting] in meeting.hasCompany }
            meeting.person.start { [meeting] connection, accept in meeting.decide(connection, accept: accept) }
            let ticker = EverySecond { [meeting] in meeting.tick() }
            /// Ends what runs, and says how it went. On the thread that it is called on.
            @Sendable func finish(_ ending: Ending) throws {
                ticker.cancel()
                meeting.close()
                try context.conclude(meeting.verdict(ending))
            }
            if let ending = stay(entrance, finish: { try finish($0) }) { return try finish(ending) }
            ticker.cancel()
            next = try closingOnError { try move() }
        }
        meeting.close()
        try context.conclude(context.latch.verdict(context.latch.wait()))
    }

    private func closingOnError(_ body: () throws -> MeetingEntry.Entrance?) throws -> MeetingEntry.Entrance? {
        do {
            return try body()
        } catch {
            meeting.close()
            throw error
        }
    }

    /// Runs until the end of the program, or until the room is to be left for another one: nil.
    private func stay(
        _ entrance: MeetingEntry.Entrance, finish: @escaping @Sendable (Ending) throws -> Void
    ) -> Ending? {
        // The command runs on the main thread, as SDL requires for a window.
        MainActor.assumeIsolated {
            let isOver = DispatchSemaphore(value: 0)
            let end = { @Sendable [meeting] in
                meeting.board.endWindow()
                isOver.signal()
            }
            meeting.begin(entrance)
            do throws(DisplayError) {
                let shown = try open(finish)
                context.latch.whenEnded(end)
                meeting.whenMoving(end)
                if let shown {
                    shown.run()
                    // The person has closed it.
                    if meeting.wantedMove == nil { context.latch.end(.done) }
                } else {
                    isOver.wait()
                }
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            meeting.whenMoving(nil)
            return context.latch.current
        }
    }

    /// Nil: there is no window.
    @MainActor private func open(
        _ finish: @escaping @Sendable (Ending) throws -> Void
    ) throws(DisplayError) -> MeshWindow? {
        guard let viewers = meeting.viewers, let window else { return nil }
        let shown = try MeshWindow(
            window, board: meeting.board, viewers: viewers,
            actions: MeshWindow.Actions(
                write: { [meeting] in meeting.write($0) }, toggleShare: { [meeting] in meeting.toggleShare() },
                togglePause: { [meeting] in meeting.togglePause() },
                answerOffer: { [meeting] in $0 ? _ = meeting.joinOffered() : meeting.declineOffer() },
                answerDoubt: { [meeting] in meeting.answerProof($0) },
                decide: { [meeting] in meeting.decideInWindow($0, accept: $1) },
                decideRelay: { [meeting] in meeting.decideRelay($0, through: $1, accept: $2) })
        ) { [context] in context.endWithoutDisplay(finish) }
        if let words = shown.unmetWish { context.say("Warning: \(words)") }
        return shown
    }

    /// Leaves the room for another one. If that doesn't let this device in, it comes back, or makes the room anew.
    ///
    /// - Returns: nil if the program is to end.
    private func move() throws -> MeetingEntry.Entrance? {
        let move = meeting.wantedMove
        let name = meeting.leave() ?? wanted
        var next: MeetingEntry.Entrance?
        switch move {
        case .enter(let entrance, _): next = entrance
        case .ask(let found):
            meeting.showWaiting(at: found.room)
            let other = MeetingEntry.FoundRoom(
                name: found.room, mark: found.standing?.mark, doors: found.doors, isOptional: true)
            switch try entry.enter(other) {
            case .entered(let entrance): next = entrance
            case .ended: return nil
            case .gone: break
            case .declined:
                meeting.neighbours.avoid(found.standing?.mark)
                context.say(
                    "The other room “\(PeerText.name(found.room))” doesn't let you in, or can't be reached. You go back."
                )
            }
        case .search, nil: break
        }
        next =
            try next
            ?? entry.find(
                name, at: nil, machine: machine, within: Self.searchTime,
                avoiding: meeting.neighbours.avoided)
        if next != nil { try meeting.reopen() }
        return next
    }
}
