#include <srtp2/srtp.h>

#include "late.h"
#include "late_libraries.h"

#define LIBSRTP(F) \
    F(srtp_err_status_t, srtp_create, (srtp_t *session, const srtp_policy_t *policy), (session, policy)) \
    F(void, srtp_crypto_policy_set_aes_gcm_128_16_auth, (srtp_crypto_policy_t *p), (p)) \
    F(void, srtp_crypto_policy_set_rtp_default, (srtp_crypto_policy_t *p), (p)) \
    F(srtp_err_status_t, srtp_dealloc, (srtp_t s), (s)) \
    F(srtp_err_status_t, srtp_init, (void), ()) \
    F(srtp_err_status_t, srtp_protect, (srtp_t ctx, void *rtp_hdr, int *len_ptr), (ctx, rtp_hdr, len_ptr)) \
    F(srtp_err_status_t, srtp_protect_rtcp, (srtp_t ctx, void *rtcp_hdr, int *pkt_octet_len), (ctx, rtcp_hdr, \
      pkt_octet_len)) \
    F(srtp_err_status_t, srtp_unprotect, (srtp_t ctx, void *srtp_hdr, int *len_ptr), (ctx, srtp_hdr, len_ptr)) \
    F(srtp_err_status_t, srtp_unprotect_rtcp, (srtp_t ctx, void *srtcp_hdr, int *pkt_octet_len), (ctx, srtcp_hdr, \
      pkt_octet_len))

LATE_LIBRARY(libsrtp, LIBSRTP, "libsrtp2.so.1")
#define DEFINE(...) LATE_FUNCTION(libsrtp, __VA_ARGS__)
LIBSRTP(DEFINE)
#undef DEFINE

const char *beam_load_libsrtp(void) { return late_load(&libsrtp); }
