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
} beam_variant;

// The variant that `kernel` asks for.
const beam_variant *beam_find_variant(beam_kernel kernel);

extern const beam_variant beam_portable;
#if BEAM_HAS_AVX2
extern const beam_variant beam_avx2;
#endif

#endif
