// Comparison of two planes.
#include "include/CBeamPixels.h"

#include <stdlib.h>

enum { SIDE = 16 };

// All blocks but the last of a row have this width. Because it is a constant, the compiler can use SIMD instructions.
static uint32_t whole_block_difference(const uint8_t *p, ptrdiff_t p_stride, const uint8_t *q, ptrdiff_t q_stride, int rows) {
    uint32_t sum = 0;
    for (int y = 0; y < rows; y++, p += p_stride, q += q_stride) {
        for (int x = 0; x < SIDE; x++) sum += (uint32_t)abs(p[x] - q[x]);
    }
    return sum;
}

void beam_block_differences(beam_const_plane a, beam_const_plane b, beam_size size, uint32_t *sums) {
    for (int y = 0; y < size.height; y += SIDE) {
        const int rows = size.height - y < SIDE ? size.height - y : SIDE;
        const uint8_t *p = a.base + y * a.stride, *q = b.base + y * b.stride;
        int x = 0;
        for (; x + SIDE <= size.width; x += SIDE) *sums++ = whole_block_difference(p + x, a.stride, q + x, b.stride, rows);
        if (x == size.width) continue;
        uint32_t sum = 0;
        for (int row = 0; row < rows; row++) {
            for (int column = x; column < size.width; column++) {
                sum += (uint32_t)abs(p[row * a.stride + column] - q[row * b.stride + column]);
            }
        }
        *sums++ = sum;
    }
}

static double window_similarity(const uint8_t *p, ptrdiff_t p_stride, const uint8_t *q, ptrdiff_t q_stride, int width, int height) {
    int32_t p_sum = 0, q_sum = 0, p_squares = 0, q_squares = 0, products = 0;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int32_t s = p[y * p_stride + x], t = q[y * q_stride + x];
            p_sum += s;
            q_sum += t;
            p_squares += s * s;
            q_squares += t * t;
            products += s * t;
        }
    }
    const double n = width * height, c1 = 0.01 * 255 * 0.01 * 255, c2 = 0.03 * 255 * 0.03 * 255;
    const double p_mean = p_sum / n, q_mean = q_sum / n;
    const double p_variance = p_squares / n - p_mean * p_mean, q_variance = q_squares / n - q_mean * q_mean;
    const double covariance = products / n - p_mean * q_mean;
    return (2 * p_mean * q_mean + c1) * (2 * covariance + c2) /
           ((p_mean * p_mean + q_mean * q_mean + c1) * (p_variance + q_variance + c2));
}

double beam_structural_similarity(beam_const_plane a, beam_const_plane b, beam_size size) {
    enum { WINDOW = 8, STEP = 4 };
    const int width = size.width < WINDOW ? size.width : WINDOW, height = size.height < WINDOW ? size.height : WINDOW;
    double sum = 0;
    uint64_t count = 0;
    for (int y = 0; y + height <= size.height; y += STEP) {
        for (int x = 0; x + width <= size.width; x += STEP) {
            sum += window_similarity(a.base + y * a.stride + x, a.stride, b.base + y * b.stride + x, b.stride, width, height);
            count++;
        }
    }
    return sum / (double)count;
}
