// Everything that was painted and seen, each with its time: for figures that a summary can't give.

#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

struct look {
    double time, luma, worst;
    /// The frame that the picture says it is; -1 if that can't be read.
    int64_t number;
};

enum { LOOKS = 1 << 17 };
static struct look looks[LOOKS];
static int look_count;

/// The picture beside the frame that it says it is. Where it is far from that, its neighbours may be nearer: a viewer
/// may have drawn the strip and not yet the rest.
static struct look look_at(struct shared_image *screen) {
    const int y = STRIP_Y + STRIP_HEIGHT / 2;
    grab(screen, 0, 0);
    struct look look = {.time = now()};
    if (options.content != STILL) {
        int64_t code = read_code(image_row(screen, y), image_row(screen, y + 1), 0, NUMBER_X, NUMBER_BITS);
        look.number = code < 0 ? -1 : (int64_t)frame_of_code(code);
        if (code < 0) return look;
    }
    look.luma = psnr_luma(screen, (uint32_t)look.number, 4, &look.worst);
    for (int64_t other = look.number - 1; look.luma < 20 && look.number > 0 && other <= look.number + 1; other += 2) {
        double worst, luma = psnr_luma(screen, (uint32_t)other, 4, &worst);
        if (luma > look.luma) look.luma = luma, look.worst = worst;
    }
    return look;
}

void *trace_quality(void *unused) {
    (void)unused;
    Display *display = XOpenDisplay(options.viewer);
    if (!display) fail("can't open the display", options.viewer);
    struct shared_image *screen = make_image(display, width, height);
    int seen = -1;
    while (!is_stopping && !is_frozen && look_count < LOOKS) {
        // Each new picture once, and what stands still from time to time: it may be getting better or worse.
        double limit = now() + 0.05;
        while (record.last_frame_seen == seen && now() < limit && !is_stopping) sleep_for(0.002);
        seen = record.last_frame_seen;
        looks[look_count] = look_at(screen);
        look_count++;
    }
    free_image(screen);
    XCloseDisplay(display);
    return NULL;
}

static void write_numbers(FILE *file, const char *name, const double *painted, const double *seen, int size, int last) {
    for (int number = last >= size ? last - size + 1 : 0; number <= last; number++)
        fprintf(file, "%s %d %.6f %.6f\n", name, number, painted[number % size], seen[number % size]);
}

void write_trace(double begin, double end) {
    FILE *file = fopen(options.trace, "w");
    if (!file) fail("can't write it", options.trace);
    fprintf(file, "measured %.6f %.6f\n", begin, end);
    // When it was painted (0: never), and first seen (0: never).
    write_numbers(file, "marker", record.marker_painted, record.marker_seen, MARKERS, record.marker);
    if (options.content != STILL)
        write_numbers(file, "frame", record.frame_painted, record.frame_seen, FRAMES, record.frame);
    else
        fprintf(file, "frame 0 %.6f 0\n", record.frame_painted[0]);
    for (int i = 0; i < look_count; i++)
        fprintf(file, "look %.6f %ld %.2f %.2f\n", looks[i].time, looks[i].number, looks[i].luma, looks[i].worst);
    if (fclose(file) != 0) fail("can't write it", options.trace);
}
