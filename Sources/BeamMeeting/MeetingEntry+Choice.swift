import BeamDisplay
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire
import Foundation

/// Several rooms of one name: anybody can announce one.
extension MeetingEntry {
    /// How long their doors have to say who is there.
    private static let probing = Duration.seconds(3)

    /// Which of these is entered. Waits for the network and the person.
    ///
    /// - Returns: nil if the program is to end.
    func choose(_ rooms: [MeshPresence.Found], _ name: String, _ kept: [KnownRoom]) throws -> MeetingCandidate? {
        var candidates = rooms.prefix(MeetingCandidate.most).map { found in
            MeetingCandidate(
                found: found,
                remembered: kept.first { presence?.isAnnounced(found, as: $0.room.id) ?? false }?.room(at: Date()))
        }
        if candidates.count > 1 { candidates = try lookWhoIsThere(candidates) }
        switch MeetingCandidate.decide(candidates, hasPerson: canAsk) {
        case .enter(let one): return one
        case .ask(let all):
            report(all, name)
            return ask(all, name, more: rooms.count - all.count)
        case .ambiguous(let all):
            report(all, name)
            let list = all.map { "\($0.address?.description ?? "?") (\($0.words))" }.joined(separator: "; ")
            context.latch.end(
                .failed(
                    "Several rooms called “\(PeerText.name(name))” are on this network, and anybody can announce one: \(list). "
                        + "Say which one you mean: `beamroom room --at ADDRESS`."))
            return nil
        }
    }

    private func lookWhoIsThere(_ candidates: [MeetingCandidate]) throws -> [MeetingCandidate] {
        let identity = try store.identity()
        let doors = candidates.flatMap { $0.found.doors.prefix(MeetingCandidate.mostDoors) }
        let keys = DoorKeys.find(at: Array(Set(doors)), as: identity, within: Self.probing)
        let friends = Self.acquaintances(in: nil, store: store, own: identity)
        return candidates.map { candidate in
            var candidate = candidate
            candidate.keys = keys.filter { candidate.found.doors.contains($0.key) }
            candidate.known = Set(candidate.keys.values).compactMap { key in
                friends[key].map { MeetingCandidate.Acquaintance(device: key, name: $0) }
            }.sorted { $0.device.hex < $1.device.hex }
            return candidate
        }
    }

    private func report(_ all: [MeetingCandidate], _ name: String) {
        let candidates = all.map { candidate in
            ProgramEvent.Room.Candidate(
                members: candidate.members, address: candidate.address, keys: Array(Set(candidate.keys.values)),
                known: candidate.known.map { PeerText.name($0.name) })
        }
        context.events.write(.room(.whichRoom(name: PeerText.name(name), candidates)))
    }

    /// Asks in the terminal and in the window; the first answer counts.
    ///
    /// - Parameter more: rooms that aren't listed.
    private func ask(_ all: [MeetingCandidate], _ name: String, more: Int) -> MeetingCandidate? {
        // Nil: nobody picks any more.
        let pick = FirstAnswer<Int?>()
        context.latch.whenEnded { pick.give(nil) }
        let desk = QuestionDesk(terminal)
        let place = desk.addPlace()
        if TerminalQuestions.hasPerson {
            if window == nil {
                desk.onEnd(place) { [context] in
                    context.latch.end(
                        .failed("Standard input has ended, so nobody can pick a room. Give an address with --at."))
                }
            }
            _ = desk.ask(
                .number(words(all, name, more: more), of: all.count) { pick.give($0) }, at: place, isRepeated: false)
        }
        let index: Int?
        if let window {
            index = MainActor.assumeIsolated { askInWindow(all, name, window, pick) }
        } else {
            index = pick.wait() ?? nil
        }
        desk.withdraw(place)
        return index.map { all[$0] }
    }

    @MainActor private func askInWindow(
        _ all: [MeetingCandidate], _ name: String, _ options: WindowOptions, _ pick: FirstAnswer<Int?>
    ) -> Int? {
        do throws(DisplayError) {
            let shown = try ChoiceWindow(
                options, title: "Which “\(PeerText.name(name))”?",
                choices: all.map { ChoiceWindow.Choice(name: $0.address?.host ?? "?", detail: $0.shortWords) }
            ) { context.endWithoutDisplay { try context.conclude($0) } }
            pick.whenGiven(shown.wake)
            if let index = shown.run(until: { pick.current != nil }) { pick.give(index) }
            pick.whenGiven(nil)
            // The person has closed it.
            if pick.current == nil { context.latch.end(.done) }
        } catch {
            context.latch.end(.failed("\(error)"))
        }
        return pick.wait() ?? nil
    }

    private func words(_ all: [MeetingCandidate], _ name: String, more: Int) -> String {
        let lines = all.enumerated().map { index, candidate in
            "  \(index + 1)  \(candidate.address?.description ?? "?"), \(candidate.words)"
        }
        let head =
            "Several rooms called “\(PeerText.name(name))” are on this network, and anybody can announce one:"
        return
            ([head] + lines
            + (more > 0 ? ["  … and \(more) more. --at ADDRESS enters one that isn't listed."] : [])
            + [
                "Which one is it? Type its number\(window == nil ? "" : ", or pick it in the window"). "
                    + "(Whoever is in a room reads the key of that device with w.)"
            ]).joined(separator: "\n")
    }
}
