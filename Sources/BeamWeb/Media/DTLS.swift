import BeamWire
import CBeamDTLS
import CLateLibraries

/// The host's throw-away certificate for WebRTC, another one at each start. Owns the C handle.
final class DTLSIdentity {
    fileprivate let handle: OpaquePointer
    /// SHA-256 of the certificate.
    let fingerprint: [UInt8]

    /// Loads libssl and libsrtp2.
    init() throws(MediaUnavailable) {
        for load in [beam_load_libssl, beam_load_libsrtp] {
            if let reason = load() { throw MediaUnavailable(reason: String(cString: reason)) }
        }
        guard let handle = beam_dtls_identity_create() else {
            throw MediaUnavailable(reason: "libssl can't make a certificate for it")
        }
        self.handle = handle
        fingerprint = [UInt8](unsafeUninitializedCapacity: Int(beam_fingerprint_bytes)) { buffer, count in
            count = buffer.count
            if let base = buffer.baseAddress { beam_dtls_identity_fingerprint(handle, base) }
        }
    }

    deinit { beam_dtls_identity_free(handle) }
}

/// Why no browser can be sent packets; the end of a sentence.
struct MediaUnavailable: Error, Equatable {
    let reason: String
}

/// One browser's DTLS connection. Owns the C handle.
final class DTLSConnection {
    enum Role { case server, client }

    enum State { case handshaking, established, closed, failed }

    fileprivate let handle: OpaquePointer
    /// It needs the certificate as long as it lives.
    private let identity: DTLSIdentity
    private(set) var state = State.handshaking

    /// - Parameter peer: the fingerprint that the peer's certificate must have: 32 bytes. Nothing is established with
    ///   another one.
    init?(_ identity: DTLSIdentity, _ role: Role, peer: [UInt8]) {
        guard peer.count == Int(beam_fingerprint_bytes),
            let handle = beam_dtls_create(identity.handle, role == .client ? 1 : 0, peer)
        else { return nil }
        self.handle = handle
        self.identity = identity
    }

    deinit { beam_dtls_free(handle) }

    /// Takes a datagram; a client begins with an empty one.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        state = State(beam_dtls_receive(handle, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count))
    }

    /// From now; nil: nothing has to be sent again.
    var timeout: Duration? {
        let nanoseconds = beam_dtls_timeout(handle)
        return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
    }

    func timeOut() { state = State(beam_dtls_time_out(handle)) }

    /// The datagrams to send now.
    func takeDatagrams(_ body: (UnsafeRawBufferPointer) -> Void) {
        let capacity = 2 * Int(beam_dtls_datagram_bytes)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
            guard let base = buffer.baseAddress else { return }
            while true {
                let count = beam_dtls_next(handle, base, capacity)
                guard count > 0 else { return }
                body(UnsafeRawBufferPointer(start: base, count: count))
            }
        }
    }

    /// Makes the last message.
    func close() {
        beam_dtls_close(handle)
        if state == .established { state = .closed }
    }
}

extension DTLSConnection.State {
    fileprivate init(_ state: beam_dtls_state) {
        switch state {
        case beam_dtls_handshaking: self = .handshaking
        case beam_dtls_established: self = .established
        case beam_dtls_closed: self = .closed
        default: self = .failed
        }
    }
}

/// SRTP and SRTCP with the keys of a DTLS connection. Owns the C handle.
final class SRTPSession {
    private let handle: OpaquePointer
    /// What protecting adds at most, in bytes.
    static let overhead = Int(beam_srtp_trailer_bytes)
    /// Whether the packets are AEAD_AES_128_GCM, not AES128_CM_SHA1_80.
    let usesGCM: Bool
    /// Sources of control packets that were authentic. Each costs memory in libsrtp2.
    private var sources: Set<UInt32> = []
    private static let mostSources = 8

    /// Nil if the connection isn't established.
    init?(_ connection: DTLSConnection) {
        guard let handle = beam_srtp_create(connection.handle) else { return nil }
        self.handle = handle
        usesGCM = beam_srtp_uses_gcm(handle) != 0
    }

    /// For a gateway, which sends nothing back. Loads libsrtp2.
    init(sending key: GatewayKey) throws(MediaUnavailable) {
        // libssl, too: what cleans the key out of the memory is its own.
        for load in [beam_load_libssl, beam_load_libsrtp] {
            if let reason = load() { throw MediaUnavailable(reason: String(cString: reason)) }
        }
        guard let handle = beam_srtp_create_sending(key.bytes) else {
            throw MediaUnavailable(reason: "libsrtp2 can't be used")
        }
        self.handle = handle
        usesGCM = false
    }

    deinit { beam_srtp_free(handle) }

    enum Kind { case media, control }

    /// Protects the packet of `count` bytes in place: `memory` has `overhead` more. Returns the new length.
    func protect(_ kind: Kind, _ memory: UnsafeMutableRawBufferPointer, count: Int) -> Int? {
        guard let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self), memory.count >= count + Self.overhead
        else { return nil }
        let length =
            kind == .media
            ? beam_srtp_protect(handle, base, count) : beam_srtp_protect_control(handle, base, count)
        return length < 0 ? nil : length
    }

    /// Checks and opens the packet in place. Nil if it isn't authentic, or was received before.
    func open(_ kind: Kind, _ memory: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard memory.count >= 12, let base = memory.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        // RFC 3550, 5.1 and 6.4.
        let offset = kind == .media ? 8 : 4
        let source = UInt32(bigEndian: memory.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        guard sources.contains(source) || sources.count < Self.mostSources else { return nil }
        let length =
            kind == .media
            ? beam_srtp_unprotect(handle, base, memory.count)
            : beam_srtp_unprotect_control(handle, base, memory.count)
        guard length >= 0 else { return nil }
        sources.insert(source)
        return UnsafeRawBufferPointer(start: base, count: length)
    }
}
