import BeamTerminal
import BeamWire

/// What makes a room that was entered the one that the person means. What discovery tells proves nothing, so nothing is
/// shared in a room without a proof before the person has said that it is the right one.
enum MeetingProof: Sendable, Equatable {
    /// It was made here, or is remembered as the right one; or the door has proved its key, which is known, or the code;
    /// or the person has named its address, or said that it is the right one.
    case given
    /// Digits were compared with those of the door with this key, but only the person there has said that they agree.
    case compared(PairingCode, with: DeviceKey)
    /// The door with this key has let this device in, and everybody else. Nil: it did so at an earlier time.
    case none(door: DeviceKey?)

    var isGiven: Bool { self == .given }

    /// Why nothing is shared yet: a sentence.
    var reason: String? {
        switch self {
        case .given: nil
        case .compared: "Only the person there has compared the digits."
        case .none: "Nobody in this room has proved that it is the one that you mean."
        }
    }

    /// What the person is asked before anything is shared, without the keys that answer it; nil: nothing.
    func question(_ room: String) -> String? {
        switch self {
        case .given: nil
        case .compared(let digits, let door):
            "You were let into “\(room)” with the digits \(digits.spaced), by the device with the key \(door). "
                + "Have the people whom you mean seen the same digits? Then they get what you share."
        case .none(let door?):
            "“\(room)” has proved nothing: anybody can announce that name. The device with the key \(door) has let you in. "
                + "Is it the room that you mean? Then everybody in it gets what you share."
        case .none(nil):
            "“\(room)” has proved nothing, when you entered it before: anybody can announce that name. "
                + "Is it the room that you mean? Then everybody in it gets what you share."
        }
    }
}
