#pragma once
#include <stdint.h>
#include <x264.h>

// The function's name carries the library's version, through a macro that Swift cannot import.
static inline x264_t *beam_x264_encoder_open(x264_param_t *param) { return x264_encoder_open(param); }
