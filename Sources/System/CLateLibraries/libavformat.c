#include <libavformat/avformat.h>

#include "late.h"
#include "late_libraries.h"

#define LIBAVFORMAT(F) \
    F(int, av_find_best_stream, (AVFormatContext *ic, enum AVMediaType type, int wanted_stream_nb, int \
      related_stream, const AVCodec **decoder_ret, int flags), (ic, type, wanted_stream_nb, related_stream, \
      decoder_ret, flags)) \
    F(int, av_read_frame, (AVFormatContext *s, AVPacket *pkt), (s, pkt)) \
    F(uint8_t *, av_stream_get_side_data, (const AVStream *stream, enum AVPacketSideDataType type, size_t \
      *size), (stream, type, size)) \
    F(int, av_write_frame, (AVFormatContext *s, AVPacket *pkt), (s, pkt)) \
    F(int, av_write_trailer, (AVFormatContext *s), (s)) \
    F(AVFormatContext *, avformat_alloc_context, (void), ()) \
    F(int, avformat_alloc_output_context2, (AVFormatContext **ctx, const AVOutputFormat *oformat, const char \
      *format_name, const char *filename), (ctx, oformat, format_name, filename)) \
    F(void, avformat_close_input, (AVFormatContext **s), (s)) \
    F(int, avformat_find_stream_info, (AVFormatContext *ic, AVDictionary **options), (ic, options)) \
    F(void, avformat_free_context, (AVFormatContext *s), (s)) \
    F(AVStream *, avformat_new_stream, (AVFormatContext *s, const AVCodec *c), (s, c)) \
    F(int, avformat_open_input, (AVFormatContext **ps, const char *url, const AVInputFormat *fmt, AVDictionary \
      **options), (ps, url, fmt, options)) \
    F(int, avformat_seek_file, (AVFormatContext *s, int stream_index, int64_t min_ts, int64_t ts, int64_t \
      max_ts, int flags), (s, stream_index, min_ts, ts, max_ts, flags)) \
    F(int, avformat_write_header, (AVFormatContext *s, AVDictionary **options), (s, options)) \
    F(AVIOContext *, avio_alloc_context, (unsigned char *buffer, int buffer_size, int write_flag, void *opaque, \
      int (*read_packet)(void *opaque, uint8_t *buf, int buf_size), int (*write_packet)(void *opaque, uint8_t \
      *buf, int buf_size), int64_t (*seek)(void *opaque, int64_t offset, int whence)), (buffer, buffer_size, \
      write_flag, opaque, read_packet, write_packet, seek)) \
    F(void, avio_context_free, (AVIOContext **s), (s)) \
    F(void, avio_flush, (AVIOContext *s), (s))

LATE_LIBRARY(libavformat, LIBAVFORMAT, "libavformat.so." AV_STRINGIFY(LIBAVFORMAT_VERSION_MAJOR))
#define DEFINE(...) LATE_FUNCTION(libavformat, __VA_ARGS__)
LIBAVFORMAT(DEFINE)
#undef DEFINE

const char *beam_load_libavformat(void) { return late_load(&libavformat); }
