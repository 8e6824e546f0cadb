import BeamLog
import BeamMedia
import BeamSession
import BeamWire

/// What serves viewers and browsers: a host, or a relay.
public protocol ServingHost: AnyObject, Sendable {
    var description: HostDescription { get }
    /// Warnings from the start, for the person.
    var warnings: [String] { get }
    /// The codes at the start, for unknown viewers and for browsers; nil: none is accepted.
    var code: PairingCode? { get }
    var webCode: PairingCode? { get }
    var isPaused: Bool { get }
    /// The admitted viewers, in the order of admission. Not on the event loop.
    var viewers: [Guest] { get }
    /// What was written into the transcript; nil: there is none, or its failure was reported.
    var transcript: TranscriptReport? { get }

    func setCode(_ code: PairingCode)
    func setWebCode(_ code: PairingCode)
    /// Ends the viewer's stream; see `Host.sendAway`.
    func sendAway(_ viewer: Guest.Identity, forGood: Bool)
    /// Totals; the stages' times since the last report, or since the start.
    func report(sinceStart: Bool) -> HostReport
}

extension Host: ServingHost {}
