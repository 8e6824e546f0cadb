import BeamDisplay
import BeamMedia
import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire
import Dispatch

/// Asking at the doors of a room.
extension MeetingEntry {
    /// What came of asking at a room's doors.
    enum Outcome {
        case entered(Entrance)
        /// The room isn't announced any more.
        case gone
        /// It doesn't let this device in, or isn't reached, and there is another one (`FoundRoom.isOptional`).
        case declined
        /// The program is to end.
        case ended

        var entrance: Entrance? {
            if case .entered(let entrance) = self { entrance } else { nil }
        }
    }

    /// Asks the members of the room to be let in, one after another as long as none is reached; with a code, until one has
    /// proved that it knows it.
    func enter(_ room: FoundRoom) throws -> Outcome {
        if code != nil, room.isOptional, room.doors.count > 1 { return try tryCode([room]) { [] } }
        for (index, door) in room.doors.enumerated() {
            let isLast = index == room.doors.count - 1
            switch try ask(at: door, Knock(room: room, patience: isLast && !room.isOptional ? nil : Self.patience)) {
            case .letIn(let device, let proof):
                return .entered(Entrance(beginning: .enter(through: device, at: door), proof: proof, isFound: true))
            case .notReached: continue
            case .gone: return .gone
            case .declined, .answered: return .declined
            case .ended: return .ended
            }
        }
        return room.isOptional ? .declined : .gone
    }

    /// Asks at the doors of the room without disturbing anybody: enters it only if a member of it is known here, and lets
    /// this device in at once. Not on the main thread.
    func enterQuietly(_ room: FoundRoom) -> Entrance? {
        let known = acquaintances(room.name)
        guard !known.isEmpty else { return nil }
        for door in room.doors {
            let answer = FirstAnswer<EntryAnswer>()
            var trust = ViewerOptions.Trust(
                store: store, deviceName: deviceName, pairs: false, remembersNewHosts: false)
            trust.acquaintances = known
            var options = ViewerOptions(target: .endpoint(door), trust: trust)
            options.usesBluetooth = false
            options.isAtRoomDoor = true
            let viewer = try? Viewer(options) { notice in
                switch notice {
                case .session(.hostReached(let device)):
                    answer.give(.letIn(device, known[device] == nil ? .none(door: device) : .given))
                case .session(.refused), .session(.mistrusted), .failed: answer.give(.declined)
                default: break
                }
            }
            guard let viewer else { return nil }
            viewer.start()
            answer.wait(atMost: Self.patience)
            viewer.stop()
            if case .letIn(let device, .given)? = answer.current {
                return Entrance(beginning: .enter(through: device, at: door), isFound: true)
            }
        }
        return nil
    }

    /// Asks one member, as a viewer asks a host.
    func ask(at door: Endpoint, _ knock: Knock) throws -> EntryAnswer {
        let room = knock.room
        context.say(
            room.map { "Asking the member of “\(PeerText.name($0.name))” at \(door.description) to be let in…" }
                ?? "Asking the member at \(door.description) to be let in…")
        let answer = FirstAnswer<EntryAnswer>()
        let known = room.map { acquaintances($0.name) } ?? [:]
        let window = knock.trial == nil ? self.window : nil
        var trust = ViewerOptions.Trust(
            store: store, deviceName: deviceName, code: code, asksForCode: knock.trial == nil && canAsk,
            remembersNewHosts: false)
        trust.acquaintances = known
        var options = ViewerOptions(target: .endpoint(door), trust: trust, window: window)
        options.isAtRoomDoor = true
        let reporter = EntryReporter(
            context, desk: QuestionDesk(terminal),
            EntryReporter.Manner(
                hasWindow: window != nil, isOptional: room?.isOptional ?? false, isTrial: knock.trial != nil),
            known: Set(known.keys))
        let viewer = try Viewer(options) { reporter.handle($0) }
        let decide = { @Sendable (new: EntryAnswer) in
            if answer.give(new) { viewer.endWindow() }
        }
        reporter.connect(to: viewer, decide: decide)
        context.latch.whenEnded { decide(.ended) }
        if let patience = knock.patience {
            DispatchQueue.global().asyncAfter(deadline: .now() + patience.inSeconds) {
                if !reporter.isReached { decide(.notReached) }
            }
        }
        if let time = knock.trial {
            DispatchQueue.global().asyncAfter(deadline: .now() + time.inSeconds) { decide(.answered(.busy)) }
        }
        let watch = room.flatMap { room in
            presence.map { presence in
                AbsenceWatch(of: room.mark, at: door, in: presence, for: Self.absence) {
                    if !reporter.isTalking { decide(.gone) }
                }
            }
        }
        defer { watch?.end() }
        MainActor.assumeIsolated {
            viewer.start()
            guard window != nil else {
                answer.wait()
                return
            }
            do throws(DisplayError) {
                let shown = try ViewerWindow(viewer) {
                    context.endWithoutDisplay { try context.conclude($0) }
                }
                shown.run()
                // The person has closed the window, unless there is an answer.
                if answer.current == nil {
                    if shown.hasGivenUpCode, room?.isOptional == true {
                        _ = answer.give(.declined)
                    } else {
                        context.latch.end(viewer.isRefused ? .peerLost(nil) : .done)
                    }
                }
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            answer.wait()
        }
        reporter.end()
        viewer.stop()
        // However the program ends, this device wasn't let in.
        if case .ended? = answer.current, viewer.isRefused { context.latch.noteRefusal() }
        return answer.current ?? .ended
    }
}
