import BeamTerminal
import BeamTrust

/// Nothing is shared in a room that has proved nothing, before the person has said that it is the right one.
extension Meeting {
    /// The room has proved that it is the right one, or the person has said so.
    var isProved: Bool { state.withLock { $0.entrance?.proof.isGiven ?? false } }

    /// The words that a recogniser writes begin with the first room that has proved itself.
    func beginWords() {
        let words = state.withLock { state in
            defer { state.hasBegunWords = true }
            return state.hasBegunWords ? nil : state.words
        }
        words?.start { [weak self] in
            guard let self, isProved else { return }
            write($0)
        }
    }

    /// The room is entered: says why what the options share doesn't begin, and asks.
    func holdShare(_ reason: String) {
        guard let waits = heldShares else {
            return context.say("\(reason) You are asked before you share anything in it.")
        }
        context.say("\(waits) shared yet. \(reason)")
        if settings.sharesAtOnce {
            context.events.write(.room(.shareEnded(reason: reason)))
        }
        askForProof(thenShare: settings.sharesAtOnce)
    }

    /// What waits, and the verb; nil: nothing does.
    private var heldShares: String? {
        switch (settings.sharesAtOnce, settings.captionsPath != nil) {
        case (true, true): "Your screen and your captions aren't"
        case (true, false): "Your screen isn't"
        case (false, true): "Your captions aren't"
        case (false, false): nil
        }
    }

    /// Asks the person whether this is the right room, in the terminal and in the window.
    ///
    /// - Parameter thenShare: the screen is shared once the answer is yes.
    func askForProof(thenShare: Bool) {
        let asked = state.withLock { state in
            state.sharesOnceProved = thenShare || state.sharesOnceProved
            return state.room.flatMap { room in state.entrance?.proof.question(room) }
        }
        guard let asked else { return }
        if settings.hasWindow { board.setDoubt("\(asked) y or n") }
        guard person.takesCommands else {
            if !settings.hasWindow {
                context.say(
                    "Nobody can be asked here. `{\"trust\":true}` on standard input says that it is the right room.")
            }
            return
        }
        person.ask(.yesNo("\(asked) [y/n]") { [weak self] in self?.answerProof($0) }, isNext: false)
        state.withLock { $0.asksForProof = true }
    }

    /// The person has said whether this is the right room.
    public func answerProof(_ isRight: Bool) {
        guard !isProved else { return }
        if isRight {
            let shares = state.withLock { $0.sharesOnceProved }
            trustRoom()
            if shares { setSharing(true) }
        } else {
            closeProofQuestion()
            state.withLock { $0.sharesOnceProved = false }
            context.say("Nothing is shared here\(person.takesCommands ? "; s asks again" : "").")
        }
    }

    /// This is the right room: from now on it is shared in, and remembered as such.
    func trustRoom() {
        let wasProved = state.withLock { state in
            defer {
                state.entrance?.proof = .given
                state.sharesOnceProved = false
            }
            return state.entrance?.proof.isGiven ?? true
        }
        guard !wasProved else { return }
        closeProofQuestion()
        neighbours.noteProof()
        store.noteProof()
        beginWords()
    }

    func closeProofQuestion() {
        board.setDoubt(nil)
        let wasAsked = state.withLock { state in
            defer { state.asksForProof = false }
            return state.asksForProof
        }
        if wasAsked { person.withdrawOwn() }
    }
}
