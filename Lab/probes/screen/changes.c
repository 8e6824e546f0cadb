// When a part of the viewer's display changes, whatever changes it: a caption that is drawn over a resting picture.

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe.h"

/// FNV-1a, by words of 64 bits.
static uint64_t digest(struct shared_image *image) {
    uint64_t hash = 0xcbf29ce484222325;
    for (int y = 0; y < image->image->height; y++) {
        const uint32_t *row = image_row(image, y);
        // The highest byte of a pixel isn't shown.
        for (int x = 0; x < image->image->width; x++) hash = (hash ^ (row[x] & 0xffffff)) * 0x100000001b3;
    }
    return hash;
}

bool is_input_ended(void) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    char byte;
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

void print_changes(void) {
    prctl(PR_SET_TIMERSLACK, 1);
    Display *display = XOpenDisplay(options.viewer);
    if (!display) fail("can't open the display", options.viewer);
    struct part part = options.changes;
    if (part.width < 1 || part.height < 1 || part.x < 0 || part.y < 0 ||
        part.x + part.width > DisplayWidth(display, 0) || part.y + part.height > DisplayHeight(display, 0))
        fail("it has no such part", options.viewer);
    struct shared_image *image = make_image(display, part.width, part.height);
    uint64_t last = 0;
    double next = now();
    while (!is_input_ended()) {
        grab(image, part.x, part.y);
        double time = now();
        uint64_t found = digest(image);
        if (found != last) {
            printf("%.6f %016" PRIx64 "\n", time, found);
            fflush(stdout);
        }
        last = found;
        next += 500e-6;
        if (next < now())
            next = now();
        else
            sleep_until(next);
    }
    free_image(image);
    XCloseDisplay(display);
}
