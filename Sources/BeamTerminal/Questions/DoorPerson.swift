import BeamLog
import BeamSession
import BeamWire

/// The person at a door, who decides who is let in. The terminal implements it; a test can answer in a person's place.
public protocol DoorPerson: AnyObject, Sendable {
    /// Keys are commands while nothing is asked.
    var takesCommands: Bool { get }
    /// Asks whether to let in a version 1 viewer, which shows `code`.
    func ask(_ connection: ConnectionID, code: PairingCode, from visitor: Visitor)
    /// Asks whether to let a browser watch.
    func askAboutBrowser(_ connection: ConnectionID, from visitor: Visitor)
    /// Asks whether to compare digits with somebody.
    func askToCompare(_ connection: ConnectionID, from visitor: Visitor)
    /// The visitor with which the person has agreed to compare shows these digits.
    func compare(_ connection: ConnectionID, digits: PairingCode)
    func withdraw(_ connection: ConnectionID)
    /// Another member of the room, called `name`, has answered first.
    func taken(_ connection: ConnectionID, by name: String)
}
