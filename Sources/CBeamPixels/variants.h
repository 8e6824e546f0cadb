// What each compiled variant of the colour kernels provides, and the arithmetic that they share.
#ifndef BEAM_VARIANTS_H
#define BEAM_VARIANTS_H

#include "include/CBeamPixels.h"

#if defined(__x86_64__)
#define BEAM_HAS_AVX2 1
#else
#define BEAM_HAS_AVX2 0
#endif

enum {
    // Pixels that a kernel takes at a time. Row functions get a multiple of it, or a block in a buffer of this size.
    BEAM_BLOCK = 32,
};

// Two rows of BGRX to two of Y and one each of U and V; `pixels` is a multiple of BEAM_BLOCK.
typedef void beam_rows_to_i420(const uint8_t *row0, const uint8_t *row1, uint8_t *y0, uint8_t *y1, uint8_t *u, uint8_t *v,
                               int pixels, const beam_to_yuv *coefficients);

// Mixes two chroma rows, 3 parts `near` to 1 of `far`: sums of 0…1020.
typedef void beam_mix_rows(const uint8_t *near_row, const uint8_t *far_row, int16_t *mixed, int count);

// One row of Y and mixed chroma to BGRX. `u[i]` and `v[i]` belong to pixels 2i and 2i + 1; [-1] and the one behind the last
// are read too. `pixels` is a multiple of BEAM_BLOCK.
typedef void beam_mixed_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, uint8_t *output, int pixels,
                                const beam_to_rgb *coefficients);

// A row of 4:2:0 chroma and the sums of the four pixels of luma that each sample stands for, a part of it: sample i at
// [BEAM_BEFORE + i], and its neighbours on either side. Blocks read a register's length behind the last. A part is as wide
// as most pictures' rows, and the few rows that are worked on at a time stay in the first-level cache.
enum { BEAM_PART = 1024, BEAM_BEFORE = 16, BEAM_PART_LENGTH = BEAM_BEFORE + BEAM_PART + 48 };

typedef struct beam_chroma_row {
    uint8_t u[BEAM_PART_LENGTH], v[BEAM_PART_LENGTH];
    int16_t luma[BEAM_PART_LENGTH];
} beam_chroma_row;

// How steeply chroma goes with luma at each sample, × 8192; and for each block of 16 samples whether any may, or does.
// (Slopes of a block where none does are undefined.)
typedef struct beam_slopes {
    int16_t u[BEAM_PART], v[BEAM_PART];
    uint8_t is_steep[BEAM_PART / (BEAM_BLOCK / 2)];
} beam_slopes;

enum {
    // The fit's figures, for sums of 36 times as much as nine samples': 324 times chroma's variance, and 5184 times luma's,
    // whose samples are sums of four (see chroma.c).
    BEAM_SLOPE_ONE = 8192,
    BEAM_SLOPE_LEAST_CHROMA = 324 * 2,
    BEAM_SLOPE_LEAST_LUMA = 5184 * 10,
    // 3 × 3 samples whose highest is no more above their lowest have no slope: their variances together are under the least.
    BEAM_SLOPE_FLAT = 2,
};

// Sets is_steep[block] where a slope is possible, because some 3 × 3 samples of chroma aren't flat; whether there is any. Luma
// isn't looked at.
typedef int beam_find_uneven(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below,
                             int blocks, beam_slopes *slopes);

// The slopes of those of `blocks` × 16 samples of `here` whose is_steep is set, which stays where there is one.
typedef void beam_fit_slopes(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below,
                             int blocks, beam_slopes *slopes);

// The sums of 2 × 2 bytes, `count` of them.
typedef void beam_sum_squares(const uint8_t *row0, const uint8_t *row1, int16_t *sums, int count);

// mix_rows for such sums: 0…4080.
typedef void beam_mix_sums(const int16_t *near_row, const int16_t *far_row, int16_t *mixed, int count);

// mixed_to_bgrx with what the slopes make of the luma's detail. `luma`: mixed sums, with neighbours like `u` and `v`.
typedef void beam_guided_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, const int16_t *luma,
                                 const int16_t *u_slopes, const int16_t *v_slopes, uint8_t *output, int pixels,
                                 const beam_to_rgb *coefficients);

// One row of Y, U and V at full resolution to BGRX; `pixels` is a multiple of BEAM_BLOCK.
typedef void beam_i444_row_to_bgrx(const uint8_t *y, const uint8_t *u, const uint8_t *v, uint8_t *output, int pixels,
                                   const beam_to_rgb *coefficients);

// Sets tiles[i] where the bytes from `width` × i to `width` × (i + 1) of two rows differ, for `count` tiles; those that are
// set already aren't looked at. `width` is BEAM_TILE_WIDTH or half of it.
typedef void beam_mark_changed(const uint8_t *a, const uint8_t *b, int width, int count, uint8_t *tiles);

typedef struct beam_variant {
    beam_rows_to_i420 *rows_to_i420;
    beam_mix_rows *mix_rows;
    beam_mixed_to_bgrx *mixed_to_bgrx;
    beam_i444_row_to_bgrx *i444_row_to_bgrx;
    beam_mark_changed *mark_changed;
    beam_sum_squares *sum_squares;
    beam_mix_sums *mix_sums;
    beam_find_uneven *find_uneven;
    beam_fit_slopes *fit_slopes;
    beam_guided_to_bgrx *guided_to_bgrx;
} beam_variant;

// The variant that `kernel` asks for.
const beam_variant *beam_find_variant(beam_kernel kernel);

extern const beam_variant beam_portable;
#if BEAM_HAS_AVX2
extern const beam_variant beam_avx2;
#endif

#endif
