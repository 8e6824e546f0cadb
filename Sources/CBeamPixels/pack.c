// Pixels of 3 bytes, for what is compressed, from and to pixels of 4 bytes.
#include "variants.h"

#if BEAM_HAS_AVX2
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

enum {
    // Pixels a step: three registers of packed bytes. A tile's row is one step.
    STEP = 16,
};
#endif

typedef struct packing {
    void (*pack_row)(const uint8_t *pixels, uint8_t *packed, int count);
    void (*unpack_row)(const uint8_t *packed, uint8_t *pixels, int count);
} packing;

static void pack_row(const uint8_t *pixels, uint8_t *packed, int count) {
    for (int x = 0; x < count; x++, pixels += 4, packed += 3) {
        packed[0] = pixels[0];
        packed[1] = pixels[1];
        packed[2] = pixels[2];
    }
}

static void unpack_row(const uint8_t *packed, uint8_t *pixels, int count) {
    for (int x = 0; x < count; x++, packed += 3, pixels += 4) {
        pixels[0] = packed[0];
        pixels[1] = packed[1];
        pixels[2] = packed[2];
        pixels[3] = 0xff;
    }
}

static const packing portable_packing = {pack_row, unpack_row};

#if BEAM_HAS_AVX2
static inline AVX2 __m128i load(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }

static inline AVX2 void store(uint8_t *to, __m128i value) { _mm_storeu_si128((__m128i *)to, value); }

static AVX2 void pack_row_avx2(const uint8_t *pixels, uint8_t *packed, int count) {
    // The colours of four pixels in the lower 12 bytes; 0 in the upper 4.
    const __m128i colours = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    for (; count >= STEP; count -= STEP, pixels += 4 * STEP, packed += 3 * STEP) {
        const __m128i a = _mm_shuffle_epi8(load(pixels), colours), b = _mm_shuffle_epi8(load(pixels + 16), colours);
        const __m128i c = _mm_shuffle_epi8(load(pixels + 32), colours), d = _mm_shuffle_epi8(load(pixels + 48), colours);
        store(packed, _mm_or_si128(a, _mm_slli_si128(b, 12)));
        store(packed + 16, _mm_or_si128(_mm_srli_si128(b, 4), _mm_slli_si128(c, 8)));
        store(packed + 32, _mm_or_si128(_mm_srli_si128(c, 8), _mm_slli_si128(d, 4)));
    }
    pack_row(pixels, packed, count);
}

static AVX2 void unpack_row_avx2(const uint8_t *packed, uint8_t *pixels, int count) {
    const __m128i places = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    const __m128i unused = _mm_set1_epi32((int)0xff000000);
    for (; count >= STEP; count -= STEP, packed += 3 * STEP, pixels += 4 * STEP) {
        const __m128i a = load(packed), b = load(packed + 16), c = load(packed + 32);
        const __m128i fours[4] = {a, _mm_alignr_epi8(b, a, 12), _mm_alignr_epi8(c, b, 8), _mm_srli_si128(c, 4)};
        for (int i = 0; i < 4; i++) store(pixels + 16 * i, _mm_or_si128(_mm_shuffle_epi8(fours[i], places), unused));
    }
    unpack_row(packed, pixels, count);
}

static const packing avx2_packing = {pack_row_avx2, unpack_row_avx2};
#endif

static const packing *find(beam_kernel kernel) {
#if BEAM_HAS_AVX2
    if (beam_find_variant(kernel) == &beam_avx2) return &avx2_packing;
#else
    (void)kernel;
#endif
    return &portable_packing;
}

void beam_pack_pixels(beam_const_plane picture, beam_rect rect, uint8_t *packed, beam_kernel kernel) {
    const packing *run = find(kernel);
    const int width = rect.x1 - rect.x0;
    for (int y = rect.y0; y < rect.y1; y++, packed += 3 * (ptrdiff_t)width) {
        run->pack_row(picture.base + y * picture.stride + 4 * (ptrdiff_t)rect.x0, packed, width);
    }
}

void beam_unpack_pixels(const uint8_t *packed, ptrdiff_t stride, beam_plane picture, beam_rect rect, beam_kernel kernel) {
    const packing *run = find(kernel);
    for (int y = rect.y0; y < rect.y1; y++, packed += stride) {
        run->unpack_row(packed, picture.base + y * picture.stride + 4 * (ptrdiff_t)rect.x0, rect.x1 - rect.x0);
    }
}
