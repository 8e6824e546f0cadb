#pragma once
#include <pulse/pulseaudio.h>

// Macros that Swift cannot import, or that it imports as functions.
static inline int beam_pulse_is_context_good(pa_context_state_t state) { return PA_CONTEXT_IS_GOOD(state); }
static inline int beam_pulse_is_stream_good(pa_stream_state_t state) { return PA_STREAM_IS_GOOD(state); }
static const uint32_t beam_pulse_no_index = PA_INVALID_INDEX;
static const pa_sample_format_t beam_pulse_float = PA_SAMPLE_FLOAT32NE;
