// RGB to 4:4:4, row by row; pixels are independent.
#include "bands.h"
#include "variants.h"

// 128 and 1/2 for rounding, with 15 fraction bits.
enum { CHROMA_OFFSET = (128 << 15) + (1 << 14) };

static void row_portable(const uint8_t *row, uint8_t *restrict y, uint8_t *restrict u, uint8_t *restrict v, int pixels,
                         const beam_to_yuv *k) {
    for (int x = 0; x < pixels; x++) {
        const int b = row[4 * x], g = row[4 * x + 1], r = row[4 * x + 2];
        y[x] = (uint8_t)((b * k->y_b + g * k->y_g + r * k->y_r + k->y_offset) >> 15);
        u[x] = (uint8_t)((b * k->u_b + g * k->u_g + r * k->u_r + CHROMA_OFFSET) >> 15);
        v[x] = (uint8_t)((b * k->v_b + g * k->v_g + r * k->v_r + CHROMA_OFFSET) >> 15);
    }
}

#if BEAM_HAS_AVX2
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

static inline AVX2 __m256i pair16(int16_t low, int16_t high) {
    return _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16));
}

// One component of 32 pixels. Blue and red are the 16-bit halves of each 32-bit element of `br`, green is in `g`.
static inline AVX2 void store_samples(uint8_t *to, const __m256i br[4], const __m256i g[4], __m256i k_br, __m256i k_g, __m256i offset) {
    __m256i sums[4];
    for (int i = 0; i < 4; i++) {
        __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(br[i], k_br), _mm256_madd_epi16(g[i], k_g));
        sums[i] = _mm256_srai_epi32(_mm256_add_epi32(sum, offset), 15);
    }
    __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(sums[0], sums[1]), _mm256_packus_epi32(sums[2], sums[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)to, bytes);
}

static AVX2 void row_avx2(const uint8_t *row, uint8_t *y, uint8_t *u, uint8_t *v, int pixels, const beam_to_yuv *k) {
    const __m256i even_bytes = _mm256_set1_epi16(0xff);
    const __m256i y_br = pair16(k->y_b, k->y_r), y_g = pair16(k->y_g, 0), y_offset = _mm256_set1_epi32(k->y_offset);
    const __m256i u_br = pair16(k->u_b, k->u_r), u_g = pair16(k->u_g, 0);
    const __m256i v_br = pair16(k->v_b, k->v_r), v_g = pair16(k->v_g, 0);
    const __m256i c_offset = _mm256_set1_epi32(CHROMA_OFFSET);
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        __m256i br[4], g[4];
        for (int i = 0; i < 4; i++) {
            __m256i p = _mm256_loadu_si256((const __m256i *)(row + 4 * x + 32 * i));
            br[i] = _mm256_and_si256(p, even_bytes);
            g[i] = _mm256_srli_epi16(p, 8);
        }
        store_samples(y + x, br, g, y_br, y_g, y_offset);
        store_samples(u + x, br, g, u_br, u_g, c_offset);
        store_samples(v + x, br, g, v_br, v_g, c_offset);
    }
}
#endif

static void convert_row(const uint8_t *row, uint8_t *y, uint8_t *u, uint8_t *v, int pixels, const beam_to_yuv *k, int is_best) {
#if BEAM_HAS_AVX2
    if (is_best && __builtin_cpu_supports("avx2")) {
        const int whole = pixels / BEAM_BLOCK * BEAM_BLOCK;
        row_avx2(row, y, u, v, whole, k);
        row_portable(row + 4 * whole, y + whole, u + whole, v + whole, pixels - whole, k);
        return;
    }
#endif
    (void)is_best;
    row_portable(row, y, u, v, pixels, k);
}

typedef struct to_i444 {
    beam_const_plane source;
    beam_plane y, u, v;
    beam_rect rect;
    const beam_to_yuv *coefficients;
    int is_best;
} to_i444;

static void band_to_i444(const void *arguments, int first, int end) {
    const to_i444 *to = arguments;
    const int x = to->rect.x0, width = to->rect.x1 - x;
    for (int row = first; row < end; row++) {
        convert_row(to->source.base + row * to->source.stride + 4 * x, to->y.base + row * to->y.stride + x,
                    to->u.base + row * to->u.stride + x, to->v.base + row * to->v.stride + x, width, to->coefficients,
                    to->is_best);
    }
}

void beam_bgrx_to_i444(beam_const_plane source, beam_plane y, beam_plane u, beam_plane v, beam_rect rect,
                       const beam_to_yuv *coefficients, beam_kernel kernel) {
    const to_i444 arguments = {source, y, u, v, rect, coefficients, kernel == BEAM_KERNEL_BEST};
    beam_in_bands(rect, band_to_i444, &arguments);
}
