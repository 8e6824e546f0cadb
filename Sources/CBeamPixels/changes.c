// Finds the tiles in which two pictures differ.
#include "variants.h"

#include <string.h>

// One row of tiles in one plane: `rows` rows of `width` samples, `tile_width` samples per tile.
static void mark_band(beam_const_plane a, beam_const_plane b, int first, int rows, int width, int tile_width, uint8_t *tiles,
                      const beam_variant *run) {
    const int whole = width / tile_width, rest = width - whole * tile_width;
    for (int y = first; y < first + rows; y++) {
        const uint8_t *p = a.base + y * a.stride, *q = b.base + y * b.stride;
        run->mark_changed(p, q, tile_width, whole, tiles);
        if (rest > 0 && !tiles[whole]) tiles[whole] = memcmp(p + whole * tile_width, q + whole * tile_width, (size_t)rest) != 0;
    }
}

int beam_changed_tiles(const beam_const_plane a[3], const beam_const_plane b[3], beam_size size, int is_halved, uint8_t *tiles,
                       beam_kernel kernel) {
    const beam_variant *run = beam_find_variant(kernel);
    const int across = (size.width + BEAM_TILE_WIDTH - 1) / BEAM_TILE_WIDTH;
    const int shift = is_halved ? 1 : 0;
    int changed = 0;
    for (int y = 0; y < size.height; y += BEAM_TILE_HEIGHT, tiles += across) {
        const int rows = size.height - y < BEAM_TILE_HEIGHT ? size.height - y : BEAM_TILE_HEIGHT;
        memset(tiles, 0, (size_t)across);
        mark_band(a[0], b[0], y, rows, size.width, BEAM_TILE_WIDTH, tiles, run);
        for (int i = 1; i < 3; i++) {
            mark_band(a[i], b[i], y >> shift, (rows + shift) >> shift, (size.width + shift) >> shift, BEAM_TILE_WIDTH >> shift,
                      tiles, run);
        }
        for (int i = 0; i < across; i++) changed += tiles[i];
    }
    return changed;
}
