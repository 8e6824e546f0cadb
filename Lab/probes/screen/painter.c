// The host's side: when the content, the marker and the frame numbers change.

#include "probe.h"

int changed_cell(int bits, uint32_t from) {
    uint32_t changed = to_gray(from) ^ to_gray(from + 1);
    for (int i = 0; i < bits; i++) {
        if (changed >> (bits - 1 - i) & 1) return i;
    }
    return -1;
}

/// A marker flips after 200 to 500 ms, at random.
static double next_flip(void) {
    static uint32_t state = 2654435761u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return 0.2 + state % 301 * 1e-3;
}

void *paint(void *unused) {
    (void)unused;
    bool moves = options.content != STILL;
    const struct canvas *canvas = options.wayland ? &wayland_canvas : &x_canvas;
    canvas->open();
    record.marker_painted[0] = record.frame_painted[0] = now();

    struct turn turn = {0};
    double next = now() + 1 / options.rate, flip = now() + next_flip();
    while (!is_stopping) {
        canvas->sleep_until(next);
        turn.flips = !is_frozen && !options.spawn && now() >= flip;
        turn.advances = !is_frozen && moves;
        if (turn.flips) flip = now() + next_flip();
        if (turn.flips || turn.advances) {
            double time = canvas->step(turn);
            if (turn.advances) {
                turn.frame++;
                record.frame_painted[turn.frame % FRAMES] = time;
                record.frame = (int)turn.frame;
            }
            if (turn.flips) {
                turn.marker++;
                record.marker_painted[turn.marker % MARKERS] = time;
                record.marker = (int)turn.marker;
            }
        }
        // Still content flips at any time, not on the raster of a rate.
        next = moves ? next + 1 / options.rate : is_frozen || options.spawn ? now() + 0.02 : flip;
        if (next < now()) next = now();
    }
    canvas->close();
    return NULL;
}
