#include <libswscale/swscale.h>

#include "late.h"
#include "late_libraries.h"

#define LIBSWSCALE(F) \
    F(struct SwsContext *, sws_alloc_context, (void), ()) \
    F(void, sws_frame_end, (struct SwsContext *c), (c)) \
    F(int, sws_frame_start, (struct SwsContext *c, AVFrame *dst, const AVFrame *src), (c, dst, src)) \
    F(void, sws_freeContext, (struct SwsContext *swsContext), (swsContext)) \
    F(const int *, sws_getCoefficients, (int colorspace), (colorspace)) \
    F(int, sws_init_context, (struct SwsContext *sws_context, SwsFilter *srcFilter, SwsFilter *dstFilter), \
      (sws_context, srcFilter, dstFilter)) \
    F(int, sws_receive_slice, (struct SwsContext *c, unsigned int slice_start, unsigned int slice_height), (c, \
      slice_start, slice_height)) \
    F(int, sws_scale, (struct SwsContext *c, const uint8_t *const srcSlice[], const int srcStride[], int \
      srcSliceY, int srcSliceH, uint8_t *const dst[], const int dstStride[]), (c, srcSlice, srcStride, \
      srcSliceY, srcSliceH, dst, dstStride)) \
    F(int, sws_scale_frame, (struct SwsContext *c, AVFrame *dst, const AVFrame *src), (c, dst, src)) \
    F(int, sws_send_slice, (struct SwsContext *c, unsigned int slice_start, unsigned int slice_height), (c, \
      slice_start, slice_height)) \
    F(int, sws_setColorspaceDetails, (struct SwsContext *c, const int inv_table[4], int srcRange, const int \
      table[4], int dstRange, int brightness, int contrast, int saturation), (c, inv_table, srcRange, table, \
      dstRange, brightness, contrast, saturation))

LATE_LIBRARY(libswscale, LIBSWSCALE, "libswscale.so." AV_STRINGIFY(LIBSWSCALE_VERSION_MAJOR))
#define DEFINE(...) LATE_FUNCTION(libswscale, __VA_ARGS__)
LIBSWSCALE(DEFINE)
#undef DEFINE

const char *beam_load_libswscale(void) { return late_load(&libswscale); }
