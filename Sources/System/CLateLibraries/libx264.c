#include <stdint.h>
#include <x264.h>

#include "late.h"
#include "late_libraries.h"

#define TEXT(number) #number
#define VERSION(number) TEXT(number)

#define LIBX264(F) \
    F(void, x264_encoder_close, (x264_t *encoder), (encoder)) \
    F(int, x264_encoder_encode, (x264_t *encoder, x264_nal_t **pp_nal, int *pi_nal, x264_picture_t *pic_in, \
      x264_picture_t *pic_out), (encoder, pp_nal, pi_nal, pic_in, pic_out)) \
    F(int, x264_encoder_headers, (x264_t *encoder, x264_nal_t **pp_nal, int *pi_nal), (encoder, pp_nal, pi_nal)) \
    F(int, x264_encoder_invalidate_reference, (x264_t *encoder, int64_t pts), (encoder, pts)) \
    F(x264_t *, x264_encoder_open, (x264_param_t *param), (param)) \
    F(int, x264_param_apply_profile, (x264_param_t *param, const char *profile), (param, profile)) \
    F(int, x264_param_default_preset, (x264_param_t *param, const char *preset, const char *tune), (param, \
      preset, tune)) \
    F(void, x264_picture_init, (x264_picture_t *pic), (pic))

LATE_LIBRARY(libx264, LIBX264, "libx264.so." VERSION(X264_BUILD))
#define DEFINE(...) LATE_FUNCTION(libx264, __VA_ARGS__)
LIBX264(DEFINE)
#undef DEFINE

const char *beam_load_libx264(void) { return late_load(&libx264); }
