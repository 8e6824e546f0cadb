// The colour conversions of whole rectangles: which rows and blocks go to the kernels, and what stands in for pixels
// beyond the edges.
#include "variants.h"

#include <string.h>

const beam_variant *beam_find_variant(beam_kernel kernel) {
#if BEAM_HAS_AVX2
    if (kernel == BEAM_KERNEL_BEST && __builtin_cpu_supports("avx2")) return &beam_avx2;
#endif
    (void)kernel;
    return &beam_portable;
}

static inline int least(int a, int b) { return a < b ? a : b; }

// The last pixels of a row, the last of them repeated, so that there is a full block.
static void fill_block(uint8_t block[4 * BEAM_BLOCK], const uint8_t *row, int pixels) {
    memcpy(block, row, 4 * (size_t)pixels);
    for (int x = pixels; x < BEAM_BLOCK; x++) memcpy(block + 4 * x, row + 4 * (pixels - 1), 4);
}

void beam_bgrx_to_i420(beam_const_plane source, beam_plane y, beam_plane u, beam_plane v, beam_rect rect,
                       const beam_to_yuv *coefficients, beam_kernel kernel) {
    const beam_variant *run = beam_find_variant(kernel);
    const int width = rect.x1 - rect.x0, whole = width / BEAM_BLOCK * BEAM_BLOCK, rest = width - whole;
    for (int row = rect.y0; row < rect.y1; row += 2) {
        // An odd last row is its own neighbour: it is written twice, with the same values.
        const ptrdiff_t below = row + 1 < rect.y1 ? 1 : 0;
        const uint8_t *row0 = source.base + row * source.stride + 4 * rect.x0, *row1 = row0 + below * source.stride;
        uint8_t *y0 = y.base + row * y.stride + rect.x0, *y1 = y0 + below * y.stride;
        uint8_t *u_row = u.base + row / 2 * u.stride + rect.x0 / 2, *v_row = v.base + row / 2 * v.stride + rect.x0 / 2;
        if (whole > 0) run->rows_to_i420(row0, row1, y0, y1, u_row, v_row, whole, coefficients);
        if (rest > 0) {
            uint8_t in0[4 * BEAM_BLOCK], in1[4 * BEAM_BLOCK];
            uint8_t out0[BEAM_BLOCK], out1[BEAM_BLOCK], out_u[BEAM_BLOCK / 2], out_v[BEAM_BLOCK / 2];
            fill_block(in0, row0 + 4 * whole, rest);
            fill_block(in1, row1 + 4 * whole, rest);
            run->rows_to_i420(in0, in1, out0, out1, out_u, out_v, BEAM_BLOCK, coefficients);
            memcpy(y0 + whole, out0, (size_t)rest);
            memcpy(y1 + whole, out1, (size_t)rest);
            memcpy(u_row + whole / 2, out_u, (size_t)(rest + 1) / 2);
            memcpy(v_row + whole / 2, out_v, (size_t)(rest + 1) / 2);
        }
    }
}

enum {
    // Pixels of a row that are converted at a time: their mixed chroma stays in the first-level cache.
    SEGMENT = 1024,
};

// Mixed chroma of a segment begins at MIXED_BEFORE, with its neighbour on either side; at the picture's edges the outermost
// sample is its own neighbour. Blocks read a register's length behind the last.
enum { MIXED_BEFORE = 16, MIXED_LENGTH = MIXED_BEFORE + SEGMENT / 2 + 32 };

static void mix_segment(int16_t mixed[MIXED_LENGTH], const uint8_t *near_row, const uint8_t *far_row, int first, int count, int chroma_width,
                        const beam_variant *run) {
    int16_t *samples = mixed + MIXED_BEFORE;
    run->mix_rows(near_row + first, far_row + first, samples, count);
    const int left = first > 0 ? first - 1 : 0, right = least(first + count, chroma_width - 1);
    samples[-1] = (int16_t)(3 * near_row[left] + far_row[left]);
    samples[count] = (int16_t)(3 * near_row[right] + far_row[right]);
}

void beam_i420_to_bgrx(beam_const_plane y, beam_const_plane u, beam_const_plane v, beam_size size, beam_plane output,
                       beam_rect rect, const beam_to_rgb *coefficients, beam_kernel kernel) {
    const beam_variant *run = beam_find_variant(kernel);
    const int chroma_width = (size.width + 1) / 2, chroma_height = (size.height + 1) / 2;
    int16_t u_mixed[MIXED_LENGTH] = {0}, v_mixed[MIXED_LENGTH] = {0};
    const int16_t *u_samples = u_mixed + MIXED_BEFORE, *v_samples = v_mixed + MIXED_BEFORE;
    for (int row = rect.y0; row < rect.y1; row++) {
        const int near_row = row / 2, other = near_row + (row % 2 == 0 ? -1 : 1);
        const int far_row = other < 0 ? 0 : least(other, chroma_height - 1);
        const uint8_t *y_row = y.base + row * y.stride;
        uint8_t *output_row = output.base + (row - rect.y0) * output.stride;
        for (int x = rect.x0; x < rect.x1;) {
            // Segments begin with an even pixel; where the rectangle doesn't, its first pixel goes alone.
            const int skip = x & 1, start = x - skip;
            const int end = skip ? x + 1 : least(rect.x1, start + SEGMENT);
            const int pixels = end - start, whole = skip ? 0 : pixels / BEAM_BLOCK * BEAM_BLOCK, rest = pixels - whole;
            mix_segment(u_mixed, u.base + near_row * u.stride, u.base + far_row * u.stride, start / 2, (pixels + 1) / 2,
                        chroma_width, run);
            mix_segment(v_mixed, v.base + near_row * v.stride, v.base + far_row * v.stride, start / 2, (pixels + 1) / 2,
                        chroma_width, run);
            uint8_t *to = output_row + 4 * (x - rect.x0);
            if (whole > 0) run->mixed_to_bgrx(y_row + start, u_samples, v_samples, to, whole, coefficients);
            if (rest > 0) {
                uint8_t in[BEAM_BLOCK] = {0}, out[4 * BEAM_BLOCK];
                memcpy(in, y_row + start + whole, (size_t)rest);
                run->mixed_to_bgrx(in, u_samples + whole / 2, v_samples + whole / 2, out, BEAM_BLOCK, coefficients);
                memcpy(to + 4 * whole, out + 4 * skip, 4 * (size_t)(rest - skip));
            }
            x = end;
        }
    }
}

void beam_i444_to_bgrx(beam_const_plane y, beam_const_plane u, beam_const_plane v, beam_plane output, beam_rect rect,
                       const beam_to_rgb *coefficients, beam_kernel kernel) {
    const beam_variant *run = beam_find_variant(kernel);
    const int width = rect.x1 - rect.x0, whole = width / BEAM_BLOCK * BEAM_BLOCK, rest = width - whole;
    for (int row = rect.y0; row < rect.y1; row++) {
        const uint8_t *y_row = y.base + row * y.stride + rect.x0, *u_row = u.base + row * u.stride + rect.x0;
        const uint8_t *v_row = v.base + row * v.stride + rect.x0;
        uint8_t *to = output.base + (row - rect.y0) * output.stride;
        if (whole > 0) run->i444_row_to_bgrx(y_row, u_row, v_row, to, whole, coefficients);
        if (rest > 0) {
            uint8_t in[3][BEAM_BLOCK] = {0}, out[4 * BEAM_BLOCK];
            memcpy(in[0], y_row + whole, (size_t)rest);
            memcpy(in[1], u_row + whole, (size_t)rest);
            memcpy(in[2], v_row + whole, (size_t)rest);
            run->i444_row_to_bgrx(in[0], in[1], in[2], out, BEAM_BLOCK, coefficients);
            memcpy(to + 4 * whole, out, 4 * (size_t)rest);
        }
    }
}
