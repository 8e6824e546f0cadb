// Colour kernels in plain C, written so that compilers can vectorise them.
#include "variants.h"

#include <string.h>

// Variants must give identical results, so multiplications and additions must not be fused.
#pragma STDC FP_CONTRACT OFF

static void rows_to_i420(const uint8_t *row0, const uint8_t *row1, uint8_t *restrict y0, uint8_t *restrict y1,
                         uint8_t *restrict u, uint8_t *restrict v, int pixels, const beam_to_yuv *k) {
    for (int x = 0; x < pixels; x++) {
        const uint8_t *p = row0 + 4 * x, *q = row1 + 4 * x;
        y0[x] = (uint8_t)((p[0] * k->y_b + p[1] * k->y_g + p[2] * k->y_r + k->y_offset) >> 15);
        y1[x] = (uint8_t)((q[0] * k->y_b + q[1] * k->y_g + q[2] * k->y_r + k->y_offset) >> 15);
    }
    // Sums of four pixels have two more fraction bits: 128 and 1/2 with 17 fraction bits.
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

// a × b / 32768, rounded to nearest, like the SIMD instruction for 16-bit fractions (pmulhrsw).
static inline int16_t scale(int16_t a, int16_t b) { return (int16_t)((a * b + (1 << 14)) >> 15); }

static inline uint8_t clamp(int16_t value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

// Converts 1/16 of a sample (0…4080) to (sample − 128) × 128.
static inline int16_t centred(int sixteenths) { return (int16_t)((sixteenths << 3) - (128 << 7)); }

// A block of pixels. `u` and `v` are (sample − 128) × 128. Each loop does one thing over a whole block, which compilers
// vectorise.
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

static void sum_2x2(const uint8_t *row0, const uint8_t *row1, int16_t *restrict sums, int count) {
    for (int x = 0; x < count; x++) sums[x] = (int16_t)(row0[2 * x] + row0[2 * x + 1] + row1[2 * x] + row1[2 * x + 1]);
}

static void mix_sums(const int16_t *near_row, const int16_t *far_row, int16_t *restrict mixed, int count) {
    for (int x = 0; x < count; x++) mixed[x] = (int16_t)(3 * near_row[x] + far_row[x]);
}

static inline int most(int a, int b) { return a > b ? a : b; }

static inline int least(int a, int b) { return a < b ? a : b; }

// Whether the 3 × 3 neighbourhoods of all samples in a block are flat.
static int are_flat(const uint8_t *above, const uint8_t *here, const uint8_t *below) {
    uint8_t upper[BEAM_BLOCK / 2 + 2], lower[BEAM_BLOCK / 2 + 2];
    for (int x = 0; x < BEAM_BLOCK / 2 + 2; x++) {
        upper[x] = (uint8_t)most(most(above[x - 1], here[x - 1]), below[x - 1]);
        lower[x] = (uint8_t)least(least(above[x - 1], here[x - 1]), below[x - 1]);
    }
    int range = 0;
    for (int x = 0; x < BEAM_BLOCK / 2; x++) {
        int highest = most(most(upper[x], upper[x + 1]), upper[x + 2]);
        range = most(range, highest - least(least(lower[x], lower[x + 1]), lower[x + 2]));
    }
    return range <= BEAM_SLOPE_FLAT;
}

// The residual of 3 × 3 samples after removing their plane, in the order of `weights`.
typedef struct detail {
    int32_t sums[6];
} detail;

static const int32_t weights[6] = {2, 2, 9, 3, 3, 1};

static inline detail detail_of(const int32_t *above, const int32_t *here, const int32_t *below) {
    int32_t mean[3], slope[3], bend[3];
    for (int i = 0; i < 3; i++) {
        mean[i] = above[i] + here[i] + below[i];
        slope[i] = below[i] - above[i];
        bend[i] = above[i] - 2 * here[i] + below[i];
    }
    detail result = {{mean[0] - 2 * mean[1] + mean[2], bend[0] + bend[1] + bend[2], slope[2] - slope[0],
                      slope[0] - 2 * slope[1] + slope[2], bend[2] - bend[0], bend[0] - 2 * bend[1] + bend[2]}};
    return result;
}

static inline detail byte_detail(const uint8_t *above, const uint8_t *here, const uint8_t *below) {
    const int32_t rows[3][3] = {{above[-1], above[0], above[1]}, {here[-1], here[0], here[1]}, {below[-1], below[0], below[1]}};
    return detail_of(rows[0], rows[1], rows[2]);
}

static inline detail sum_detail(const int16_t *above, const int16_t *here, const int16_t *below) {
    const int32_t rows[3][3] = {{above[-1], above[0], above[1]}, {here[-1], here[0], here[1]}, {below[-1], below[0], below[1]}};
    return detail_of(rows[0], rows[1], rows[2]);
}

static inline int32_t product(const detail *a, const detail *b) {
    int32_t sum = 0;
    for (int i = 0; i < 6; i++) sum += weights[i] * a->sums[i] * b->sums[i];
    return sum;
}

static inline int16_t slope_of(float covariance, float factor) {
    float slope = covariance * factor * (4 * BEAM_SLOPE_ONE);
    slope = slope > 2 * BEAM_SLOPE_ONE ? 2 * BEAM_SLOPE_ONE : slope;
    return (int16_t)(slope < -2 * BEAM_SLOPE_ONE ? -2 * BEAM_SLOPE_ONE : slope);
}

static int find_uneven(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below, int blocks,
                       beam_slopes *slopes) {
    int any = 0;
    for (int block = 0; block < blocks; block++) {
        const int in = BEAM_BEFORE + block * BEAM_BLOCK / 2;
        const int is_flat = are_flat(above->u + in, here->u + in, below->u + in);
        slopes->is_steep[block] = !(is_flat && are_flat(above->v + in, here->v + in, below->v + in));
        any |= slopes->is_steep[block];
    }
    return any;
}

static void fit_slopes(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below, int blocks,
                       beam_slopes *slopes) {
    for (int block = 0; block < blocks; block++) {
        if (!slopes->is_steep[block]) continue;
        const int begin = block * BEAM_BLOCK / 2, in = BEAM_BEFORE + begin;
        int any = 0;
        for (int x = 0; x < BEAM_BLOCK / 2; x++) {
            const int i = in + x;
            const detail dl = sum_detail(above->luma + i, here->luma + i, below->luma + i);
            const detail du = byte_detail(above->u + i, here->u + i, below->u + i);
            const detail dv = byte_detail(above->v + i, here->v + i, below->v + i);
            const float luma = (float)product(&dl, &dl), chroma = (float)(product(&du, &du) + product(&dv, &dv));
            const float p = (float)product(&dl, &du), q = (float)product(&dl, &dv);
            const float both = p * p + q * q;
            float gain = 1.75f * both - (0.75f * chroma + BEAM_SLOPE_LEAST_CHROMA) * luma;
            gain = gain > 0 ? gain : 0;
            const float factor = gain / (both * (luma + BEAM_SLOPE_LEAST_LUMA) + 1);
            slopes->u[begin + x] = slope_of(p, factor);
            slopes->v[begin + x] = slope_of(q, factor);
            any |= slopes->u[begin + x] | slopes->v[begin + x];
        }
        slopes->is_steep[block] = any != 0;
    }
}

// Adds the slope times the luma detail (in 1/64) to interpolated chroma (in 1/16 of a sample). Returns (sample - 128) ×
// 128.
static inline int16_t guided(int sixteenths, int16_t slope, int16_t luma) {
    int sum = sixteenths + scale(luma, slope);
    return centred(sum < 0 ? 0 : sum > 4080 ? 4080 : sum);
}

static void guided_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, const int16_t *luma, const int16_t *u_slopes,
                           const int16_t *v_slopes, uint8_t *output, int pixels, const beam_to_rgb *k) {
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        int16_t u_block[BEAM_BLOCK], v_block[BEAM_BLOCK];
        for (int i = 0; i < BEAM_BLOCK; i++) {
            const int at = (x + i) / 2, beside = i % 2 == 0 ? at - 1 : at + 1;
            const int16_t excess = (int16_t)((y[x + i] << 6) - 3 * luma[at] - luma[beside]);
            u_block[i] = guided(3 * u[at] + u[beside], u_slopes[at], excess);
            v_block[i] = guided(3 * v[at] + v[beside], v_slopes[at], excess);
        }
        store_block(output + 4 * x, y + x, u_block, v_block, k);
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

static void add_pixels(const uint8_t *row, const uint32_t *keys, int count, uint64_t *restrict sums) {
    const uint8_t bytes[4] = {0xff, 0xff, 0xff, 0};
    uint32_t colours;
    memcpy(&colours, bytes, sizeof colours);
    for (int i = 0; i < count; i++, row += 4 * BEAM_TILE_WIDTH, sums += BEAM_SUMS) {
        uint32_t keyed[BEAM_TILE_WIDTH];
        // Rows may begin at any address.
        memcpy(keyed, row, sizeof keyed);
        for (int x = 0; x < BEAM_TILE_WIDTH; x++) keyed[x] = (keyed[x] & colours) + keys[x];
        for (int x = 0; x < BEAM_TILE_WIDTH; x += 2) sums[x / 2 % BEAM_SUMS] += (uint64_t)keyed[x] * keyed[x + 1];
    }
}

const beam_variant beam_portable = {rows_to_i420, mix_rows, mixed_to_bgrx, i444_row_to_bgrx, mark_changed, add_pixels,
                                     sum_2x2,      mix_sums, find_uneven,   fit_slopes,       guided_to_bgrx};
