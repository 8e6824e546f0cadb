// Colour kernels for x86-64 processors with AVX2. Only these functions are compiled for AVX2; they are selected at run
// time.
#include "variants.h"

#if BEAM_HAS_AVX2
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

static inline AVX2 __m256i pair16(int16_t low, int16_t high) {
    return _mm256_set1_epi32((int32_t)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16));
}

static inline AVX2 __m256i load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }

static inline AVX2 void store(void *to, __m256i value) { _mm256_storeu_si256((__m256i *)to, value); }

// Packs four registers of eight 32-bit values 0…255 into 32 bytes in order.
static inline AVX2 __m256i pack_bytes(__m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

static AVX2 void rows_to_i420(const uint8_t *row0, const uint8_t *row1, uint8_t *y0, uint8_t *y1, uint8_t *u, uint8_t *v,
                              int pixels, const beam_to_yuv *k) {
    // In each 32-bit element, a pixel's blue and red are two 16-bit halves in one register, its green and the unused
    // byte in another.
    const __m256i even_bytes = _mm256_set1_epi16(0xff);
    const __m256i y_br = pair16(k->y_b, k->y_r), y_g = pair16(k->y_g, 0), y_offset = _mm256_set1_epi32(k->y_offset);
    const __m256i u_br = pair16(k->u_b, k->u_r), u_g = pair16(k->u_g, 0);
    const __m256i v_br = pair16(k->v_b, k->v_r), v_g = pair16(k->v_g, 0);
    const __m256i c_offset = _mm256_set1_epi32((128 << 17) + (1 << 16));
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        __m256i luma0[4], luma1[4], br[4], g[4];
        for (int i = 0; i < 4; i++) {
            __m256i p = load(row0 + 4 * x + 32 * i), q = load(row1 + 4 * x + 32 * i);
            __m256i p_br = _mm256_and_si256(p, even_bytes), p_g = _mm256_srli_epi16(p, 8);
            __m256i q_br = _mm256_and_si256(q, even_bytes), q_g = _mm256_srli_epi16(q, 8);
            luma0[i] = _mm256_add_epi32(_mm256_madd_epi16(p_br, y_br), _mm256_madd_epi16(p_g, y_g));
            luma0[i] = _mm256_srli_epi32(_mm256_add_epi32(luma0[i], y_offset), 15);
            luma1[i] = _mm256_add_epi32(_mm256_madd_epi16(q_br, y_br), _mm256_madd_epi16(q_g, y_g));
            luma1[i] = _mm256_srli_epi32(_mm256_add_epi32(luma1[i], y_offset), 15);
            br[i] = _mm256_add_epi16(p_br, q_br);
            g[i] = _mm256_add_epi16(p_g, q_g);
        }
        store(y0 + x, pack_bytes(luma0[0], luma0[1], luma0[2], luma0[3]));
        store(y1 + x, pack_bytes(luma1[0], luma1[1], luma1[2], luma1[3]));
        __m256i u_sums[2], v_sums[2];
        for (int i = 0; i < 2; i++) {
            // Sums of neighbours. No half exceeds 1020, so 32-bit additions don't carry from half to half.
            __m256i br_sum = _mm256_hadd_epi32(br[2 * i], br[2 * i + 1]), g_sum = _mm256_hadd_epi32(g[2 * i], g[2 * i + 1]);
            u_sums[i] = _mm256_add_epi32(_mm256_madd_epi16(br_sum, u_br), _mm256_madd_epi16(g_sum, u_g));
            u_sums[i] = _mm256_srli_epi32(_mm256_add_epi32(u_sums[i], c_offset), 17);
            v_sums[i] = _mm256_add_epi32(_mm256_madd_epi16(br_sum, v_br), _mm256_madd_epi16(g_sum, v_g));
            v_sums[i] = _mm256_srli_epi32(_mm256_add_epi32(v_sums[i], c_offset), 17);
        }
        __m256i both = _mm256_packus_epi16(_mm256_packus_epi32(u_sums[0], u_sums[1]), _mm256_packus_epi32(v_sums[0], v_sums[1]));
        // The low half holds samples 0 1 4 5 8 9 12 13 of U, then of V; the high half 2 3 6 7 10 11 14 15.
        __m128i low = _mm256_castsi256_si128(both), high = _mm256_extracti128_si256(both, 1);
        __m128i u_v_low = _mm_unpacklo_epi16(low, high), u_v_high = _mm_unpackhi_epi16(low, high);
        _mm_storeu_si128((__m128i *)(u + x / 2), u_v_low);
        _mm_storeu_si128((__m128i *)(v + x / 2), u_v_high);
    }
}

static AVX2 void mix_rows(const uint8_t *near_row, const uint8_t *far_row, int16_t *mixed, int count) {
    const __m256i weights = _mm256_set1_epi16(0x0103);
    int x = 0;
    for (; x + 16 <= count; x += 16) {
        __m128i near_bytes = _mm_loadu_si128((const __m128i *)(near_row + x));
        __m128i far_bytes = _mm_loadu_si128((const __m128i *)(far_row + x));
        __m256i pairs = _mm256_set_m128i(_mm_unpackhi_epi8(near_bytes, far_bytes), _mm_unpacklo_epi8(near_bytes, far_bytes));
        store(mixed + x, _mm256_maddubs_epi16(pairs, weights));
    }
    for (; x < count; x++) mixed[x] = (int16_t)(3 * near_row[x] + far_row[x]);
}

typedef struct rgb_registers {
    __m256i luma, red_v, green_u, green_v, blue_u, offset;
} rgb_registers;

static inline AVX2 rgb_registers rgb_broadcast(const beam_to_rgb *k) {
    return (rgb_registers){_mm256_set1_epi16(k->luma),    _mm256_set1_epi16(k->red_v),  _mm256_set1_epi16(k->green_u),
                           _mm256_set1_epi16(k->green_v), _mm256_set1_epi16(k->blue_u), _mm256_set1_epi16(k->offset)};
}

// Interleaves the values of even and odd pixels (16 each, 5 fraction bits) to 32 clamped bytes in order.
static inline AVX2 __m256i weave(__m256i even, __m256i odd) {
    const __m256i zero = _mm256_setzero_si256(), most = _mm256_set1_epi16(255);
    even = _mm256_min_epi16(_mm256_max_epi16(_mm256_srai_epi16(even, 5), zero), most);
    odd = _mm256_min_epi16(_mm256_max_epi16(_mm256_srai_epi16(odd, 5), zero), most);
    return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}

// 32 pixels. `y`: bytes in order. Chroma: (sample − 128) × 128, even and odd pixels separate.
static inline AVX2 void store_block(uint8_t *output, __m256i y, __m256i u_even, __m256i u_odd, __m256i v_even, __m256i v_odd,
                                    const rgb_registers *k) {
    // (y & 0xff) << 7 and (y >> 8) << 7.
    __m256i y_even = _mm256_srli_epi16(_mm256_slli_epi16(y, 8), 1);
    __m256i y_odd = _mm256_slli_epi16(_mm256_srli_epi16(y, 8), 7);
    y_even = _mm256_add_epi16(_mm256_mulhrs_epi16(y_even, k->luma), k->offset);
    y_odd = _mm256_add_epi16(_mm256_mulhrs_epi16(y_odd, k->luma), k->offset);
    __m256i blue = weave(_mm256_add_epi16(y_even, _mm256_mulhrs_epi16(u_even, k->blue_u)),
                         _mm256_add_epi16(y_odd, _mm256_mulhrs_epi16(u_odd, k->blue_u)));
    __m256i red = weave(_mm256_add_epi16(y_even, _mm256_mulhrs_epi16(v_even, k->red_v)),
                        _mm256_add_epi16(y_odd, _mm256_mulhrs_epi16(v_odd, k->red_v)));
    y_even = _mm256_add_epi16(y_even, _mm256_mulhrs_epi16(u_even, k->green_u));
    y_odd = _mm256_add_epi16(y_odd, _mm256_mulhrs_epi16(u_odd, k->green_u));
    __m256i green = weave(_mm256_add_epi16(y_even, _mm256_mulhrs_epi16(v_even, k->green_v)),
                          _mm256_add_epi16(y_odd, _mm256_mulhrs_epi16(v_odd, k->green_v)));
    const __m256i full = _mm256_set1_epi8(-1);
    __m256i bg_low = _mm256_unpacklo_epi8(blue, green), bg_high = _mm256_unpackhi_epi8(blue, green);
    __m256i rx_low = _mm256_unpacklo_epi8(red, full), rx_high = _mm256_unpackhi_epi8(red, full);
    // Pixels 0…3 | 16…19, then 4…7 | 20…23, and so on.
    __m256i p0 = _mm256_unpacklo_epi16(bg_low, rx_low), p4 = _mm256_unpackhi_epi16(bg_low, rx_low);
    __m256i p8 = _mm256_unpacklo_epi16(bg_high, rx_high), p12 = _mm256_unpackhi_epi16(bg_high, rx_high);
    store(output, _mm256_permute2x128_si256(p0, p4, 0x20));
    store(output + 32, _mm256_permute2x128_si256(p8, p12, 0x20));
    store(output + 64, _mm256_permute2x128_si256(p0, p4, 0x31));
    store(output + 96, _mm256_permute2x128_si256(p8, p12, 0x31));
}

// 3 × `here` + `beside` (in 1/16 of a sample), converted to (sample − 128) × 128.
static inline AVX2 __m256i interpolate(__m256i here, __m256i beside) {
    __m256i sum = _mm256_add_epi16(_mm256_add_epi16(here, _mm256_slli_epi16(here, 1)), beside);
    return _mm256_sub_epi16(_mm256_slli_epi16(sum, 3), _mm256_set1_epi16(128 << 7));
}

static AVX2 void mixed_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, uint8_t *output, int pixels,
                               const beam_to_rgb *coefficients) {
    const rgb_registers k = rgb_broadcast(coefficients);
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        const int16_t *u_here = u + x / 2, *v_here = v + x / 2;
        __m256i u_mid = load(u_here), v_mid = load(v_here);
        store_block(output + 4 * x, load(y + x), interpolate(u_mid, load(u_here - 1)), interpolate(u_mid, load(u_here + 1)),
                    interpolate(v_mid, load(v_here - 1)), interpolate(v_mid, load(v_here + 1)), &k);
    }
}

static AVX2 void sum_2x2(const uint8_t *row0, const uint8_t *row1, int16_t *sums, int count) {
    const __m256i ones = _mm256_set1_epi8(1);
    int x = 0;
    for (; x + 16 <= count; x += 16) {
        __m256i upper = _mm256_maddubs_epi16(load(row0 + 2 * x), ones), lower = _mm256_maddubs_epi16(load(row1 + 2 * x), ones);
        store(sums + x, _mm256_add_epi16(upper, lower));
    }
    for (; x < count; x++) sums[x] = (int16_t)(row0[2 * x] + row0[2 * x + 1] + row1[2 * x] + row1[2 * x + 1]);
}

static AVX2 void mix_sums(const int16_t *near_row, const int16_t *far_row, int16_t *mixed, int count) {
    int x = 0;
    for (; x + 16 <= count; x += 16) {
        __m256i here = load(near_row + x);
        store(mixed + x, _mm256_add_epi16(_mm256_add_epi16(here, _mm256_slli_epi16(here, 1)), load(far_row + x)));
    }
    for (; x < count; x++) mixed[x] = (int16_t)(3 * near_row[x] + far_row[x]);
}

typedef struct extremes {
    __m256i most, least;
} extremes;

// The extremes of three rows in each of 32 columns from `x` on.
static inline AVX2 extremes extremes_of(const uint8_t *above, const uint8_t *here, const uint8_t *below, int x) {
    __m256i a = load(above + x), h = load(here + x), b = load(below + x);
    return (extremes){_mm256_max_epu8(_mm256_max_epu8(a, h), b), _mm256_min_epu8(_mm256_min_epu8(a, h), b)};
}

// Nonzero where a sample differs from the first by more than half the flatness limit. If none does, all neighbourhoods
// are flat.
static inline AVX2 __m256i distance(extremes all, uint8_t first) {
    const __m256i middle = _mm256_set1_epi8((char)first), near_by = _mm256_set1_epi8(BEAM_SLOPE_FLAT / 2);
    return _mm256_or_si256(_mm256_subs_epu8(all.most, _mm256_adds_epu8(middle, near_by)),
                           _mm256_subs_epu8(_mm256_subs_epu8(middle, near_by), all.least));
}

// Nonzero where a 3 × 3 neighbourhood's range exceeds the flatness limit, for 16 samples.
static inline AVX2 __m128i unevenness(extremes all) {
    // The upper half of `all` continues 16 columns further right; shift in one and two columns from there.
    __m128i most = _mm256_castsi256_si128(all.most), least = _mm256_castsi256_si128(all.least);
    __m128i next_most = _mm256_extracti128_si256(all.most, 1), next_least = _mm256_extracti128_si256(all.least, 1);
    most = _mm_max_epu8(_mm_max_epu8(most, _mm_alignr_epi8(next_most, most, 1)), _mm_alignr_epi8(next_most, most, 2));
    least = _mm_min_epu8(_mm_min_epu8(least, _mm_alignr_epi8(next_least, least, 1)), _mm_alignr_epi8(next_least, least, 2));
    return _mm_subs_epu8(_mm_sub_epi8(most, least), _mm_set1_epi8(BEAM_SLOPE_FLAT));
}

// Whether the 3 × 3 neighbourhoods of 16 samples are all flat, so that no slope is needed.
static inline AVX2 int is_flat(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below, int in) {
    const extremes u = extremes_of(above->u, here->u, below->u, in - 1), v = extremes_of(above->v, here->v, below->v, in - 1);
    __m256i far_off = _mm256_or_si256(distance(u, here->u[in]), distance(v, here->v[in]));
    if (_mm256_testz_si256(far_off, far_off)) return 1;
    __m128i uneven = _mm_or_si128(unevenness(u), unevenness(v));
    return _mm_testz_si128(uneven, uneven);
}

static AVX2 int find_uneven(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below,
                            int blocks, beam_slopes *slopes) {
    int any = 0;
    for (int block = 0; block < blocks; block++) {
        slopes->is_steep[block] = !is_flat(above, here, below, BEAM_BEFORE + block * BEAM_BLOCK / 2);
        any |= slopes->is_steep[block];
    }
    return any;
}

// The residual of 3 × 3 samples after removing their plane (see chroma.c), for 16 samples. It is six sums, two per
// register of 32-bit elements; `low` has samples 0…3 and 8…11, `high` the others.
typedef struct detail {
    __m256i low[3], high[3];
} detail;

typedef struct columns {
    __m256i mean, slope, bend;
} columns;

static inline AVX2 columns columns_of(__m256i above, __m256i here, __m256i below) {
    __m256i outer = _mm256_add_epi16(above, below);
    return (columns){_mm256_add_epi16(outer, here), _mm256_sub_epi16(below, above),
                     _mm256_sub_epi16(outer, _mm256_slli_epi16(here, 1))};
}

static inline AVX2 __m256i bent(__m256i left, __m256i here, __m256i right) {
    return _mm256_sub_epi16(_mm256_add_epi16(left, right), _mm256_slli_epi16(here, 1));
}

static inline AVX2 void sums_of(columns l, columns h, columns r, __m256i sums[6]) {
    sums[0] = bent(l.mean, h.mean, r.mean);
    sums[1] = _mm256_add_epi16(_mm256_add_epi16(l.bend, h.bend), r.bend);
    sums[2] = _mm256_sub_epi16(r.slope, l.slope);
    sums[3] = bent(l.slope, h.slope, r.slope);
    sums[4] = _mm256_sub_epi16(r.bend, l.bend);
    sums[5] = bent(l.bend, h.bend, r.bend);
}

static inline AVX2 detail paired(const __m256i sums[6]) {
    detail result;
    for (int i = 0; i < 3; i++) {
        result.low[i] = _mm256_unpacklo_epi16(sums[2 * i], sums[2 * i + 1]);
        result.high[i] = _mm256_unpackhi_epi16(sums[2 * i], sums[2 * i + 1]);
    }
    return result;
}

static inline AVX2 void weigh(__m256i sums[6]) {
    __m256i three = _mm256_add_epi16(sums[3], _mm256_slli_epi16(sums[3], 1));
    sums[0] = _mm256_slli_epi16(sums[0], 1);
    sums[1] = _mm256_slli_epi16(sums[1], 1);
    sums[2] = _mm256_add_epi16(sums[2], _mm256_slli_epi16(sums[2], 3));
    sums[3] = three;
    sums[4] = _mm256_add_epi16(sums[4], _mm256_slli_epi16(sums[4], 1));
}

static inline AVX2 __m256i bytes_at(const uint8_t *from) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from));
}

static inline AVX2 void byte_sums(const uint8_t *above, const uint8_t *here, const uint8_t *below, __m256i sums[6]) {
    sums_of(columns_of(bytes_at(above - 1), bytes_at(here - 1), bytes_at(below - 1)),
            columns_of(bytes_at(above), bytes_at(here), bytes_at(below)),
            columns_of(bytes_at(above + 1), bytes_at(here + 1), bytes_at(below + 1)), sums);
}

static inline AVX2 __m256 product(const __m256i a[3], const __m256i b[3]) {
    __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(a[0], b[0]), _mm256_madd_epi16(a[1], b[1]));
    return _mm256_cvtepi32_ps(_mm256_add_epi32(sum, _mm256_madd_epi16(a[2], b[2])));
}

static inline AVX2 __m256i slope_of(__m256 covariance, __m256 factor) {
    const __m256 most = _mm256_set1_ps(2 * BEAM_SLOPE_ONE), least = _mm256_set1_ps(-2 * BEAM_SLOPE_ONE);
    __m256 slope = _mm256_mul_ps(_mm256_mul_ps(covariance, factor), _mm256_set1_ps(4 * BEAM_SLOPE_ONE));
    return _mm256_cvttps_epi32(_mm256_max_ps(_mm256_min_ps(slope, most), least));
}

// The slopes' common factor for eight samples, from the variances of luma and chroma and their covariances `p` and `q`.
static inline AVX2 __m256 factor_of(__m256 luma, __m256 chroma, __m256 p, __m256 q) {
    __m256 both = _mm256_add_ps(_mm256_mul_ps(p, p), _mm256_mul_ps(q, q));
    __m256 noise = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(0.75f), chroma), _mm256_set1_ps(BEAM_SLOPE_LEAST_CHROMA));
    __m256 gain = _mm256_sub_ps(_mm256_mul_ps(_mm256_set1_ps(1.75f), both), _mm256_mul_ps(noise, luma));
    __m256 size = _mm256_mul_ps(both, _mm256_add_ps(luma, _mm256_set1_ps(BEAM_SLOPE_LEAST_LUMA)));
    return _mm256_div_ps(_mm256_max_ps(gain, _mm256_setzero_ps()), _mm256_add_ps(size, _mm256_set1_ps(1)));
}

static AVX2 void fit_slopes(const beam_chroma_row *above, const beam_chroma_row *here, const beam_chroma_row *below,
                            int blocks, beam_slopes *slopes) {
    for (int block = 0; block < blocks; block++) {
        if (!slopes->is_steep[block]) continue;
        slopes->is_steep[block] = 0;
        const int begin = block * BEAM_BLOCK / 2, in = BEAM_BEFORE + begin;
        __m256i sums[6];
        byte_sums(above->u + in, here->u + in, below->u + in, sums);
        const detail u = paired(sums);
        weigh(sums);
        const detail u_weighed = paired(sums);
        byte_sums(above->v + in, here->v + in, below->v + in, sums);
        const detail v = paired(sums);
        weigh(sums);
        const detail v_weighed = paired(sums);
        // The terms are integers below 2^24, so the float arithmetic is exact.
        const __m256 chroma[2] = {_mm256_add_ps(product(u.low, u_weighed.low), product(v.low, v_weighed.low)),
                                  _mm256_add_ps(product(u.high, u_weighed.high), product(v.high, v_weighed.high))};
        // Luma can't explain more variance than chroma has. If that is too little, the factor is 0 for any luma, so
        // skip the block.
        const __m256 least = _mm256_set1_ps(BEAM_SLOPE_LEAST_CHROMA);
        if (_mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(chroma[0], chroma[1]), least, _CMP_GT_OQ)) == 0) continue;
        const int16_t *a = above->luma + in, *h = here->luma + in, *b = below->luma + in;
        sums_of(columns_of(load(a - 1), load(h - 1), load(b - 1)), columns_of(load(a), load(h), load(b)),
                columns_of(load(a + 1), load(h + 1), load(b + 1)), sums);
        const detail luma = paired(sums);
        weigh(sums);
        const detail weighed = paired(sums);
        __m256i results[4];
        for (int half = 0; half < 2; half++) {
            const __m256i *w = half ? weighed.high : weighed.low;
            const __m256i *pu = half ? u.high : u.low, *pv = half ? v.high : v.low;
            __m256 variance = product(w, half ? luma.high : luma.low), p = product(w, pu), q = product(w, pv);
            __m256 factor = factor_of(variance, chroma[half], p, q);
            results[half] = slope_of(p, factor);
            results[2 + half] = slope_of(q, factor);
        }
        // Packing restores the samples' order.
        __m256i u_slopes = _mm256_packs_epi32(results[0], results[1]), v_slopes = _mm256_packs_epi32(results[2], results[3]);
        store(slopes->u + begin, u_slopes);
        store(slopes->v + begin, v_slopes);
        __m256i any = _mm256_or_si256(u_slopes, v_slopes);
        slopes->is_steep[block] = !_mm256_testz_si256(any, any);
    }
}

static inline AVX2 __m256i between(__m256i here, __m256i beside) {
    return _mm256_add_epi16(_mm256_add_epi16(here, _mm256_slli_epi16(here, 1)), beside);
}

static inline AVX2 __m256i guided(__m256i here, __m256i beside, __m256i slope, __m256i luma) {
    __m256i sum = _mm256_add_epi16(between(here, beside), _mm256_mulhrs_epi16(luma, slope));
    sum = _mm256_min_epi16(_mm256_max_epi16(sum, _mm256_setzero_si256()), _mm256_set1_epi16(4080));
    return _mm256_sub_epi16(_mm256_slli_epi16(sum, 3), _mm256_set1_epi16(128 << 7));
}

static AVX2 void guided_to_bgrx(const uint8_t *y, const int16_t *u, const int16_t *v, const int16_t *luma,
                                const int16_t *u_slopes, const int16_t *v_slopes, uint8_t *output, int pixels,
                                const beam_to_rgb *coefficients) {
    const rgb_registers k = rgb_broadcast(coefficients);
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        const int16_t *u_here = u + x / 2, *v_here = v + x / 2, *l_here = luma + x / 2;
        __m256i bytes = load(y + x), u_mid = load(u_here), v_mid = load(v_here), l_mid = load(l_here);
        __m256i u_slope = load(u_slopes + x / 2), v_slope = load(v_slopes + x / 2);
        __m256i even = _mm256_srli_epi16(_mm256_slli_epi16(bytes, 8), 2);
        __m256i odd = _mm256_slli_epi16(_mm256_srli_epi16(bytes, 8), 6);
        even = _mm256_sub_epi16(even, between(l_mid, load(l_here - 1)));
        odd = _mm256_sub_epi16(odd, between(l_mid, load(l_here + 1)));
        store_block(output + 4 * x, bytes, guided(u_mid, load(u_here - 1), u_slope, even),
                    guided(u_mid, load(u_here + 1), u_slope, odd), guided(v_mid, load(v_here - 1), v_slope, even),
                    guided(v_mid, load(v_here + 1), v_slope, odd), &k);
    }
}

static inline AVX2 __m256i centred_even(__m256i samples) {
    return _mm256_sub_epi16(_mm256_srli_epi16(_mm256_slli_epi16(samples, 8), 1), _mm256_set1_epi16(128 << 7));
}

static inline AVX2 __m256i centred_odd(__m256i samples) {
    return _mm256_sub_epi16(_mm256_slli_epi16(_mm256_srli_epi16(samples, 8), 7), _mm256_set1_epi16(128 << 7));
}

static AVX2 void i444_row_to_bgrx(const uint8_t *y, const uint8_t *u, const uint8_t *v, uint8_t *output, int pixels,
                                  const beam_to_rgb *coefficients) {
    const rgb_registers k = rgb_broadcast(coefficients);
    for (int x = 0; x < pixels; x += BEAM_BLOCK) {
        __m256i u_bytes = load(u + x), v_bytes = load(v + x);
        store_block(output + 4 * x, load(y + x), centred_even(u_bytes), centred_odd(u_bytes), centred_even(v_bytes),
                    centred_odd(v_bytes), &k);
    }
}

static AVX2 void mark_changed(const uint8_t *a, const uint8_t *b, int width, int count, uint8_t *tiles) {
    for (int i = 0; i < count; i++, a += width, b += width) {
        if (tiles[i]) continue;
        __m256i difference = _mm256_xor_si256(load(a), load(b));
        if (width == BEAM_TILE_WIDTH) difference = _mm256_or_si256(difference, _mm256_xor_si256(load(a + 32), load(b + 32)));
        tiles[i] = !_mm256_testz_si256(difference, difference);
    }
}

static AVX2 void add_pixels(const uint8_t *row, const uint32_t *keys, int count, uint64_t *sums) {
    const __m256i colours = _mm256_set1_epi32(0x00ffffff);
    for (int i = 0; i < count; i++, row += 4 * BEAM_TILE_WIDTH, sums += BEAM_SUMS) {
        __m256i sum = load(sums);
        for (int x = 0; x < BEAM_TILE_WIDTH; x += 2 * BEAM_SUMS) {
            __m256i keyed = _mm256_add_epi32(_mm256_and_si256(load(row + 4 * x), colours), load(keys + x));
            sum = _mm256_add_epi64(sum, _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32)));
        }
        store(sums, sum);
    }
}

const beam_variant beam_avx2 = {rows_to_i420, mix_rows, mixed_to_bgrx, i444_row_to_bgrx, mark_changed, add_pixels,
                                 sum_2x2,      mix_sums, find_uneven,   fit_slopes,       guided_to_bgrx};
#else
typedef int beam_no_avx2;
#endif
