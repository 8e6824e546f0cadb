// Copies pictures, turned if need be.
#include "include/CBeamPixels.h"

#include <string.h>

enum {
    // Turned pictures are copied in squares of this side, so that the lines of the cache that a row touches are still there
    // for the next one.
    SQUARE = 16,
};

static void copy_square(const uint8_t *source, ptrdiff_t right, ptrdiff_t down, beam_plane output, beam_rect rect, int swaps) {
    for (int y = rect.y0; y < rect.y1; y++) {
        const uint8_t *from = source + y * down + rect.x0 * right;
        uint8_t *to = output.base + y * output.stride + 4 * (ptrdiff_t)rect.x0;
        for (int x = rect.x0; x < rect.x1; x++, from += right, to += 4) {
            uint8_t pixel[4];
            memcpy(pixel, from, sizeof pixel);
            if (swaps) {
                const uint8_t first = pixel[0];
                pixel[0] = pixel[2];
                pixel[2] = first;
            }
            memcpy(to, pixel, sizeof pixel);
        }
    }
}

void beam_copy_pixels(const uint8_t *source, ptrdiff_t right, ptrdiff_t down, beam_plane output, beam_rect rect, int swaps) {
    if (right == 4 && !swaps) {
        for (int y = rect.y0; y < rect.y1; y++) {
            const ptrdiff_t left = 4 * (ptrdiff_t)rect.x0;
            memcpy(output.base + y * output.stride + left, source + y * down + left, 4 * (size_t)(rect.x1 - rect.x0));
        }
        return;
    }
    for (int y = rect.y0; y < rect.y1; y += SQUARE) {
        for (int x = rect.x0; x < rect.x1; x += SQUARE) {
            const beam_rect square = {x, y, x + SQUARE < rect.x1 ? x + SQUARE : rect.x1, y + SQUARE < rect.y1 ? y + SQUARE : rect.y1};
            copy_square(source, right, down, output, square, swaps);
        }
    }
}
