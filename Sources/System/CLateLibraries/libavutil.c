#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/cpu.h>
#include <libavutil/frame.h>
#include <libavutil/hwcontext.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

#include "late.h"
#include "late_libraries.h"

#define LIBAVUTIL(F) \
    F(AVBufferRef *, av_buffer_alloc, (size_t size), (size)) \
    F(AVBufferRef *, av_buffer_create, (uint8_t *data, size_t size, void (*free)(void *opaque, uint8_t *data), \
      void *opaque, int flags), (data, size, free, opaque, flags)) \
    F(int, av_buffer_is_writable, (const AVBufferRef *buf), (buf)) \
    F(AVBufferRef *, av_buffer_ref, (const AVBufferRef *buf), (buf)) \
    F(void, av_buffer_unref, (AVBufferRef **buf), (buf)) \
    F(void, av_channel_layout_default, (AVChannelLayout *ch_layout, int nb_channels), (ch_layout, nb_channels)) \
    F(int, av_cpu_count, (void), ()) \
    F(AVRational, av_d2q, (double d, int max), (d, max)) \
    F(void, av_dict_free, (AVDictionary **m), (m)) \
    F(int, av_dict_set, (AVDictionary **pm, const char *key, const char *value, int flags), (pm, key, value, flags)) \
    F(AVFrame *, av_frame_alloc, (void), ()) \
    F(int, av_frame_copy, (AVFrame *dst, const AVFrame *src), (dst, src)) \
    F(void, av_frame_free, (AVFrame **frame), (frame)) \
    F(int, av_frame_get_buffer, (AVFrame *frame, int align), (frame, align)) \
    F(int, av_frame_make_writable, (AVFrame *frame), (frame)) \
    F(void, av_frame_move_ref, (AVFrame *dst, AVFrame *src), (dst, src)) \
    F(void, av_frame_unref, (AVFrame *frame), (frame)) \
    F(void, av_free, (void *ptr), (ptr)) \
    F(void, av_freep, (void *ptr), (ptr)) \
    F(const char *, av_get_pix_fmt_name, (enum AVPixelFormat pix_fmt), (pix_fmt)) \
    F(int, av_hwdevice_ctx_create, (AVBufferRef **device_ctx, enum AVHWDeviceType type, const char *device, \
      AVDictionary *opts, int flags), (device_ctx, type, device, opts, flags)) \
    F(const char *, av_hwdevice_get_type_name, (enum AVHWDeviceType type), (type)) \
    F(AVBufferRef *, av_hwframe_ctx_alloc, (AVBufferRef *device_ctx), (device_ctx)) \
    F(int, av_hwframe_ctx_init, (AVBufferRef *ref), (ref)) \
    F(int, av_hwframe_get_buffer, (AVBufferRef *hwframe_ctx, AVFrame *frame, int flags), (hwframe_ctx, frame, \
      flags)) \
    F(int, av_hwframe_transfer_data, (AVFrame *dst, const AVFrame *src, int flags), (dst, src, flags)) \
    F(void, av_log_set_level, (int level), (level)) \
    F(void *, av_malloc, (size_t size), (size)) \
    F(void *, av_mallocz, (size_t size), (size)) \
    F(int, av_opt_set_double, (void *obj, const char *name, double val, int search_flags), (obj, name, val, \
      search_flags)) \
    F(int, av_opt_set_int, (void *obj, const char *name, int64_t val, int search_flags), (obj, name, val, \
      search_flags)) \
    F(const AVPixFmtDescriptor *, av_pix_fmt_desc_get, (enum AVPixelFormat pix_fmt), (pix_fmt)) \
    F(int64_t, av_rescale_q, (int64_t a, AVRational bq, AVRational cq), (a, bq, cq)) \
    F(int, av_strerror, (int errnum, char *errbuf, size_t errbuf_size), (errnum, errbuf, errbuf_size))

LATE_LIBRARY(libavutil, LIBAVUTIL, "libavutil.so." AV_STRINGIFY(LIBAVUTIL_VERSION_MAJOR))
#define DEFINE(...) LATE_FUNCTION(libavutil, __VA_ARGS__)
LIBAVUTIL(DEFINE)
#undef DEFINE

const char *beam_load_libavutil(void) { return late_load(&libavutil); }
