import CCrypto
import Synchronization

/// AES-128-GCM (NIST SP 800-38D) with one key, in place: seals or opens datagrams.
///
/// OpenSSL's context is made once for a key and used for each datagram without an allocation. swift-crypto, used for
/// everything else, makes nine allocations to seal a datagram and has no call that works in place.
final class DatagramCipher: @unchecked Sendable {
    // Sendable: `handle`, which has the state of the datagram in work, is used only under `lock`.

    /// OpenSSL's `enc` argument.
    enum Direction: Int32, Sendable {
        case open = 0
        case seal = 1
    }

    /// 12 bytes: the key's salt as it lies in memory, then the datagram's counter in network order.
    package struct Nonce {
        let salt: UInt32
        package let high: UInt32
        package let low: UInt32

        init(salt: UInt32, counter: UInt64) {
            self.salt = salt
            high = UInt32(truncatingIfNeeded: counter >> 32).bigEndian
            low = UInt32(truncatingIfNeeded: counter).bigEndian
        }
    }

    private let lock = Mutex(())
    private let handle: OpaquePointer

    /// Nil if OpenSSL lacks the cipher or has no memory.
    init?(key: SealingKey, _ direction: Direction) {
        guard key.key.count == SealingKey.keyLength, let handle = EVP_CIPHER_CTX_new() else { return nil }
        self.handle = handle
        guard EVP_CipherInit_ex(handle, EVP_aes_128_gcm(), nil, key.key, nil, direction.rawValue) == 1 else {
            return nil
        }
    }

    /// OpenSSL wipes the key.
    deinit { EVP_CIPHER_CTX_free(handle) }

    /// Encrypts `content` in place, and writes its tag. If it returns false, `content` is undefined.
    func seal(
        _ content: UnsafeMutableRawBufferPointer, header: UnsafeRawBufferPointer, nonce: Nonce,
        tag: UnsafeMutableRawBufferPointer
    ) -> Bool {
        lock.withLock { _ in update(nonce, header: header, content: content) && finish() && readTag(into: tag) }
    }

    /// Decrypts `content` in place. Returns false, and wipes `content`, if header, content and tag don't match.
    func open(
        _ content: UnsafeMutableRawBufferPointer, header: UnsafeRawBufferPointer, nonce: Nonce,
        tag: UnsafeRawBufferPointer
    ) -> Bool {
        let isAuthentic = lock.withLock { _ in
            update(nonce, header: header, content: content) && expectTag(tag) && finish()
        }
        if !isAuthentic, let base = content.baseAddress { OPENSSL_cleanse(base, content.count) }
        return isAuthentic
    }

    // MARK: Steps, under the lock

    /// Sets the nonce, then processes the associated data and the content.
    private func update(
        _ nonce: Nonce, header: UnsafeRawBufferPointer, content: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let nonceIsSet = withUnsafeBytes(of: nonce) {
            EVP_CipherInit_ex(handle, nil, nil, nil, $0.baseAddress, -1) == 1
        }
        var count: Int32 = 0
        guard nonceIsSet, EVP_CipherUpdate(handle, nil, &count, header.baseAddress, Int32(header.count)) == 1 else {
            return false
        }
        guard !content.isEmpty else { return true }
        return EVP_CipherUpdate(handle, content.baseAddress, &count, content.baseAddress, Int32(content.count)) == 1
            && count == content.count
    }

    /// Ends the datagram; when opening, checks the tag. GCM is a stream cipher, so no bytes are left to be written.
    private func finish() -> Bool {
        var count: Int32 = 0
        return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) {
            EVP_CipherFinal_ex(handle, $0.baseAddress, &count) == 1 && count == 0
        }
    }

    private func readTag(into tag: UnsafeMutableRawBufferPointer) -> Bool {
        EVP_CIPHER_CTX_ctrl(handle, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), tag.baseAddress) == 1
    }

    private func expectTag(_ tag: UnsafeRawBufferPointer) -> Bool {
        // OpenSSL only reads it.
        EVP_CIPHER_CTX_ctrl(
            handle, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), UnsafeMutableRawPointer(mutating: tag.baseAddress)) == 1
    }
}
