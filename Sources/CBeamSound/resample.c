#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "CBeamSound.h"

// Interpolation by a windowed sinc (J. O. Smith, "Digital Audio Resampling", 2020). libspeexdsp does the same, but
// takes its ratio as a fraction whose denominator has to stay below 65536 (`speex_resampler_set_rate_frac` fails
// otherwise), so that nothing lies between 1 and 1 + 15 ppm; and it computes its table again at each change. Here the
// position is a number, and the table is the same for all ratios. 10 ms take 12 us (speexdsp's quality 3: 34), at 90
// to 104 dB (85 to 108) for tones of 1 to 18 kHz.

enum { TAPS = 2 * beam_resampler_latency, PHASES = 512, CHUNK = 512 };

// Passes up to 20 kHz at 48 kHz; 24 kHz is attenuated by more than 60 dB. The window's β is 7: side lobes at -70 dB.
static const double cutoff = 0.92, beta = 7;

typedef float vec __attribute__((vector_size(16), aligned(4), may_alias));

// filters[p] weights the frames around a point that is p / PHASES behind a frame. The last one is that of the next
// frame, for interpolation between neighbours.
static float filters[PHASES + 1][TAPS] __attribute__((aligned(64)));
static pthread_once_t filters_once = PTHREAD_ONCE_INIT;

struct beam_resampler {
    // The last frames that were read, the left ones and the right ones, of which the first TAPS - 1 are from before.
    float history[2][TAPS + CHUNK];
    size_t filled;
    // Where the next output frame lies: so far behind the middle of history[0 ..< TAPS].
    double position;
};

// The modified Bessel function of the first kind, order 0.
static double bessel(double x) {
    double sum = 1, term = 1;
    for (int k = 1; term > sum * 1e-12; k++) {
        term *= (x / (2 * k)) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

static void make_filters(void) {
    for (int phase = 0; phase <= PHASES; phase++) {
        double sum = 0, weights[TAPS];
        for (int tap = 0; tap < TAPS; tap++) {
            double x = tap - (TAPS / 2 - 1) - (double)phase / PHASES;
            double inside = 1 - (x / (TAPS / 2.0)) * (x / (TAPS / 2.0));
            double window = inside > 0 ? bessel(beta * sqrt(inside)) / bessel(beta) : 0;
            double angle = M_PI * cutoff * x;
            weights[tap] = window * (fabs(angle) < 1e-9 ? 1 : sin(angle) / angle);
            sum += weights[tap];
        }
        // So that a constant stays what it is.
        for (int tap = 0; tap < TAPS; tap++) filters[phase][tap] = (float)(weights[tap] / sum);
    }
}

struct beam_resampler *beam_resampler_new(void) {
    pthread_once(&filters_once, make_filters);
    struct beam_resampler *resampler = malloc(sizeof *resampler);
    if (resampler) beam_resampler_reset(resampler);
    return resampler;
}

void beam_resampler_free(struct beam_resampler *resampler) { free(resampler); }

void beam_resampler_reset(struct beam_resampler *resampler) {
    memset(resampler, 0, sizeof *resampler);
    resampler->filled = TAPS - 1;
}

static float sum_of(vec v) { return (v[0] + v[1]) + (v[2] + v[3]); }

static void interpolate(const struct beam_resampler *resampler, size_t first, double fraction, float *output) {
    double place = fraction * PHASES;
    size_t phase = (size_t)place;
    float between = (float)(place - (double)phase);
    vec between4 = {between, between, between, between};
    const float *near = filters[phase], *far = filters[phase + 1];
    const float *left = resampler->history[0] + first, *right = resampler->history[1] + first;
    vec left_sum = {0}, right_sum = {0};
    for (size_t tap = 0; tap < TAPS; tap += 4) {
        vec weight = *(const vec *)(near + tap);
        weight += between4 * (*(const vec *)(far + tap) - weight);
        left_sum += weight * *(const vec *)(left + tap);
        right_sum += weight * *(const vec *)(right + tap);
    }
    output[0] = sum_of(left_sum);
    output[1] = sum_of(right_sum);
}

size_t beam_resampler_process(struct beam_resampler *resampler, const float *input, size_t input_frames, size_t *used,
                              float *output, size_t output_frames, double ratio) {
    // True for NaN, too.
    if (!(ratio > BEAM_RESAMPLER_LEAST_RATIO)) ratio = BEAM_RESAMPLER_LEAST_RATIO;
    if (ratio > BEAM_RESAMPLER_MOST_RATIO) ratio = BEAM_RESAMPLER_MOST_RATIO;
    size_t read = 0, written = 0;
    while (written < output_frames) {
        size_t first = (size_t)resampler->position;
        if (first + TAPS > resampler->filled) {
            if (read == input_frames) break;
            // Moves what is still needed to the beginning, and fills up. A filter never begins behind what is there by
            // more than a frame.
            size_t done = first < resampler->filled ? first : resampler->filled;
            size_t kept = resampler->filled - done;
            size_t more = input_frames - read < TAPS + CHUNK - kept ? input_frames - read : TAPS + CHUNK - kept;
            for (int channel = 0; channel < 2; channel++) {
                float *history = resampler->history[channel];
                memmove(history, history + done, kept * sizeof *history);
                for (size_t i = 0; i < more; i++) history[kept + i] = input[2 * (read + i) + (size_t)channel];
            }
            resampler->filled = kept + more;
            resampler->position -= (double)done;
            read += more;
            continue;
        }
        interpolate(resampler, first, resampler->position - (double)first, output + 2 * written);
        resampler->position += ratio;
        written++;
    }
    *used = read;
    return written;
}
