/// What both sides know before pairing, and what the pairing binds.
public struct PairingContext: Sendable {
    /// The length of `nonce` in bytes.
    public static let nonceLength = 32

    /// The device keys from the two certificates of this TLS connection.
    public var viewer: DeviceKey
    public var host: DeviceKey
    /// From the host's welcome: random for each connection, 32 bytes.
    public var nonce: [UInt8]
    /// The names that the two devices claim.
    public var viewerName: String
    public var hostName: String

    public init(viewer: DeviceKey, host: DeviceKey, nonce: [UInt8], viewerName: String, hostName: String) {
        precondition(nonce.count == Self.nonceLength)
        self.viewer = viewer
        self.host = host
        self.nonce = nonce
        self.viewerName = viewerName
        self.hostName = hostName
    }
}
