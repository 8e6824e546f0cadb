import BeamNetwork
import BeamTerminal
import BeamWire
import Foundation

/// The code at all doors of a name.
extension MeetingEntry {
    /// How long a door may take before the others' turn, and how long when its turn comes again: it may let others wait, or
    /// many may be about to enter.
    private static let (trial, secondTrial) = (Duration.seconds(10), Duration.seconds(60))

    /// How long others are looked for once the code was tried at all: of one that was found before, it isn't known yet where
    /// it is.
    private static let lookTime = Duration.seconds(3)

    /// Tries the code at all doors of these rooms until one proves that it knows it.
    ///
    /// - Parameter look: the rooms of that name when all were tried: others may have been announced.
    func tryCode(_ rooms: [FoundRoom], look: () -> [FoundRoom]) throws -> Outcome {
        var round = CodeRound()
        var places: [Endpoint: FoundRoom] = [:]
        func add(_ rooms: [FoundRoom]) {
            for room in rooms {
                // Each without a mark is a room of its own.
                if let mark = room.mark { round.add(room.doors, of: mark.text) }
                for door in room.doors {
                    if room.mark == nil { round.add([door], of: door.description) }
                    if places[door] == nil { places[door] = room }
                }
            }
        }
        add(rooms)
        var lookedSince: ContinuousClock.Instant?
        while context.latch.current == nil {
            guard let next = round.next() else {
                let since = lookedSince ?? .now
                guard .now - since < Self.lookTime else { break }
                if lookedSince != nil { Thread.sleep(forTimeInterval: 0.1) }
                lookedSince = since
                add(look())
                continue
            }
            lookedSince = nil
            let knock = Knock(
                room: places[next.door], patience: Self.patience, trial: next.isAgain ? Self.secondTrial : Self.trial)
            let answer: CodeRound.Answer
            switch try ask(at: next.door, knock) {
            case .letIn(let device, .given):
                return .entered(Entrance(beginning: .enter(through: device, at: next.door), isFound: true))
            case .letIn, .declined: answer = .unproved
            case .answered(let given): answer = given
            case .notReached, .gone: answer = .notReached
            case .ended: return .ended
            }
            round.note(answer)
            report(answer, at: next.door)
        }
        guard context.latch.current == nil else { return .ended }
        context.say(
            "The code was tried at \(CommonText.count(round.tried, "door")), and none has proved that it knows it."
                + (round.wasWrong ? " Where it is another one now, look at the screens there." : ""))
        return .declined
    }

    private func report(_ answer: CodeRound.Answer, at door: Endpoint) {
        let (word, words) =
            switch answer {
            case .wrong: ("wrong", "The member at \(door) says that this isn't the code.")
            case .unproved: ("unproved", "Whoever is at \(door) hasn't proved that it knows the code.")
            case .notReached: ("unreachable", "Nobody answers at \(door).")
            case .busy: ("busy", "The member at \(door) lets others go first.")
            }
        context.tell(.room(.codeNotTaken(at: door, why: word)), words)
    }

    /// Nothing more can be tried: the program ends.
    func endWithoutCode(_ name: String) {
        context.latch.end(
            .peerLost(
                "No room called “\(PeerText.name(name))” on this network takes that code. Start again with the one that its screens "
                    + "show now, or give the address of somebody who is in it with --at."))
    }
}
