// Work on a large picture's rows, shared with a second thread.
#ifndef BEAM_BANDS_H
#define BEAM_BANDS_H

#include "include/CBeamPixels.h"

// Does the rows from `y0` to `y1`; called from two threads at once.
typedef void beam_band(const void *arguments, int y0, int y1);

// Calls `band` for all rows of `rect`, in bands of an even number of rows but the last; small rectangles are one. Returns when
// all are done.
void beam_in_bands(beam_rect rect, beam_band *band, const void *arguments);

#endif
