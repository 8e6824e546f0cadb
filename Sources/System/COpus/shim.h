#pragma once
#include <opus/opus.h>

// Requests, which are macros with a cast. They are made with `beam_opus_encoder_set` and the like of CLateLibraries.
enum {
    beam_opus_set_bitrate = OPUS_SET_BITRATE_REQUEST,
    beam_opus_set_vbr = OPUS_SET_VBR_REQUEST,
    beam_opus_set_complexity = OPUS_SET_COMPLEXITY_REQUEST,
    beam_opus_get_lookahead = OPUS_GET_LOOKAHEAD_REQUEST,
};
