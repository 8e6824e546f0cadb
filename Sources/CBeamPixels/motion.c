// Which pixels of a picture differ from an earlier one, and by how much pixels have moved since then.
//
// A cell is a row of 16 pixels whose first column is a multiple of 16: a tile has one cell in each of its rows. The fourth
// byte of a pixel doesn't count.
#include "variants.h"

#include <stdlib.h>
#include <string.h>

#if BEAM_HAS_AVX2
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#endif

enum {
    CELL = 16,
    COLOURS = 0x00ffffff,
    // Samples are looked for in a lattice of so many rows and columns.
    LATTICE = 24,
    MOST_SAMPLES = LATTICE * LATTICE,
    // With fewer samples a match says nothing.
    LEAST_SAMPLES = 4,
    // So many of them are looked for in the earlier picture, and so many of their places are tried. What is found more often
    // is a pattern that repeats itself.
    ANCHORS = 8,
    MOST_PLACES = 24,
    // Percent of the samples: a motion explains at least so many, and one that explains so many isn't compared with others.
    LEAST_MATCHES = 30,
    SURE_MATCHES = 90,
};

typedef struct sample {
    int x, y;
} sample;

// The functions of a variant.
typedef struct comparing {
    // Whether two cells differ.
    int (*differ)(const uint8_t *p, const uint8_t *q);
    // Which of up to 64 cells in a row differ, from bit 0 on.
    uint64_t (*differing)(const uint8_t *p, const uint8_t *q, int count);
    // The first index from `from` to `count` − 1 where a pixel is `first` and the next one `second`, both without their
    // fourth bytes; `count` if there is none. Reads `count` + 1 pixels.
    int (*find_pair)(const uint8_t *row, int from, int count, uint32_t first, uint32_t second);
} comparing;

static inline uint32_t colours(const uint8_t *pixel) {
    uint32_t value;
    memcpy(&value, pixel, sizeof value);
    return value & COLOURS;
}

static int part_differs(const uint8_t *p, const uint8_t *q, int pixels) {
    uint32_t difference = 0;
    for (int x = 0; x < pixels; x++) difference |= colours(p + 4 * x) ^ colours(q + 4 * x);
    return difference != 0;
}

static int differ(const uint8_t *p, const uint8_t *q) { return part_differs(p, q, CELL); }

static uint64_t differing(const uint8_t *p, const uint8_t *q, int count) {
    uint64_t cells = 0;
    for (int i = 0; i < count; i++) cells |= (uint64_t)part_differs(p + 4 * CELL * i, q + 4 * CELL * i, CELL) << i;
    return cells;
}

static int find_pair(const uint8_t *row, int from, int count, uint32_t first, uint32_t second) {
    for (int x = from; x < count; x++) {
        if (colours(row + 4 * x) == first && colours(row + 4 * x + 4) == second) return x;
    }
    return count;
}

static const comparing portable_comparing = {differ, differing, find_pair};

#if BEAM_HAS_AVX2
static inline AVX2 __m256i load(const uint8_t *from) { return _mm256_loadu_si256((const __m256i *)from); }

static inline AVX2 int differ_avx2(const uint8_t *p, const uint8_t *q) {
    const __m256i a = _mm256_xor_si256(load(p), load(q)), b = _mm256_xor_si256(load(p + 32), load(q + 32));
    return !_mm256_testz_si256(_mm256_or_si256(a, b), _mm256_set1_epi32(COLOURS));
}

static AVX2 uint64_t differing_avx2(const uint8_t *p, const uint8_t *q, int count) {
    uint64_t cells = 0;
    for (int i = 0; i < count; i++) cells |= (uint64_t)differ_avx2(p + 4 * CELL * i, q + 4 * CELL * i) << i;
    return cells;
}

static AVX2 int find_pair_avx2(const uint8_t *row, int from, int count, uint32_t first, uint32_t second) {
    const __m256i mask = _mm256_set1_epi32(COLOURS);
    const __m256i one = _mm256_set1_epi32((int)first), two = _mm256_set1_epi32((int)second);
    int x = from;
    for (; x + 8 <= count; x += 8) {
        const __m256i here = _mm256_cmpeq_epi32(_mm256_and_si256(load(row + 4 * x), mask), one);
        const __m256i next = _mm256_cmpeq_epi32(_mm256_and_si256(load(row + 4 * x + 4), mask), two);
        const int found = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(here, next)));
        if (found) return x + __builtin_ctz((unsigned)found);
    }
    return find_pair(row, x, count, first, second);
}

static const comparing avx2_comparing = {differ_avx2, differing_avx2, find_pair_avx2};
#endif

static const comparing *find(beam_kernel kernel) {
#if BEAM_HAS_AVX2
    if (beam_find_variant(kernel) == &beam_avx2) return &avx2_comparing;
#else
    (void)kernel;
#endif
    return &portable_comparing;
}

static inline const uint8_t *pixel(beam_const_plane plane, int x, int y) { return plane.base + y * plane.stride + 4 * (ptrdiff_t)x; }

int beam_changed_cells(beam_const_plane picture, beam_const_plane before, beam_rect area, beam_motion motion, uint64_t *cells,
                       int words, int left, beam_kernel kernel) {
    const comparing *run = find(kernel);
    const int first = area.x0 / CELL, last = (area.x1 + CELL - 1) / CELL;
    // Those that are wholly in the area; before and behind them there may be a part of one.
    const int whole = (area.x0 + CELL - 1) / CELL, end = area.x1 / CELL;
    int count = 0;
    for (int y = area.y0; y < area.y1; y++, cells += words) {
        const uint8_t *p = pixel(picture, 0, y), *q = pixel(before, 0, y + motion.dy);
        for (int cell = first; cell < last;) {
            const int bit = (cell - left) & 63;
            uint64_t found;
            int step = 1;
            if (cell >= whole && cell < end) {
                step = end - cell < 64 - bit ? end - cell : 64 - bit;
                found = run->differing(p + 4 * CELL * (ptrdiff_t)cell, q + 4 * (CELL * (ptrdiff_t)cell + motion.dx), step);
            } else {
                const int x0 = cell * CELL < area.x0 ? area.x0 : cell * CELL;
                const int x1 = (cell + 1) * CELL > area.x1 ? area.x1 : (cell + 1) * CELL;
                found = (uint64_t)part_differs(p + 4 * (ptrdiff_t)x0, q + 4 * ((ptrdiff_t)x0 + motion.dx), x1 - x0);
            }
            uint64_t *word = &cells[(cell - left) >> 6];
            count += __builtin_popcountll((found << bit) & ~*word);
            *word |= found << bit;
            cell += step;
        }
    }
    return count;
}

// How often the colour changes inside of a cell.
static int edges(const uint8_t *cell) {
    int count = 0;
    for (int x = 1; x < CELL; x++) count += colours(cell + 4 * x) != colours(cell + 4 * x - 4);
    return count;
}

// Cells of `area` that have changed and aren't of one colour, spread over it.
static int take_samples(beam_const_plane picture, beam_const_plane before, beam_rect area, const comparing *run, sample *samples) {
    const int first = (area.x0 + CELL - 1) / CELL, columns = area.x1 / CELL - first, rows = area.y1 - area.y0;
    if (columns < 1 || rows < 1) return 0;
    int count = 0;
    for (int i = 0; i < LATTICE; i++) {
        for (int j = 0; j < LATTICE; j++) {
            // Not all columns at the same rows, which could lie between lines of text.
            const int y = area.y0 + (int)((int64_t)rows * (2 * (i * LATTICE + (j * 7) % LATTICE) + 1) / (2 * LATTICE * LATTICE));
            const int x = (first + columns * (2 * j + 1) / (2 * LATTICE)) * CELL;
            const uint8_t *cell = pixel(picture, x, y);
            if (!run->differ(cell, pixel(before, x, y)) || edges(cell) < 2) continue;
            samples[count++] = (sample){x, y};
        }
    }
    return count;
}

typedef struct search {
    beam_const_plane picture, before;
    beam_size size;
    const comparing *run;
    const sample *samples;
    int count;
    // The best so far, and how many samples it explains.
    beam_motion best;
    int matches;
} search;

static int matches(const search *search, beam_motion motion) {
    int count = 0;
    for (int i = 0; i < search->count; i++) {
        const int x = search->samples[i].x + motion.dx, y = search->samples[i].y + motion.dy;
        if (x < 0 || y < 0 || x + CELL > search->size.width || y >= search->size.height) continue;
        count += !search->run->differ(pixel(search->picture, search->samples[i].x, search->samples[i].y), pixel(search->before, x, y));
    }
    return count;
}

static void try_motion(search *search, beam_motion motion) {
    if (!motion.dx && !motion.dy) return;
    const int count = matches(search, motion);
    // Of equals, as with lines that are all alike, the shortest.
    const int length = abs(motion.dx) + abs(motion.dy), best = abs(search->best.dx) + abs(search->best.dy);
    if (count > search->matches || (count == search->matches && count > 0 && length < best)) {
        search->best = motion;
        search->matches = count;
    }
}

// The best motion so far explains so much that others needn't be tried.
static int is_sure(const search *search) { return search->matches * 100 >= SURE_MATCHES * search->count; }

// Looks for a sample in the earlier picture, within `reach` of its place.
static void follow(search *search, sample from, beam_size reach) {
    const uint8_t *cell = pixel(search->picture, from.x, from.y);
    int edge = 0;
    while (edge + 2 < CELL && colours(cell + 4 * edge) == colours(cell + 4 * edge + 4)) edge++;
    const uint32_t first = colours(cell + 4 * edge), second = colours(cell + 4 * edge + 4);
    const int x0 = from.x < reach.width ? 0 : from.x - reach.width, end = search->size.width - CELL;
    const int x1 = from.x > end - reach.width ? end : from.x + reach.width;
    const int y0 = from.y < reach.height ? 0 : from.y - reach.height;
    const int y1 = from.y >= search->size.height - reach.height ? search->size.height - 1 : from.y + reach.height;
    beam_motion found[MOST_PLACES];
    int count = 0;
    for (int y = y0; y <= y1; y++) {
        const uint8_t *row = pixel(search->before, x0 + edge, y);
        const int length = x1 - x0 + 1;
        for (int x = search->run->find_pair(row, 0, length, first, second); x < length;
             x = search->run->find_pair(row, x + 1, length, first, second)) {
            if (search->run->differ(cell, pixel(search->before, x0 + x, y))) continue;
            if (count == MOST_PLACES) return;
            found[count++] = (beam_motion){x0 + x - from.x, y - from.y};
        }
    }
    // Letters look alike from one row to the next: not the first place that fits is the right one, but the best.
    for (int i = 0; i < count; i++) try_motion(search, found[i]);
}

int beam_find_motion(beam_const_plane picture, beam_const_plane before, beam_size size, beam_rect area, beam_size reach,
                     beam_motion last, beam_motion *motion, beam_kernel kernel) {
    sample samples[MOST_SAMPLES];
    search search = {.picture = picture, .before = before, .size = size, .run = find(kernel), .samples = samples};
    if (size.width < CELL) return 0;
    search.count = take_samples(picture, before, area, search.run, samples);
    if (search.count < LEAST_SAMPLES) return 0;
    try_motion(&search, last);
    for (int i = 0; !is_sure(&search) && i < ANCHORS; i++) {
        follow(&search, samples[search.count * (2 * i + 1) / (2 * ANCHORS)], reach);
    }
    if (search.matches * 100 < LEAST_MATCHES * search.count) return 0;
    *motion = search.best;
    return 1;
}

void beam_move_pixels(beam_plane picture, beam_rect target, beam_motion motion) {
    const size_t length = 4 * (size_t)(target.x1 - target.x0);
    // Rows that are still to be read aren't written before.
    const int step = motion.dy < 0 ? -1 : 1, rows = target.y1 - target.y0;
    for (int i = 0, y = motion.dy < 0 ? target.y1 - 1 : target.y0; i < rows; i++, y += step) {
        uint8_t *row = picture.base + y * picture.stride + 4 * (ptrdiff_t)target.x0;
        memmove(row, row + motion.dy * picture.stride + 4 * (ptrdiff_t)motion.dx, length);
    }
}
