#include <limits.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <srtp2/srtp.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"

_Static_assert(beam_srtp_trailer_bytes >= SRTP_MAX_TRAILER_LEN + 4, "a trailer, and SRTCP's index");

struct beam_srtp {
    srtp_t sending;
    srtp_t receiving;
    int uses_gcm;
};

// Packets that may arrive, or be sent again, behind the newest one: as many as BrowserLayer keeps.
enum { window = 4096 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_ready;

static void initialise(void) { is_ready = srtp_init() == srtp_err_status_ok; }

// RFC 5764, 4.2; RFC 7714, 12.
static int lengths(unsigned long profile, size_t *key, size_t *salt) {
    *key = 16;
    *salt = profile == SRTP_AEAD_AES_128_GCM ? 12 : 14;
    return profile == SRTP_AEAD_AES_128_GCM || profile == SRTP_AES128_CM_SHA1_80;
}

static srtp_t session(int uses_gcm, int is_sending, uint8_t *key_and_salt) {
    srtp_policy_t policy;
    memset(&policy, 0, sizeof policy);
    if (uses_gcm) {
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
    } else {
        srtp_crypto_policy_set_rtp_default(&policy.rtp);
        srtp_crypto_policy_set_rtp_default(&policy.rtcp);
    }
    policy.ssrc.type = is_sending ? ssrc_any_outbound : ssrc_any_inbound;
    policy.key = key_and_salt;
    policy.window_size = window;
    policy.allow_repeat_tx = 1;
    srtp_t made = NULL;
    return srtp_create(&made, &policy) == srtp_err_status_ok ? made : NULL;
}

beam_srtp *beam_srtp_create(beam_dtls *dtls) {
    static const char label[] = "EXTRACTOR-dtls_srtp";
    size_t key, salt;
    SRTP_PROTECTION_PROFILE *profile = SSL_get_selected_srtp_profile(dtls->ssl);
    pthread_once(&once, initialise);
    if (dtls->state != beam_dtls_established || !is_ready || !profile || !lengths(profile->id, &key, &salt))
        return NULL;
    // The client's key, the server's, the client's salt, the server's.
    uint8_t material[2 * (16 + 14)], keys[2][16 + 14];
    beam_srtp *srtp = NULL;
    if (SSL_export_keying_material(
            dtls->ssl, material, 2 * (key + salt), label, sizeof label - 1, NULL, 0, 0) == 1 &&
        (srtp = calloc(1, sizeof *srtp))) {
        for (size_t side = 0; side < 2; side++) {
            memcpy(keys[side], material + side * key, key);
            memcpy(keys[side] + key, material + 2 * key + side * salt, salt);
        }
        int own = dtls->is_client ? 0 : 1;
        srtp->uses_gcm = profile->id == SRTP_AEAD_AES_128_GCM;
        srtp->sending = session(srtp->uses_gcm, 1, keys[own]);
        srtp->receiving = session(srtp->uses_gcm, 0, keys[1 - own]);
    }
    OPENSSL_cleanse(material, sizeof material);
    OPENSSL_cleanse(keys, sizeof keys);
    if (srtp && srtp->sending && srtp->receiving) return srtp;
    beam_srtp_free(srtp);
    return NULL;
}

beam_srtp *beam_srtp_create_sending(const uint8_t *key_and_salt) {
    pthread_once(&once, initialise);
    beam_srtp *srtp = is_ready ? calloc(1, sizeof *srtp) : NULL;
    if (!srtp) return NULL;
    uint8_t key[beam_srtp_key_bytes];
    memcpy(key, key_and_salt, sizeof key);
    srtp->sending = session(0, 1, key);
    OPENSSL_cleanse(key, sizeof key);
    if (srtp->sending) return srtp;
    beam_srtp_free(srtp);
    return NULL;
}

void beam_srtp_free(beam_srtp *srtp) {
    if (!srtp) return;
    if (srtp->sending) srtp_dealloc(srtp->sending);
    if (srtp->receiving) srtp_dealloc(srtp->receiving);
    free(srtp);
}

int beam_srtp_uses_gcm(const beam_srtp *srtp) { return srtp->uses_gcm; }

typedef srtp_err_status_t transform(srtp_t session, void *packet, int *length);

static long apply(transform *change, srtp_t session, uint8_t *packet, size_t length) {
    if (!session || length > INT16_MAX) return -1;
    int count = (int)length;
    return change(session, packet, &count) == srtp_err_status_ok ? count : -1;
}

long beam_srtp_protect(beam_srtp *srtp, uint8_t *packet, size_t length) {
    return apply(srtp_protect, srtp->sending, packet, length);
}

long beam_srtp_protect_control(beam_srtp *srtp, uint8_t *packet, size_t length) {
    return apply(srtp_protect_rtcp, srtp->sending, packet, length);
}

long beam_srtp_unprotect(beam_srtp *srtp, uint8_t *packet, size_t length) {
    return apply(srtp_unprotect, srtp->receiving, packet, length);
}

long beam_srtp_unprotect_control(beam_srtp *srtp, uint8_t *packet, size_t length) {
    return apply(srtp_unprotect_rtcp, srtp->receiving, packet, length);
}
