#include <math.h>

#include "CBeamSound.h"

void beam_sound_clip(float *samples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        // Comparisons with NaN are false.
        float sample = samples[i] == samples[i] ? samples[i] : 0;
        sample = sample > 1 ? 1 : sample;
        samples[i] = sample < -1 ? -1 : sample;
    }
}

float beam_sound_ramp(float *samples, size_t frames, float gain, float target, float step) {
    size_t i = 0;
    for (; i < frames && gain != target; i++) {
        float rest = target - gain;
        gain = fabsf(rest) <= step ? target : gain + (rest < 0 ? -step : step);
        samples[2 * i] *= gain;
        samples[2 * i + 1] *= gain;
    }
    if (gain == 1) return gain;
    for (size_t j = 2 * i; j < 2 * frames; j++) samples[j] *= gain;
    return gain;
}
