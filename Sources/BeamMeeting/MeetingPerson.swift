import BeamSession
import BeamTerminal

/// The person who is in the room with this device. The terminal implements it; a test can answer in a person's place.
public protocol MeetingPerson: DoorPerson {
    /// What keys do; empty: nothing.
    var keys: [StatusLine.Key] { get }
    /// Those who wait for an answer, in words.
    var asking: [String] { get }
    /// Begins to ask about newcomers. Answers go to `decide`.
    func start(_ decide: @escaping @Sendable (ConnectionID, Bool) -> Void)
    /// Whether other members are asked the same.
    func setOthers(_ hasOthers: @escaping @Sendable () -> Bool)
    /// Asks something else, unless a newcomer waits for an answer.
    ///
    /// - Parameter isNext: it follows an answer of the person, who expects it.
    func ask(_ question: TerminalQuestions.Question, isNext: Bool)
    /// Takes back what `ask` has asked.
    func withdrawOwn()
    /// The room was left: nobody who asked to enter it waits for an answer any more. Browsers wait until `start` is called for
    /// the next room.
    func leaveRoom()
    /// The question was answered elsewhere: in a window, or by another member of the room.
    func answered(_ connection: ConnectionID, accept: Bool)
}

extension PairingPrompt: MeetingPerson {}
