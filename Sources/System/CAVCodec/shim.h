#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/cpu.h>
#include <libavutil/frame.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Macros that Swift cannot import.
static const int beam_averror_eagain = AVERROR(EAGAIN);
static const int beam_averror_eof = AVERROR_EOF;
static const int beam_averror_invaliddata = AVERROR_INVALIDDATA;
static const int64_t beam_av_nopts_value = AV_NOPTS_VALUE;
