import Crypto

extension SealingKey {
    /// The key that seals sound beside the pictures that this key seals: HKDF-SHA-256 (RFC 5869) of key and salt, with the
    /// same number.
    ///
    /// So sound has a counter and a replay window of its own: whatever bursts of pictures go before it, a sound datagram
    /// never counts as too old.
    package var forSound: SealingKey {
        let length = Self.keyLength + Self.saltLength
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key + salt), info: Self.soundInfo, outputByteCount: length)
        return SealingKey(number: number, derived: derived.withUnsafeBytes { Array($0) })
    }

    private static let soundInfo = Array("BeamRoom 2 sound".utf8)
}
