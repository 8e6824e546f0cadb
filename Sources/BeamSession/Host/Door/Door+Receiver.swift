import BeamMedia
import BeamWire

/// The door of a receiver (`StationSession`), whose guests bring a screen.
extension Door {
    static let onlyReceiver =
        "This is a receiver, which can't be watched: it shows the screen of whoever runs `beamroom share --to` with its name"
    static let noReceiver = "This isn't a receiver. `beamroom watch --wait` makes a machine one"

    /// Tells the guest that its offer is awaited.
    mutating func awaitOffer(of guest: ViewerID) { send(.screenAwaited, to: guest) }

    /// Tells the guest why nothing of it is shown, and lets it go.
    mutating func turnAway(
        _ guest: ViewerID, _ refusal: SecureMessage.Refusal, reason: String, now: MediaTime
    ) {
        send(.refused(refusal, reason), to: guest)
        left(guest, reason: reason, now: now)
    }

    /// All is said: its screen is watched now, over another connection.
    mutating func letGo(_ guest: ViewerID, now: MediaTime) {
        send(.bye(SecureMessage.screenShown), to: guest)
        left(guest, reason: SecureMessage.screenShown, now: now)
    }
}
