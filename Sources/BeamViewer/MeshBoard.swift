import BeamDisplay
import BeamLog
import BeamMedia
import BeamSession
import BeamWire
import Synchronization

/// What a window shows of a room of equals beside the pictures: who is here, and the words. Changed by any thread, read by
/// the main thread.
public final class MeshBoard: Sendable {
    /// Somebody who asks to be let in without the code, or a browser that asks to watch.
    struct Newcomer: Sendable {
        enum Step: Sendable {
            /// Whether to compare digits.
            case asking
            /// The person has agreed, and the digits are on their way.
            case waiting
            /// Both screens show them.
            case comparing(PairingCode)
        }

        var connection: ConnectionID
        var visitor: Visitor
        var step = Step.asking
        /// Of the question: another one has another number.
        var number: Int
    }

    /// What a member shares can be got through another one only.
    struct RelayQuestion: Sendable {
        var source: DeviceKey
        var relay: DeviceKey
        var text: String
        /// Less than 0, another one for each question.
        var number: Int
    }

    struct Content: Sendable {
        var room: String?
        var people: [MeshPerson] = []
        /// This device.
        var own: DeviceKey
        var words = WordBoard()
        var isSharing = false
        var isPaused = false
        /// What this machine plays is shared from here.
        var sharesPlayedSound = false
        /// What a newcomer types; nil: there is none, or it isn't shown.
        var code: PairingCode?
        /// Where browsers come to watch what this device shares; nil: nowhere.
        var web: WindowCode?
        /// Why the room has ended for this device; nil: it hasn't.
        var farewell: String?
        /// Another room that the person can enter: a sentence; nil: there is none.
        var offer: String?
        /// Whether this is the room that the person means: a question; nil: it isn't asked.
        var doubt: String?
        /// Pictures that can be got through another member only, in the order in which that came up.
        var relayQuestions: [RelayQuestion] = []
        /// In the order in which they came. The first one is asked about.
        var newcomers: [Newcomer] = []
        /// Questions so far.
        fileprivate var questions = 0
        var isEnded = false
        /// How often the person's attention was asked for.
        fileprivate(set) var calls = 0
        fileprivate(set) var version = 0
    }

    private struct State {
        var content: Content
        var wake: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    public init(own: DeviceKey) { state = Mutex(State(content: Content(own: own))) }

    func read<Result: Sendable>(_ body: (Content) -> Result) -> Result { state.withLock { body($0.content) } }

    func setWindow(_ wake: (@Sendable () -> Void)?) { state.withLock { $0.wake = wake } }

    private func change(_ body: (inout Content) -> Void) {
        let wake = state.withLock { state in
            body(&state.content)
            state.content.version += 1
            return state.wake
        }
        wake?()
    }

    /// Something has happened in the room.
    public func handle(_ event: MeshEvent) {
        let now = MediaTime.now
        change { content in
            if case .entered(let room) = event { content.room = PeerText.name(room) }
            if case .people(let people) = event { content.people = people }
            if case .log(let event) = event { content.words.handle(event, now: now) }
        }
    }

    /// Says something at the window's edge for a moment.
    public func tell(_ words: String) { change { $0.words.tell(words) } }

    /// Somebody waits for the person's answer: the window asks for attention.
    public func call() { change { $0.calls += 1 } }

    /// What this device shares.
    public func setShare(isOn: Bool, isPaused: Bool) {
        change { ($0.isSharing, $0.isPaused) = (isOn, isPaused) }
    }

    /// Whether what this machine plays is shared from here: what the others share isn't played then.
    public func setSharesPlayedSound(_ isShared: Bool) { change { $0.sharesPlayedSound = isShared } }

    /// The code for newcomers, if it is to be shown.
    public func setCode(_ code: PairingCode?) { change { $0.code = code } }

    /// Where browsers come, shown with who is here.
    public func setWeb(_ web: WindowCode) {
        guard read({ $0.web != web }) else { return }
        change { $0.web = web }
    }

    /// The room has ended for this device; the window says why until the person closes it.
    public func setFarewell(_ reason: String) { change { $0.farewell = reason } }

    /// Asks whether this is the room that the person means, before anything is shared in it. Nil: it isn't asked any more.
    public func setDoubt(_ question: String?) { change { $0.doubt = question } }

    /// Another room that the person can enter, and how: without a full stop. Nil: there is none any more.
    public func setOffer(_ words: String?) { change { $0.offer = words } }

    // MARK: Pictures through other members

    /// The person is asked whether to see what `source` shares through `relay`.
    ///
    /// - Parameter text: without the keys that answer.
    public func askRelay(_ source: DeviceKey, through relay: DeviceKey, _ text: String) {
        change { content in
            content.relayQuestions.removeAll { $0.source == source }
            content.questions += 1
            content.relayQuestions.append(
                RelayQuestion(source: source, relay: relay, text: text, number: -content.questions))
        }
    }

    /// It is answered, or has no point any more.
    public func settleRelay(_ source: DeviceKey) {
        change { content in content.relayQuestions.removeAll { $0.source == source } }
    }

    // MARK: Newcomers

    /// Somebody asks to be let in: the person is asked whether to compare digits.
    public func ask(_ connection: ConnectionID, from visitor: Visitor) {
        change { content in
            content.questions += 1
            content.newcomers.append(Newcomer(connection: connection, visitor: visitor, number: content.questions))
        }
    }

    /// Both screens show these digits: the person is asked whether they are the same.
    public func compare(_ connection: ConnectionID, digits: PairingCode) {
        change { content in
            guard let index = content.newcomers.firstIndex(where: { $0.connection == connection }) else { return }
            content.questions += 1
            content.newcomers[index].step = .comparing(digits)
            content.newcomers[index].number = content.questions
        }
    }

    /// The question is answered, here or elsewhere, or nobody waits for an answer any more.
    ///
    /// - Parameter isAgreed: the person has agreed to compare: the digits follow.
    public func settle(_ connection: ConnectionID, isAgreed: Bool) {
        change { content in
            guard let index = content.newcomers.firstIndex(where: { $0.connection == connection }) else { return }
            if isAgreed, !connection.isBrowser, case .asking = content.newcomers[index].step {
                content.newcomers[index].step = .waiting
            } else {
                content.newcomers.remove(at: index)
            }
        }
    }

    /// The room was left for another one, which has another window. Browsers have nothing to do with the room: they still
    /// wait for an answer.
    public func reset() {
        change { content in
            let old = content
            content = Content(own: old.own)
            (content.version, content.words, content.code) = (old.version, old.words, old.code)
            content.web = old.web
            content.questions = old.questions
            content.newcomers = old.newcomers.filter(\.connection.isBrowser)
        }
    }

    /// Makes `MeshWindow.run` return.
    public func endWindow() { change { $0.isEnded = true } }

    /// The room's new lines for the transcript.
    func takeWords() -> (words: WordBoard, transcript: (isNew: Bool, lines: [TranscriptLine])) {
        state.withLock { state in
            let transcript = state.content.words.takeTranscript()
            return (state.content.words, transcript)
        }
    }
}

extension MeshBoard.Content {
    /// A line for each person in the window: a name, a tab, what that person does.
    var peopleLines: [String] {
        guard farewell == nil else { return [] }
        return people.map { person in "\(PeerText.name(person.name))\t\(state(of: person))" }
            + (code.map { ["code for newcomers\t\($0.spaced)"] } ?? []) + ["this device's key\t\(own)"]
    }

    /// The number of the question whether this is the right room.
    static let doubtNumber = Int.min

    /// What the person is asked now.
    var ask: WindowAsk? {
        guard farewell == nil else { return nil }
        for newcomer in newcomers {
            let name = newcomer.visitor.name.map { "“\($0)”" } ?? "\(newcomer.visitor.address)"
            let isOther = newcomer.visitor.isNamesake ? " It isn't the known device of that name." : ""
            switch newcomer.step {
            case .asking where newcomer.connection.isBrowser:
                return WindowAsk(
                    id: newcomer.number,
                    text: "Let \(name) (\(newcomer.visitor.address)) watch what you share, in a browser? y or n")
            case .asking:
                return WindowAsk(
                    id: newcomer.number,
                    text: "Let \(name) (\(newcomer.visitor.address)) in?\(isOther) You'll compare digits first: y or n")
            case .comparing(let digits):
                return WindowAsk(
                    id: newcomer.number, text: "Does \(name) show the same digits?", code: "\(digits)",
                    detail: "They are to be compared, not typed. Press y if they are the same, and n if not.")
            case .waiting: continue
            }
        }
        if let doubt { return WindowAsk(id: Self.doubtNumber, text: doubt) }
        if let question = relayQuestions.first {
            return WindowAsk(id: question.number, text: "\(question.text) y or n")
        }
        return offer.map { WindowAsk(id: 0, text: $0, takesLetters: false) }
    }

    /// What is asked in the question about a picture with this number.
    func relayQuestion(_ number: Int) -> MeshBoard.RelayQuestion? { relayQuestions.first { $0.number == number } }

    /// The newcomer that the question with this number is about.
    func connection(asked number: Int) -> ConnectionID? {
        newcomers.first { $0.number == number }?.connection
    }

    private func state(of person: MeshPerson) -> String {
        if person.device == own {
            return isSharing ? (isPaused ? "you, paused" : "you, sharing") : "you"
        }
        guard person.isHere else { return "away" }
        let doing = person.isSharing ? (person.isPaused ? "paused" : "sharing") : "here"
        guard let hops = person.hops, hops > 1 else { return doing }
        return "\(doing), by \(hops - 1 == 1 ? "another member" : "\(hops - 1) others")"
    }

    /// Shown while no picture is there.
    var invitation: WindowMessage {
        if let farewell {
            return WindowMessage(
                headline: "You are not in the room any more", detail: "\(farewell) Press q to close.")
        }
        guard let room else { return WindowMessage(headline: "Entering the room…") }
        let others = people.count { $0.device != own && $0.isHere }
        let here =
            switch others {
            case 0: "Nobody else is here yet."
            case 1: "One other person is here, and shares no screen."
            default: "\(others) other people are here, and none of them shares a screen."
            }
        let share =
            isSharing
            ? (others == 0 ? "Whoever comes sees your screen." : "The others see your screen.")
            : "Press s to share your screen."
        // In one piece: digits that are read out aren't broken between two lines.
        let entry = code.map { "To let somebody in: code\u{A0}\($0.spaced.replacing(" ", with: "\u{A0}"))." }
        return WindowMessage(
            headline: "The room “\(room)”", detail: [here, share, entry].compactMap(\.self).joined(separator: " "))
    }
}
