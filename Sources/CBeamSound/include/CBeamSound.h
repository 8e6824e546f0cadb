#pragma once
#include <stdbool.h>
#include <stddef.h>

// What is done to every sample, in C for its vector instructions. A frame is a sample for the left and one for the
// right, in this order.

/// Brings samples into the range from -1 to 1, and makes silence of what isn't a number.
void beam_sound_clip(float *samples, size_t count);

/// Multiplies frames by a gain that moves from `gain` towards `target` by at most `step` a frame. Returns the gain
/// after the last one.
float beam_sound_ramp(float *samples, size_t frames, float gain, float target, float step);

/// Reads sound at a rate that differs a little from the one at which it was recorded.
struct beam_resampler;

enum {
    /// Frames by which the output is later than the input: half the length of the filter.
    beam_resampler_latency = 24
};

/// Between these the filter loses nothing and lets nothing through that would be mirrored into what can be heard.
#define BEAM_RESAMPLER_LEAST_RATIO 0.97
#define BEAM_RESAMPLER_MOST_RATIO 1.03

/// NULL if there is no memory left.
struct beam_resampler *beam_resampler_new(void);
void beam_resampler_free(struct beam_resampler *resampler);

/// Forgets what came before.
void beam_resampler_reset(struct beam_resampler *resampler);

/// Reads `input` until it is used up or `output` is full. `ratio` is input frames for each output frame, brought into
/// the range above; it may change with every call, by any small amount. Returns how many frames were written; `*used`
/// is how many were read.
size_t beam_resampler_process(struct beam_resampler *resampler, const float *input, size_t input_frames, size_t *used,
                              float *output, size_t output_frames, double ratio);
