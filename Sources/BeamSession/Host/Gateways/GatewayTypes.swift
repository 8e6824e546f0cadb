import BeamMedia
import BeamWire

/// What is wrong with a gateway. Texts are ends of sentences, cleaned, without a full stop.
public enum GatewayProblem: Error, Sendable, Hashable {
    /// No connection to it; in the system's words.
    case unreachable(reason: String)
    /// Its certificate isn't one that this machine trusts, or is for another name.
    case certificate(reason: String)
    /// What answers isn't Janus' WebSocket.
    case notJanus(reason: String)
    /// It wants a token, or takes the one that was given for none of its own.
    case unauthorised(hasToken: Bool)
    /// It has no streaming plugin.
    case noPlugin
    /// It makes mountpoints only for those who know the streaming plugin's admin key.
    case adminKey(isGiven: Bool)
    /// It refuses for another reason; its words may be empty.
    case refused(code: Int, reason: String)
    /// It hasn't answered a request in time.
    case silent
    /// Its answer can't be used.
    case badAnswer
    /// It sends far more than it was asked for.
    case flood
    /// The connection was there, and was lost.
    case lost
    /// This machine can't protect what it sends; why.
    case unprotected(reason: String)
}

public enum GatewayEvent: Sendable, Hashable {
    /// Others can watch there, for the first time or again.
    case ready(again: Bool)
    /// They can't, or soon can't; it is tried again.
    case problem(GatewayProblem)
    /// So many watch there.
    case viewers(Int)
}

extension GatewayControl {
    public struct Configuration: Sendable {
        public var mountpoint: GatewayMountpoint
        public var hasSound: Bool
        /// Mountpoints that hosts have left there that were killed: they are destroyed first.
        public var leftovers: [GatewayMountpoint]
        /// For what the person is told when it is refused.
        public var hasToken: Bool
        public var hasAdminKey: Bool

        public init(
            mountpoint: GatewayMountpoint, hasSound: Bool, leftovers: [GatewayMountpoint] = [], hasToken: Bool = false,
            hasAdminKey: Bool = false
        ) {
            self.mountpoint = mountpoint
            self.hasSound = hasSound
            self.leftovers = Array(leftovers.prefix(GatewayControl.mostLeftovers))
            self.hasToken = hasToken
            self.hasAdminKey = hasAdminKey
        }
    }

    public enum Output: Sendable, Hashable {
        /// Open the connection; answered by `connected` or `failed`.
        case connect
        /// Close it, without a word to this object.
        case disconnect
        case send(JanusRequest, transaction: String)
        /// The mountpoint takes packets at these ports of the gateway, with this key; any other one is forgotten. Answered by
        /// `sendingBegan` or `sendingFailed`.
        case begin(GatewayPorts, GatewayKey)
        /// It takes none any more.
        case stop
        case event(GatewayEvent)
        /// A leftover, or the own mountpoint, isn't there any more, and needn't be remembered.
        case cleared(GatewayMountpoint)
        /// After `end`: all is done.
        case ended
        /// Call `pollOutput` again at that time, or after the next input; `.distantFuture`: only then.
        case wait(until: MediaTime)
    }
}
