#ifndef BEAM_DTLS_H
#define BEAM_DTLS_H

#include <stddef.h>
#include <stdint.h>

// DTLS 1.2 (RFC 6347) for media (DTLS-SRTP, RFC 5764), and SRTP (RFC 3711, RFC 7714) with the keys that come of it.
// Nothing here has a socket or a thread; each object is used by one thread at a time. libssl and libsrtp2 have to be
// loaded before (late_libraries.h).

enum {
    /// SHA-256 of a certificate in DER (RFC 8122, 5).
    beam_fingerprint_bytes = 32,
    /// The longest datagram of a handshake.
    beam_dtls_datagram_bytes = 1200,
    /// AES128_CM_SHA1_80's key and salt.
    beam_srtp_key_bytes = 30,
    /// What protecting a packet adds at most.
    beam_srtp_trailer_bytes = 144 + 4,
};

/// A throw-away key (ECDSA, P-256) with its self-signed certificate.
typedef struct beam_dtls_identity beam_dtls_identity;

/// NULL if libssl can't do it.
beam_dtls_identity *_Nullable beam_dtls_identity_create(void);
void beam_dtls_identity_free(beam_dtls_identity *_Nullable identity);
/// Writes `beam_fingerprint_bytes`.
void beam_dtls_identity_fingerprint(const beam_dtls_identity *_Nonnull identity, uint8_t *_Nonnull fingerprint);

/// One connection.
typedef struct beam_dtls beam_dtls;

typedef enum {
    beam_dtls_handshaking,
    /// The peer has proven that the certificate with the expected fingerprint is its own.
    beam_dtls_established,
    /// The peer has closed it.
    beam_dtls_closed,
    /// It can't be established: another certificate, no common cipher, a forged message.
    beam_dtls_failed,
} beam_dtls_state;

/// `peer`: the fingerprint that the peer's certificate must have (`beam_fingerprint_bytes`). NULL if there is no memory.
beam_dtls *_Nullable beam_dtls_create(
    const beam_dtls_identity *_Nonnull identity, int is_client, const uint8_t *_Nonnull peer);
void beam_dtls_free(beam_dtls *_Nullable dtls);

/// Takes one datagram; a client begins with none (`length` 0). What is to be sent then is in `beam_dtls_next`.
beam_dtls_state beam_dtls_receive(beam_dtls *_Nonnull dtls, const uint8_t *_Nullable bytes, size_t length);
/// The time has passed that `beam_dtls_timeout` told.
beam_dtls_state beam_dtls_time_out(beam_dtls *_Nonnull dtls);
/// Nanoseconds until `beam_dtls_time_out` is due; -1: nothing is to be sent again.
int64_t beam_dtls_timeout(beam_dtls *_Nonnull dtls);
/// Writes the next datagram to send into `buffer` of `capacity` bytes. Returns its length; 0: there is none.
size_t beam_dtls_next(beam_dtls *_Nonnull dtls, uint8_t *_Nonnull buffer, size_t capacity);
/// Says goodbye (close_notify).
void beam_dtls_close(beam_dtls *_Nonnull dtls);

/// SRTP and SRTCP, both ways, with an established connection's keys.
typedef struct beam_srtp beam_srtp;

/// NULL if the connection isn't established, or no profile was agreed on.
beam_srtp *_Nullable beam_srtp_create(beam_dtls *_Nonnull dtls);
/// One way only, out, with a key of `beam_srtp_key_bytes` (AES128_CM_SHA1_80) that was agreed on otherwise. NULL if there is
/// no memory. Nothing can be unprotected.
beam_srtp *_Nullable beam_srtp_create_sending(const uint8_t *_Nonnull key_and_salt);
void beam_srtp_free(beam_srtp *_Nullable srtp);
/// Whether the packets are AEAD_AES_128_GCM; otherwise AES128_CM_SHA1_80.
int beam_srtp_uses_gcm(const beam_srtp *_Nonnull srtp);

// In place. Return the packet's new length, or -1: it isn't authentic, was received before, or isn't a packet. A packet
// that is protected needs `beam_srtp_trailer_bytes` more behind it, and may be protected again to be sent again.
long beam_srtp_protect(beam_srtp *_Nonnull srtp, uint8_t *_Nonnull packet, size_t length);
long beam_srtp_protect_control(beam_srtp *_Nonnull srtp, uint8_t *_Nonnull packet, size_t length);
long beam_srtp_unprotect(beam_srtp *_Nonnull srtp, uint8_t *_Nonnull packet, size_t length);
long beam_srtp_unprotect_control(beam_srtp *_Nonnull srtp, uint8_t *_Nonnull packet, size_t length);

#endif
