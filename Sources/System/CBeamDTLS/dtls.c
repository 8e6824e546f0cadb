#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "connection.h"

struct beam_dtls_identity {
    SSL_CTX *context;
    uint8_t fingerprint[beam_fingerprint_bytes];
};

// Retransmission (RFC 6347, 4.2.4.1), in microseconds: on a local network an answer takes a millisecond.
enum { first_timeout = 100000, longest_timeout = 1000000 };

static unsigned next_timeout(SSL *ssl, unsigned last) {
    (void)ssl;
    if (last == 0) return first_timeout;
    return last >= longest_timeout / 2 ? longest_timeout : last * 2;
}

static int fingerprint_of(const X509 *certificate, uint8_t *fingerprint) {
    unsigned length = 0;
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (!X509_digest(certificate, EVP_sha256(), digest, &length) || length != beam_fingerprint_bytes) return 0;
    memcpy(fingerprint, digest, beam_fingerprint_bytes);
    return 1;
}

// In place of chains and names: the fingerprint came by the signalling, and it alone counts (RFC 8122, 6.2).
static int verify(X509_STORE_CTX *store, void *unused) {
    (void)unused;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    beam_dtls *dtls = ssl ? SSL_get_ex_data(ssl, 0) : NULL;
    X509 *certificate = X509_STORE_CTX_get0_cert(store);
    uint8_t shown[beam_fingerprint_bytes];
    if (dtls && certificate && fingerprint_of(certificate, shown) &&
        CRYPTO_memcmp(shown, dtls->peer, sizeof shown) == 0) {
        dtls->is_verified = 1;
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

static X509 *certificate_for(EVP_PKEY *key) {
    uint64_t serial = 0;
    X509 *certificate = X509_new();
    X509_NAME *name = certificate ? X509_get_subject_name(certificate) : NULL;
    if (name && RAND_bytes((uint8_t *)&serial, sizeof serial) == 1 && X509_set_version(certificate, 2) &&
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), 365 * 86400) &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"BeamRoom", -1, -1, 0) &&
        X509_set_issuer_name(certificate, name) && X509_set_pubkey(certificate, key) &&
        X509_sign(certificate, key, EVP_sha256()))
        return certificate;
    X509_free(certificate);
    return NULL;
}

static int configure(SSL_CTX *context, X509 *certificate, EVP_PKEY *key) {
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, NULL);
    // SSL_CTX_set_tlsext_use_srtp returns 0 for success.
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) &&
           SSL_CTX_set_cipher_list(
               context,
               "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305") &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256") &&
           !SSL_CTX_set_tlsext_use_srtp(context, "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80") &&
           SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1;
}

beam_dtls_identity *beam_dtls_identity_create(void) {
    beam_dtls_identity *identity = calloc(1, sizeof *identity);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key ? certificate_for(key) : NULL;
    if (identity) identity->context = SSL_CTX_new(DTLS_method());
    int is_made = identity && identity->context && certificate &&
                  fingerprint_of(certificate, identity->fingerprint) &&
                  configure(identity->context, certificate, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (is_made) return identity;
    beam_dtls_identity_free(identity);
    return NULL;
}

void beam_dtls_identity_free(beam_dtls_identity *identity) {
    if (!identity) return;
    if (identity->context) SSL_CTX_free(identity->context);
    free(identity);
}

void beam_dtls_identity_fingerprint(const beam_dtls_identity *identity, uint8_t *fingerprint) {
    memcpy(fingerprint, identity->fingerprint, beam_fingerprint_bytes);
}

beam_dtls *beam_dtls_create(const beam_dtls_identity *identity, int is_client, const uint8_t *peer) {
    beam_dtls *dtls = calloc(1, sizeof *dtls);
    if (!dtls) return NULL;
    dtls->is_client = is_client;
    memcpy(dtls->peer, peer, sizeof dtls->peer);
    dtls->ssl = SSL_new(identity->context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    if (!dtls->ssl || !in || !out || !SSL_set_ex_data(dtls->ssl, 0, dtls)) {
        BIO_free(in);
        BIO_free(out);
        beam_dtls_free(dtls);
        return NULL;
    }
    // Empty isn't the end: it means that nothing has arrived.
    BIO_set_mem_eof_return(in, -1);
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(dtls->ssl, in, out);
    dtls->in = in;
    dtls->out = out;
    SSL_set_mtu(dtls->ssl, beam_dtls_datagram_bytes);
    DTLS_set_timer_cb(dtls->ssl, next_timeout);
    if (is_client) SSL_set_connect_state(dtls->ssl);
    else SSL_set_accept_state(dtls->ssl);
    return dtls;
}

void beam_dtls_free(beam_dtls *dtls) {
    if (!dtls) return;
    if (dtls->ssl) SSL_free(dtls->ssl);
    free(dtls);
}

static beam_dtls_state ended(beam_dtls *dtls, int result) {
    switch (SSL_get_error(dtls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: break;
    case SSL_ERROR_ZERO_RETURN: dtls->state = beam_dtls_closed; break;
    default: dtls->state = beam_dtls_failed; break;
    }
    ERR_clear_error();
    return dtls->state;
}

static beam_dtls_state step(beam_dtls *dtls) {
    ERR_clear_error();
    if (!SSL_is_init_finished(dtls->ssl)) {
        int result = SSL_do_handshake(dtls->ssl);
        if (result != 1) return ended(dtls, result);
    }
    if (dtls->state == beam_dtls_handshaking)
        dtls->state = dtls->is_verified ? beam_dtls_established : beam_dtls_failed;
    // Takes alerts and a peer's last flight, if that is sent again. There are no data: they are dropped.
    uint8_t dropped[2048];
    int result;
    do {
        result = SSL_read(dtls->ssl, dropped, sizeof dropped);
    } while (result > 0);
    return ended(dtls, result);
}

beam_dtls_state beam_dtls_receive(beam_dtls *dtls, const uint8_t *bytes, size_t length) {
    if (dtls->state == beam_dtls_closed || dtls->state == beam_dtls_failed) return dtls->state;
    if (length > INT16_MAX) return dtls->state;
    if (length > 0 && BIO_write(dtls->in, bytes, (int)length) != (int)length) return dtls->state;
    return step(dtls);
}

beam_dtls_state beam_dtls_time_out(beam_dtls *dtls) {
    ERR_clear_error();
    // Negative after too many of them.
    if (dtls->state == beam_dtls_handshaking && DTLSv1_handle_timeout(dtls->ssl) < 0) dtls->state = beam_dtls_failed;
    ERR_clear_error();
    return dtls->state;
}

int64_t beam_dtls_timeout(beam_dtls *dtls) {
    struct timeval left;
    if (dtls->state != beam_dtls_handshaking || !DTLSv1_get_timeout(dtls->ssl, &left)) return -1;
    return (int64_t)left.tv_sec * 1000000000 + (int64_t)left.tv_usec * 1000;
}

size_t beam_dtls_next(beam_dtls *dtls, uint8_t *buffer, size_t capacity) {
    // The BIO joins records: each has its length in its header (RFC 6347, 4.1).
    enum { header = 13 };
    uint8_t *waiting = NULL;
    long count = BIO_get_mem_data(dtls->out, &waiting);
    if (count < header) return 0;
    size_t length = header + (size_t)(waiting[header - 2] << 8 | waiting[header - 1]);
    if (length > (size_t)count || length > capacity) {
        (void)BIO_reset(dtls->out);
        return 0;
    }
    int got = BIO_read(dtls->out, buffer, (int)length);
    return got > 0 ? (size_t)got : 0;
}

void beam_dtls_close(beam_dtls *dtls) {
    if (dtls->state != beam_dtls_established) return;
    ERR_clear_error();
    SSL_shutdown(dtls->ssl);
    ERR_clear_error();
    dtls->state = beam_dtls_closed;
}
