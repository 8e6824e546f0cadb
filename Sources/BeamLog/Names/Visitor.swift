import BeamWire

/// A peer that asks to be admitted, or was.
public struct Visitor: Sendable, Hashable, CustomStringConvertible {
    public var address: IPAddress
    /// A known device's stored name, or what an unknown one calls itself, made safe to show (`PeerText`); nil for
    /// version 1, which has no names. Nothing proves an unknown device's name.
    public var name: String?
    public var isEncrypted: Bool { name != nil }
    /// What a known device calls itself now, if that differs from its stored name.
    public var newName: String?
    /// Another paired device has this name.
    public var isNamesake: Bool

    /// `name` and `newName` as the device sent them; they are made safe to show here.
    public init(address: IPAddress, name: String?, newName: String? = nil, isNamesake: Bool = false) {
        self.address = address
        self.name = name.map { PeerText.name($0) }
        self.newName = newName.map { PeerText.name($0) }
        self.isNamesake = isNamesake
    }

    /// `“desk” (192.0.2.7)`, or the address alone.
    public var description: String { name.map { "“\($0)” (\(address))" } ?? "\(address)" }
}
