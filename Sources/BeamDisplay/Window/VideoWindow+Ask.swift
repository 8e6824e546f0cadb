import BeamClock
import BeamMedia
import CSDL2

/// Questions that a key answers.
extension VideoWindow {
    /// How long a person who is about to press a key needs to notice that there is another question.
    static let reactionTime = Duration.seconds(1)

    /// Asks something; `.answered` reports the answer, and the question stays until it is taken back with nil. It takes the
    /// place of notices, and with digits that of messages; a code entry comes first.
    public func setAsk(_ ask: WindowAsk?) {
        guard ask != panels.ask else { return }
        if ask?.id != panels.ask?.id || ask?.code != panels.ask?.code { panels.askSince = .now }
        panels.ask = ask
        isStale = true
        updateWatched()
    }

    /// Returns whether the key belonged to the question.
    func pressInAsk(_ code: SDL_KeyCode, isRepeated: Bool, _ events: inout [WindowEvent]) -> Bool {
        guard let ask = panels.ask, panels.codeEntry == nil, panels.picker == nil else { return false }
        let answer: Bool
        switch code {
        case SDLK_RETURN, SDLK_KP_ENTER: answer = true
        case SDLK_ESCAPE: answer = false
        case SDLK_y where ask.takesLetters: answer = true
        case SDLK_n where ask.takesLetters: answer = false
        default: return false
        }
        if !isRepeated, .now - panels.askSince >= Self.reactionTime {
            events.append(.answered(ask: ask.id, yes: answer))
        }
        return true
    }
}
