// A hash of pixels, by which two machines find out whether they show the same.
//
// The rounds are those of XXH32 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), in 16 lanes instead of 4: pixel x of a row
// is added to lane x mod 16, so that a tile's row is two AVX2 registers. A lane's round is a bijection of the lane for each
// pixel, and of the pixel for each lane: one wrong pixel always gives another lane. It finds errors; whoever wants to can
// make other pixels with the same hash.
#include "variants.h"

#include <string.h>

#if BEAM_HAS_AVX2
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#endif

enum {
    LANES = 16,
    TURN = 13,
    COLOURS = 0x00ffffff,
};

// XXH32's primes.
#define PRIME_1 0x9E3779B1u
#define PRIME_2 0x85EBCA77u
#define PRIME_3 0xC2B2AE3Du
#define PRIME_4 0x27D4EB2Fu

typedef void hash_row(const uint8_t *row, int count, uint32_t *lanes);

static inline uint32_t turned(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

// Adds a row of `count` pixels, the first of them to lane 0.
static void add_row(const uint8_t *row, int count, uint32_t *lanes) {
    for (int x = 0; x < count; x += LANES, row += 4 * LANES) {
        const int some = count - x < LANES ? count - x : LANES;
        for (int i = 0; i < some; i++) {
            uint32_t pixel;
            memcpy(&pixel, row + 4 * i, sizeof pixel);
            lanes[i] = turned(lanes[i] + (pixel & COLOURS) * PRIME_2, TURN) * PRIME_1;
        }
    }
}

#if BEAM_HAS_AVX2
static inline AVX2 __m256i load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }

static inline AVX2 __m256i round_avx2(__m256i lanes, __m256i pixels) {
    const __m256i colours = _mm256_set1_epi32(COLOURS);
    const __m256i sum = _mm256_add_epi32(
        lanes, _mm256_mullo_epi32(_mm256_and_si256(pixels, colours), _mm256_set1_epi32((int)PRIME_2)));
    const __m256i turned = _mm256_or_si256(_mm256_slli_epi32(sum, TURN), _mm256_srli_epi32(sum, 32 - TURN));
    return _mm256_mullo_epi32(turned, _mm256_set1_epi32((int)PRIME_1));
}

static AVX2 void add_row_avx2(const uint8_t *row, int count, uint32_t *lanes) {
    __m256i low = load(lanes), high = load(lanes + LANES / 2);
    for (; count >= LANES; count -= LANES, row += 4 * LANES) {
        low = round_avx2(low, load(row));
        high = round_avx2(high, load(row + 2 * LANES));
    }
    _mm256_storeu_si256((__m256i *)lanes, low);
    _mm256_storeu_si256((__m256i *)(lanes + LANES / 2), high);
    add_row(row, count, lanes);
}
#endif

static hash_row *find(beam_kernel kernel) {
#if BEAM_HAS_AVX2
    if (beam_find_variant(kernel) == &beam_avx2) return add_row_avx2;
#else
    (void)kernel;
#endif
    return add_row;
}

uint32_t beam_hash_pixels(beam_const_plane picture, beam_rect rect, beam_kernel kernel) {
    hash_row *run = find(kernel);
    const int width = rect.x1 - rect.x0, height = rect.y1 - rect.y0;
    uint32_t lanes[LANES];
    for (uint32_t i = 0; i < LANES; i++) lanes[i] = (i + 1) * PRIME_1;
    for (int y = rect.y0; y < rect.y1; y++) {
        run(picture.base + y * picture.stride + 4 * (ptrdiff_t)rect.x0, width, lanes);
    }
    uint32_t hash = (uint32_t)width * (uint32_t)height;
    for (int i = 0; i < LANES; i++) hash = turned(hash + lanes[i] * PRIME_3, 17) * PRIME_4;
    hash = (hash ^ hash >> 15) * PRIME_2;
    hash = (hash ^ hash >> 13) * PRIME_3;
    return hash ^ hash >> 16;
}
