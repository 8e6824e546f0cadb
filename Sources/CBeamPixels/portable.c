// The colour kernels in plain C, in a form that compilers make vector code of.
#include "variants.h"

#include <string.h>

static void rows_to_i420(const uint8_t *row0, const uint8_t *row1, uint8_t *restrict y0, uint8_t *restrict y1,
                         uint8_t *restrict u, uint8_t *restrict v, int pixels, const beam_to_yuv *k) {
    for (int x = 0; x < pixels; x++) {
        const uint8_t *p = row0 + 4 * x, *q = row1 + 4 * x;
        y0[x] = (uint8_t)((p[0] * k->y_b + p[1] * k->y_g + p[2] * k->y_r + k->y_offset) >> 15);
        y1[x] = (uint8_t)((q[0] * k->y_b + q[1] * k->y_g + q[2] * k->y_r + k->y_offset) >> 15);
    }
    // Four pixels' sum, so two more bits of fraction: 128 and a half in 17 bits.
    const int32_t offset = (128 << 17) + (1 << 16);
    for (int x = 0; x < pixels / 2; x++) {
        const uint8_t *p = row0 + 8 * x, *q = row1 + 8 * x;
        int b = p[0] + p[4] + q[0] + q[4], g = p[1] + p[5] + q[1] + q[5], r = p[2] + p[6] + q[2] + q[6];
        u[x] = (uint8_t)((b * k->u_b + g * k->u_g + r * k->u_r + offset) >> 17);
        v[x] = (uint8_t)((b * k->v_b + g * k->v_g + r * k->v_r + offset) >> 17);
    }
}

static void mix_rows(const uint8_t *near_row, const uint8_t *far_row, int16_t *restrict mixed, int count) {
    for (int x = 0; x < count; x++) mixed[x] = (int16_t)(3 * near_row[x] + far_row[x]);
}

// a × b / 32768, rounded to the nearest: the multiplication that processors have for 16-bit fractions.
static inline int16_t scale(int16_t a, int16_t b) { return (int16_t)((a * b + (1 << 14)) >> 15); }

static inline uint8_t clamp(int16_t value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

// Sixteenths of a sample (0…4080) to (sample − 128) × 128.
static inline int16_t centred(int sixteenths) { return (int16_t)((sixteenths << 3) - (128 << 7)); }

// A block of pixels; `u` and `v`: (sample − 128) × 128. Loops over whole blocks, one thing each, are what compilers vectorise.
static inline void store_block(uint8_t *restrict output, const uint8_t *restrict y, const int16_t *restrict u,
                               const int16_t *restrict v, const beam_to_rgb *k) {
    uint8_t blue[BEAM_BLOCK], green[BEAM_BLOCK], red[BEAM_BLOCK];
    for (int x = 0; x < BEAM_BLOCK; x++) {
        int16_t luma = (int16_t)(scale((int16_t)(y[x] << 7), k->luma) + k->offset);
        blue[x] = clamp((int16_t)(luma + scale(u[x], k->blue_u)) >> 5);
        green[x] = clamp((int16_t)(luma + scale(u[x], k->green_u) + scale(v[x], k->green_v)) >> 5);
        red[x] = clamp((int16_t)(luma + scale(v[x], k->red_v)) >> 5);
    }
    for (int x = 0; x < BEAM_BLOCK; x++) {
        output[4 * x] = blue[x];
        output[4 * x + 1] = green[x];
        output[4 * x + 2] = red[x];
        output[4 * x + 3] = 255;
    }
}

static void mixed_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, uint8_t *output, int pixels,
                          const beam_to_rgb *k) {
    for (int x = 0; x < pixels; x += BEAM_BLOCK, y += BEAM_BLOCK, u += BEAM_BLOCK / 2, v += BEAM_BLOCK / 2) {
        int16_t u_block[BEAM_BLOCK], v_block[BEAM_BLOCK];
        for (int i = 0; i < BEAM_BLOCK / 2; i++) {
            u_block[2 * i] = centred(3 * u[i] + u[i - 1]);
            u_block[2 * i + 1] = centred(3 * u[i] + u[i + 1]);
            v_block[2 * i] = centred(3 * v[i] + v[i - 1]);
            v_block[2 * i + 1] = centred(3 * v[i] + v[i + 1]);
        }
        store_block(output + 4 * x, y, u_block, v_block, k);
    }
}

static void i444_row_to_bgrx(const uint8_t *y, const uint8_t *u, const uint8_t *v, uint8_t *output, int pixels,
                             const beam_to_rgb *k) {
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        int16_t u_block[BEAM_BLOCK], v_block[BEAM_BLOCK];
        for (int i = 0; i < BEAM_BLOCK; i++) {
            u_block[i] = centred(u[x + i] << 4);
            v_block[i] = centred(v[x + i] << 4);
        }
        store_block(output + 4 * x, y + x, u_block, v_block, k);
    }
}

static void mark_changed(const uint8_t *a, const uint8_t *b, int width, int count, uint8_t *tiles) {
    for (int i = 0; i < count; i++, a += width, b += width) {
        if (!tiles[i]) tiles[i] = memcmp(a, b, (size_t)width) != 0;
    }
}

const beam_variant beam_portable = {rows_to_i420, mix_rows, mixed_to_bgrx, i444_row_to_bgrx, mark_changed};
