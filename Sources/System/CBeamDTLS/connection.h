#pragma once
#include <openssl/ssl.h>

#include "beam_dtls.h"

struct beam_dtls {
    SSL *ssl;
    // Owned by `ssl`: what was received, and what is to be sent.
    BIO *in;
    BIO *out;
    uint8_t peer[beam_fingerprint_bytes];
    int is_client;
    int is_verified;
    beam_dtls_state state;
};
