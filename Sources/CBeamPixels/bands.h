// Shares the rows of a large picture with a helper thread.
#ifndef BEAM_BANDS_H
#define BEAM_BANDS_H

#include "include/CBeamPixels.h"

// Processes the rows y0 ≤ y < y1. Called from two threads at once.
typedef void beam_band(const void *arguments, int y0, int y1);

// Calls `band` for all rows of `rect`, in bands with an even number of rows except the last; small rectangles are one
// band. Returns when all rows are done.
void beam_in_bands(beam_rect rect, beam_band *band, const void *arguments);

#endif
