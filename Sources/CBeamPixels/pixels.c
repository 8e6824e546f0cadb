// Finds the tiles of a captured picture that have changed since the last one, by fingerprints.
//
// Comparing with the last picture itself would read twice as much memory, which is what takes the time. A fingerprint is the
// hash NH of UMAC (Black, Halevi, Krawczyk, Krovetz and Rogaway 1999; RFC 4418, 5.2.2): each pixel's colour plus the key of
// its place, products of neighbours, and their sums mod 2^64, here four of them, each of every fourth pair of pixels.
//
// A change of one pixel always changes its sum: colours have 24 bits and keys are at least 2^24 below 2^32, so that no
// factor wraps around or is 0. Several changes in a sum cancel each other for at most one value of a key, whatever the
// others are: with a probability of about 2^-32, as nobody knows the keys. A tile is missed only if that happens in every
// sum that the changes touch.
#include "variants.h"

#include <string.h>

enum {
    // Tiles that are read together. Their rows fit in the L2 cache, from which they are copied.
    PART = 64,
};

// Copies the tiles x0 ≤ x < x1 of a row of tiles whose byte is 1, neighbours together.
static void copy_marked(beam_const_plane from, beam_plane to, int first, int rows, int width, int x0, int x1,
                        const uint8_t *tiles) {
    for (int begin = x0; begin < x1; begin++) {
        if (!tiles[begin]) continue;
        int end = begin + 1;
        while (end < x1 && tiles[end]) end++;
        const int left = begin * BEAM_TILE_WIDTH, right = end * BEAM_TILE_WIDTH < width ? end * BEAM_TILE_WIDTH : width;
        for (int y = first; y < first + rows; y++) {
            memcpy(to.base + y * to.stride + 4 * left, from.base + y * from.stride + 4 * left, 4 * (size_t)(right - left));
        }
        begin = end;
    }
}

// The fingerprints of the tiles x0 ≤ x < x1 of a row of tiles.
static void take(beam_const_plane picture, int first, int rows, int width, int x0, int x1, const uint32_t *keys, uint64_t *sums,
                 const beam_variant *run) {
    const int whole = width / BEAM_TILE_WIDTH < x1 ? width / BEAM_TILE_WIDTH : x1;
    memset(sums, 0, sizeof *sums * BEAM_SUMS * (size_t)(x1 - x0));
    for (int y = 0; y < rows; y++, keys += BEAM_TILE_WIDTH) {
        const uint8_t *row = picture.base + (first + y) * picture.stride;
        run->add_pixels(row + 4 * x0 * BEAM_TILE_WIDTH, keys, whole - x0, sums);
        if (whole < x1) {
            // The picture's edge; the rest of the tile is black.
            uint8_t edge[4 * BEAM_TILE_WIDTH] = {0};
            const int left = whole * BEAM_TILE_WIDTH;
            memcpy(edge, row + 4 * left, 4 * (size_t)(width - left));
            run->add_pixels(edge, keys, 1, sums + (whole - x0) * BEAM_SUMS);
        }
    }
}

int beam_changed_pixels(beam_const_plane picture, beam_size size, beam_rect area, const uint32_t *keys, uint64_t *fingerprints,
                        const beam_plane *copy, uint8_t *tiles, beam_kernel kernel) {
    const beam_variant *run = beam_find_variant(kernel);
    const int across = (size.width + BEAM_TILE_WIDTH - 1) / BEAM_TILE_WIDTH;
    int changed = 0;
    for (int row = area.y0; row < area.y1; row++) {
        const int first = row * BEAM_TILE_HEIGHT;
        const int rows = size.height - first < BEAM_TILE_HEIGHT ? size.height - first : BEAM_TILE_HEIGHT;
        uint8_t *marks = tiles + (ptrdiff_t)row * across;
        uint64_t *known = fingerprints + (ptrdiff_t)row * across * BEAM_SUMS;
        for (int x0 = area.x0; x0 < area.x1; x0 += PART) {
            const int x1 = area.x1 - x0 < PART ? area.x1 : x0 + PART;
            uint64_t sums[PART * BEAM_SUMS];
            int marked = 0;
            take(picture, first, rows, size.width, x0, x1, keys, sums, run);
            for (int x = x0; x < x1; x++) {
                const uint64_t *new = sums + (x - x0) * BEAM_SUMS;
                if (memcmp(new, known + (ptrdiff_t)x * BEAM_SUMS, sizeof *new * BEAM_SUMS) != 0) {
                    memcpy(known + (ptrdiff_t)x * BEAM_SUMS, new, sizeof *new * BEAM_SUMS);
                    changed += !marks[x];
                    marks[x] = 1;
                }
                marked |= marks[x];
            }
            if (copy && marked) copy_marked(picture, *copy, first, rows, size.width, x0, x1, marks);
        }
    }
    return changed;
}
