#include "CBeamPixels.h"

// A loop that every compiler turns into the vector instructions that all processors of the kind have.
static void separate_row(const uint8_t *restrict pairs, uint8_t *restrict first, uint8_t *restrict second, int count) {
    for (int i = 0; i < count; i++) {
        first[i] = pairs[2 * i];
        second[i] = pairs[2 * i + 1];
    }
}

void beam_separate_chroma(beam_const_plane pairs, beam_plane u, beam_plane v, beam_size size) {
    for (int row = 0; row < size.height; row++)
        separate_row(pairs.base + row * pairs.stride, u.base + row * u.stride, v.base + row * v.stride, size.width);
}
