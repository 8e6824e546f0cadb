#include <libavcodec/avcodec.h>

#include "late.h"
#include "late_libraries.h"

#define LIBAVCODEC(F) \
    F(int, av_codec_is_encoder, (const AVCodec *codec), (codec)) \
    F(const AVCodec *, av_codec_iterate, (void **opaque), (opaque)) \
    F(int, av_new_packet, (AVPacket *pkt, int size), (pkt, size)) \
    F(AVPacket *, av_packet_alloc, (void), ()) \
    F(void, av_packet_free, (AVPacket **pkt), (pkt)) \
    F(void, av_packet_move_ref, (AVPacket *dst, AVPacket *src), (dst, src)) \
    F(void, av_packet_unref, (AVPacket *pkt), (pkt)) \
    F(AVCodecContext *, avcodec_alloc_context3, (const AVCodec *codec), (codec)) \
    F(enum AVPixelFormat, avcodec_default_get_format, (struct AVCodecContext *s, const enum AVPixelFormat * \
      fmt), (s, fmt)) \
    F(const AVCodec *, avcodec_find_decoder, (enum AVCodecID id), (id)) \
    F(const AVCodec *, avcodec_find_encoder_by_name, (const char *name), (name)) \
    F(void, avcodec_flush_buffers, (AVCodecContext *avctx), (avctx)) \
    F(void, avcodec_free_context, (AVCodecContext **avctx), (avctx)) \
    F(const AVCodecHWConfig *, avcodec_get_hw_config, (const AVCodec *codec, int index), (codec, index)) \
    F(const char *, avcodec_get_name, (enum AVCodecID id), (id)) \
    F(int, avcodec_open2, (AVCodecContext *avctx, const AVCodec *codec, AVDictionary **options), (avctx, codec, \
      options)) \
    F(int, avcodec_parameters_to_context, (AVCodecContext *codec, const AVCodecParameters *par), (codec, par)) \
    F(int, avcodec_receive_frame, (AVCodecContext *avctx, AVFrame *frame), (avctx, frame)) \
    F(int, avcodec_receive_packet, (AVCodecContext *avctx, AVPacket *avpkt), (avctx, avpkt)) \
    F(int, avcodec_send_frame, (AVCodecContext *avctx, const AVFrame *frame), (avctx, frame)) \
    F(int, avcodec_send_packet, (AVCodecContext *avctx, const AVPacket *avpkt), (avctx, avpkt))

LATE_LIBRARY(libavcodec, LIBAVCODEC, "libavcodec.so." AV_STRINGIFY(LIBAVCODEC_VERSION_MAJOR))
#define DEFINE(...) LATE_FUNCTION(libavcodec, __VA_ARGS__)
LIBAVCODEC(DEFINE)
#undef DEFINE

const char *beam_load_libavcodec(void) { return late_load(&libavcodec); }
