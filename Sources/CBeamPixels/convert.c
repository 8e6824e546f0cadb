// Colour conversion of rectangles: splits rows into blocks for the kernels and pads at the edges.
#include "bands.h"
#include "variants.h"

#include <string.h>

const beam_variant *beam_find_variant(beam_kernel kernel) {
#if BEAM_HAS_AVX2
    if (kernel == BEAM_KERNEL_BEST && __builtin_cpu_supports("avx2")) return &beam_avx2;
#endif
    (void)kernel;
    return &beam_portable;
}

// Copies the last pixels of a row to a full block, repeating the last one.
static void fill_block(uint8_t block[4 * BEAM_BLOCK], const uint8_t *row, int pixels) {
    memcpy(block, row, 4 * (size_t)pixels);
    for (int x = pixels; x < BEAM_BLOCK; x++) memcpy(block + 4 * x, row + 4 * (pixels - 1), 4);
}

typedef struct to_i420 {
    beam_const_plane source;
    beam_plane y, u, v;
    beam_rect rect;
    const beam_to_yuv *coefficients;
    const beam_variant *run;
} to_i420;

static void band_to_i420(const void *arguments, int first, int end) {
    const to_i420 *to = arguments;
    const beam_const_plane source = to->source;
    const beam_plane y = to->y, u = to->u, v = to->v;
    const beam_variant *run = to->run;
    const beam_rect rect = {to->rect.x0, first, to->rect.x1, end};
    const int width = rect.x1 - rect.x0, whole = width / BEAM_BLOCK * BEAM_BLOCK, rest = width - whole;
    for (int row = rect.y0; row < rect.y1; row += 2) {
        // An odd last row is paired with itself: it is written twice, with the same values.
        const ptrdiff_t below = row + 1 < rect.y1 ? 1 : 0;
        const uint8_t *row0 = source.base + row * source.stride + 4 * rect.x0, *row1 = row0 + below * source.stride;
        uint8_t *y0 = y.base + row * y.stride + rect.x0, *y1 = y0 + below * y.stride;
        uint8_t *u_row = u.base + row / 2 * u.stride + rect.x0 / 2, *v_row = v.base + row / 2 * v.stride + rect.x0 / 2;
        if (whole > 0) run->rows_to_i420(row0, row1, y0, y1, u_row, v_row, whole, to->coefficients);
        if (rest > 0) {
            uint8_t in0[4 * BEAM_BLOCK], in1[4 * BEAM_BLOCK];
            uint8_t out0[BEAM_BLOCK], out1[BEAM_BLOCK], out_u[BEAM_BLOCK / 2], out_v[BEAM_BLOCK / 2];
            fill_block(in0, row0 + 4 * whole, rest);
            fill_block(in1, row1 + 4 * whole, rest);
            run->rows_to_i420(in0, in1, out0, out1, out_u, out_v, BEAM_BLOCK, to->coefficients);
            memcpy(y0 + whole, out0, (size_t)rest);
            memcpy(y1 + whole, out1, (size_t)rest);
            memcpy(u_row + whole / 2, out_u, (size_t)(rest + 1) / 2);
            memcpy(v_row + whole / 2, out_v, (size_t)(rest + 1) / 2);
        }
    }
}

void beam_bgrx_to_i420(beam_const_plane source, beam_plane y, beam_plane u, beam_plane v, beam_rect rect,
                       const beam_to_yuv *coefficients, beam_kernel kernel) {
    const to_i420 arguments = {source, y, u, v, rect, coefficients, beam_find_variant(kernel)};
    beam_in_bands(rect, band_to_i420, &arguments);
}

typedef struct from_i444 {
    beam_const_plane y, u, v;
    beam_plane output;
    beam_rect rect;
    const beam_to_rgb *coefficients;
    const beam_variant *run;
} from_i444;

static void band_from_i444(const void *arguments, int first, int end) {
    const from_i444 *from = arguments;
    const beam_const_plane y = from->y, u = from->u, v = from->v;
    const beam_plane output = from->output;
    const beam_rect rect = from->rect;
    const beam_variant *run = from->run;
    const int width = rect.x1 - rect.x0, whole = width / BEAM_BLOCK * BEAM_BLOCK, rest = width - whole;
    for (int row = first; row < end; row++) {
        const uint8_t *y_row = y.base + row * y.stride + rect.x0, *u_row = u.base + row * u.stride + rect.x0;
        const uint8_t *v_row = v.base + row * v.stride + rect.x0;
        uint8_t *to = output.base + (row - rect.y0) * output.stride;
        if (whole > 0) run->i444_row_to_bgrx(y_row, u_row, v_row, to, whole, from->coefficients);
        if (rest > 0) {
            uint8_t in[3][BEAM_BLOCK] = {0}, out[4 * BEAM_BLOCK];
            memcpy(in[0], y_row + whole, (size_t)rest);
            memcpy(in[1], u_row + whole, (size_t)rest);
            memcpy(in[2], v_row + whole, (size_t)rest);
            run->i444_row_to_bgrx(in[0], in[1], in[2], out, BEAM_BLOCK, from->coefficients);
            memcpy(to + 4 * whole, out, 4 * (size_t)rest);
        }
    }
}

void beam_i444_to_bgrx(beam_const_plane y, beam_const_plane u, beam_const_plane v, beam_plane output, beam_rect rect,
                       const beam_to_rgb *coefficients, beam_kernel kernel) {
    const from_i444 arguments = {y, u, v, output, rect, coefficients, beam_find_variant(kernel)};
    beam_in_bands(rect, band_from_i444, &arguments);
}
