#include <openssl/ssl.h>

#include "late.h"
#include "late_libraries.h"

// libcrypto is linked, because every program needs it. `SSL_set_mtu` and the like are macros around SSL_ctrl.
#define LIBSSL(F) \
    F(const SSL_METHOD *, DTLS_method, (void), ()) \
    F(void, DTLS_set_timer_cb, (SSL *s, DTLS_timer_cb cb), (s, cb)) \
    F(long, SSL_CTX_ctrl, (SSL_CTX *ctx, int cmd, long larg, void *parg), (ctx, cmd, larg, parg)) \
    F(void, SSL_CTX_free, (SSL_CTX *ctx), (ctx)) \
    F(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *meth), (meth)) \
    F(void, SSL_CTX_set_cert_verify_callback, (SSL_CTX *ctx, int (*cb)(X509_STORE_CTX *, void *), void *arg), \
      (ctx, cb, arg)) \
    F(int, SSL_CTX_set_cipher_list, (SSL_CTX *ctx, const char *str), (ctx, str)) \
    F(uint64_t, SSL_CTX_set_options, (SSL_CTX *ctx, uint64_t op), (ctx, op)) \
    F(int, SSL_CTX_set_tlsext_use_srtp, (SSL_CTX *ctx, const char *profiles), (ctx, profiles)) \
    F(void, SSL_CTX_set_verify, (SSL_CTX *ctx, int mode, SSL_verify_cb callback), (ctx, mode, callback)) \
    F(int, SSL_CTX_use_PrivateKey, (SSL_CTX *ctx, EVP_PKEY *pkey), (ctx, pkey)) \
    F(int, SSL_CTX_use_certificate, (SSL_CTX *ctx, X509 *x), (ctx, x)) \
    F(long, SSL_ctrl, (SSL *ssl, int cmd, long larg, void *parg), (ssl, cmd, larg, parg)) \
    F(int, SSL_do_handshake, (SSL *s), (s)) \
    F(int, SSL_export_keying_material, (SSL *s, unsigned char *out, size_t olen, const char *label, size_t llen, \
      const unsigned char *context, size_t contextlen, int use_context), (s, out, olen, label, llen, context, \
      contextlen, use_context)) \
    F(void, SSL_free, (SSL *ssl), (ssl)) \
    F(int, SSL_get_error, (const SSL *s, int ret_code), (s, ret_code)) \
    F(void *, SSL_get_ex_data, (const SSL *ssl, int idx), (ssl, idx)) \
    F(int, SSL_get_ex_data_X509_STORE_CTX_idx, (void), ()) \
    F(SRTP_PROTECTION_PROFILE *, SSL_get_selected_srtp_profile, (SSL *s), (s)) \
    F(int, SSL_is_init_finished, (const SSL *s), (s)) \
    F(SSL *, SSL_new, (SSL_CTX *ctx), (ctx)) \
    F(int, SSL_read, (SSL *ssl, void *buf, int num), (ssl, buf, num)) \
    F(void, SSL_set_accept_state, (SSL *s), (s)) \
    F(void, SSL_set_bio, (SSL *s, BIO *rbio, BIO *wbio), (s, rbio, wbio)) \
    F(void, SSL_set_connect_state, (SSL *s), (s)) \
    F(int, SSL_set_ex_data, (SSL *ssl, int idx, void *data), (ssl, idx, data)) \
    F(int, SSL_shutdown, (SSL *s), (s))

LATE_LIBRARY(libssl, LIBSSL, "libssl.so.3")
#define DEFINE(...) LATE_FUNCTION(libssl, __VA_ARGS__)
LIBSSL(DEFINE)
#undef DEFINE

const char *beam_load_libssl(void) { return late_load(&libssl); }
