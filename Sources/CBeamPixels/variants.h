// The functions of a compiled variant of the colour kernels, and the constants that all variants share.
#ifndef BEAM_VARIANTS_H
#define BEAM_VARIANTS_H

#include "include/CBeamPixels.h"

#if defined(__x86_64__)
#define BEAM_HAS_AVX2 1
#else
#define BEAM_HAS_AVX2 0
#endif

enum {
    // Pixels per kernel step. Row functions get a multiple of it, or one block in a buffer of this size.
    BEAM_BLOCK = 32,
};

// Converts two rows of BGRX to two of Y and one each of U and V. `pixels` is a multiple of BEAM_BLOCK.
typedef void beam_rows_to_i420(const uint8_t *row0, const uint8_t *row1, uint8_t *y0, uint8_t *y1, uint8_t *u, uint8_t *v,
                               int pixels, const beam_to_yuv *coefficients);

// Mixes two chroma rows, 3 × `near_row` + `far_row`: 0…1020.
typedef void beam_mix_rows(const uint8_t *near_row, const uint8_t *far_row, int16_t *mixed, int count);

// Converts a row of Y with mixed chroma to BGRX. `u[i]` and `v[i]` belong to pixels 2i and 2i + 1; the elements before
// the first and after the last are read too. `pixels` is a multiple of BEAM_BLOCK.
typedef void beam_mixed_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, uint8_t *output, int pixels,
                                const beam_to_rgb *coefficients);

// Part of a row of 4:2:0 chroma with the luma sum of each sample's four pixels. Sample i is at [BEAM_BEFORE + i], with
// a neighbour on each side. Kernels may read a register's length beyond the end. A part is as wide as most pictures'
// rows; the few rows in use at a time fit in the L1 cache.
enum { BEAM_PART = 1024, BEAM_BEFORE = 16, BEAM_PART_LENGTH = BEAM_BEFORE + BEAM_PART + 48 };

typedef struct beam_chroma_row {
    uint8_t u[BEAM_PART_LENGTH], v[BEAM_PART_LENGTH];
    int16_t luma[BEAM_PART_LENGTH];
} beam_chroma_row;

// The slope of chroma over luma at each sample, × 8192. `is_steep`: for each block of 16 samples, whether slopes are
// possible (after find_uneven) or nonzero (after fit_slopes). If 0, the block's slopes are undefined.
typedef struct beam_slopes {
    int16_t u[BEAM_PART], v[BEAM_PART];
    uint8_t is_steep[BEAM_PART / (BEAM_BLOCK / 2)];
} beam_slopes;

enum {
    // The fit's constants. Its sums are scaled: chroma variances by 324 (nine samples × 36), luma variances by 5184 (16
    // times more, because luma samples are sums of four). See chroma.c.
    BEAM_SLOPE_ONE = 8192,
    BEAM_SLOPE_LEAST_CHROMA = 324 * 2,
    BEAM_SLOPE_LEAST_LUMA = 5184 * 10,
    // A 3 × 3 neighbourhood with at most this range has no slope: its variances are below the least.
    BEAM_SLOPE_FLAT = 2,
};

// Sets is_steep[block] if a slope is possible, because a 3 × 3 chroma neighbourhood isn't flat. Returns whether any is
// set. Doesn't read luma.
typedef int beam_find_uneven(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below,
                             int blocks, beam_slopes *slopes);

// Computes the slopes of the blocks whose is_steep is set, and clears it if all slopes are 0.
typedef void beam_fit_slopes(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below,
                             int blocks, beam_slopes *slopes);

// Sums `count` squares of 2 × 2 bytes.
typedef void beam_sum_2x2(const uint8_t *row0, const uint8_t *row1, int16_t *sums, int count);

// mix_rows for such sums: 0…4080.
typedef void beam_mix_sums(const int16_t *near_row, const int16_t *far_row, int16_t *mixed, int count);

// mixed_to_bgrx with luma-guided chroma. `luma`: mixed sums, with neighbours like `u` and `v`.
typedef void beam_guided_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, const int16_t *luma,
                                 const int16_t *u_slopes, const int16_t *v_slopes, uint8_t *output, int pixels,
                                 const beam_to_rgb *coefficients);

// Converts a row of 4:4:4 Y, U and V to BGRX. `pixels` is a multiple of BEAM_BLOCK.
typedef void beam_i444_row_to_bgrx(const uint8_t *y, const uint8_t *u, const uint8_t *v, uint8_t *output, int pixels,
                                   const beam_to_rgb *coefficients);

// For each of `count` tiles, sets tiles[i] if `width` bytes of the two rows differ there. Tiles already set are
// skipped. `width` is BEAM_TILE_WIDTH or half of it.
typedef void beam_mark_changed(const uint8_t *a, const uint8_t *b, int width, int count, uint8_t *tiles);

// Adds a row of `count` tiles of BGRX pixels to their fingerprints. `keys`: of this row's BEAM_TILE_WIDTH pixels.
typedef void beam_add_pixels(const uint8_t *row, const uint32_t *keys, int count, uint64_t *sums);

typedef struct beam_variant {
    beam_rows_to_i420 *rows_to_i420;
    beam_mix_rows *mix_rows;
    beam_mixed_to_bgrx *mixed_to_bgrx;
    beam_i444_row_to_bgrx *i444_row_to_bgrx;
    beam_mark_changed *mark_changed;
    beam_add_pixels *add_pixels;
    beam_sum_2x2 *sum_2x2;
    beam_mix_sums *mix_sums;
    beam_find_uneven *find_uneven;
    beam_fit_slopes *fit_slopes;
    beam_guided_to_bgrx *guided_to_bgrx;
} beam_variant;

const beam_variant *beam_find_variant(beam_kernel kernel);

extern const beam_variant beam_portable;
#if BEAM_HAS_AVX2
extern const beam_variant beam_avx2;
#endif

#endif
