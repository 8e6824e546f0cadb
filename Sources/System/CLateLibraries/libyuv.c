#include <libyuv/compare.h>
#include <libyuv/convert_from.h>
#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>

#include "late.h"
#include "late_libraries.h"

#define LIBYUV(F) \
    F(uint64_t, ComputeSumSquareErrorPlane, (const uint8_t *src_a, int stride_a, const uint8_t *src_b, int \
      stride_b, int width, int height), (src_a, stride_a, src_b, stride_b, width, height)) \
    F(int, I420ToYUY2, (const uint8_t *src_y, int src_stride_y, const uint8_t *src_u, int src_stride_u, const uint8_t * \
      src_v, int src_stride_v, uint8_t *dst_yuy2, int dst_stride_yuy2, int width, int height), (src_y, src_stride_y, \
      src_u, src_stride_u, src_v, src_stride_v, dst_yuy2, dst_stride_yuy2, width, height)) \
    F(void, MergeUVPlane, (const uint8_t *src_u, int src_stride_u, const uint8_t *src_v, int src_stride_v, uint8_t * \
      dst_uv, int dst_stride_uv, int width, int height), (src_u, src_stride_u, src_v, src_stride_v, dst_uv, \
      dst_stride_uv, width, height)) \
    F(void, ScalePlane, (const uint8_t *src, int src_stride, int src_width, int src_height, uint8_t *dst, int \
      dst_stride, int dst_width, int dst_height, enum FilterMode filtering), (src, src_stride, src_width, \
      src_height, dst, dst_stride, dst_width, dst_height, filtering)) \
    F(void, SplitUVPlane, (const uint8_t *src_uv, int src_stride_uv, uint8_t *dst_u, int dst_stride_u, uint8_t * \
      dst_v, int dst_stride_v, int width, int height), (src_uv, src_stride_uv, dst_u, dst_stride_u, dst_v, \
      dst_stride_v, width, height))

// The headers have no interface version; Debian has only had 0.
LATE_LIBRARY(libyuv, LIBYUV, "libyuv.so.0")
#define DEFINE(...) LATE_FUNCTION(libyuv, __VA_ARGS__)
LIBYUV(DEFINE)
#undef DEFINE
