#include <libswresample/swresample.h>

#include "late.h"
#include "late_libraries.h"

#define LIBSWRESAMPLE(F) \
    F(int, swr_alloc_set_opts2, (struct SwrContext **ps, AVChannelLayout *out_ch_layout, enum AVSampleFormat \
      out_sample_fmt, int out_sample_rate, AVChannelLayout *in_ch_layout, enum AVSampleFormat in_sample_fmt, int \
      in_sample_rate, int log_offset, void *log_ctx), (ps, out_ch_layout, out_sample_fmt, out_sample_rate, \
      in_ch_layout, in_sample_fmt, in_sample_rate, log_offset, log_ctx)) \
    F(int, swr_convert, (struct SwrContext *s, uint8_t **out, int out_count, const uint8_t **in, int in_count), \
      (s, out, out_count, in, in_count)) \
    F(void, swr_free, (struct SwrContext **s), (s)) \
    F(int, swr_get_out_samples, (struct SwrContext *s, int in_samples), (s, in_samples)) \
    F(int, swr_init, (struct SwrContext *s), (s))

LATE_LIBRARY(libswresample, LIBSWRESAMPLE, "libswresample.so." AV_STRINGIFY(LIBSWRESAMPLE_VERSION_MAJOR))
#define DEFINE(...) LATE_FUNCTION(libswresample, __VA_ARGS__)
LIBSWRESAMPLE(DEFINE)
#undef DEFINE

const char *beam_load_libswresample(void) { return late_load(&libswresample); }
