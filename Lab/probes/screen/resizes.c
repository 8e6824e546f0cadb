// How soon the right picture is seen after a Wayland desktop has got another size.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "wayland.h"

enum { ACROSS = 4, DOWN = 4, BLINK = 32 };

/// How far a channel may be from what it should be: less than half the distance of two of them.
static const int tolerance = 36;
/// How often a spot in the middle changes, for sources that send a picture of a new size with the next change.
static const double blink_interval = 0.1;

/// A block's colour: of each channel one of three values, others for each size.
static uint32_t colour_of(uint32_t size, int block) {
    static const uint32_t values[] = {48, 128, 208};
    uint32_t bits = (size * 16 + (uint32_t)block + 1) * 2654435761u, colour = 0;
    bits ^= bits >> 15;
    for (int i = 0; i < 3; i++) {
        colour = colour << 8 | values[bits % 3];
        bits /= 3;
    }
    return colour;
}

static struct sheet *draw(int columns, int rows, uint32_t size, uint32_t blink) {
    struct sheet *sheet = make_sheet(columns, rows);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) {
            bool blinks = abs(2 * x - columns) < BLINK && abs(2 * y - rows) < BLINK;
            int block = y * DOWN / rows * ACROSS + x * ACROSS / columns;
            sheet->pixels[(size_t)y * (size_t)columns + (size_t)x] = blinks ? blink : colour_of(size, block);
        }
    }
    return sheet;
}

/// The viewer's screen: one row of it at a time.
static struct shared_image *line;
static int screen_width, screen_height;

/// Where the picture lies on the viewer's screen, if it is fitted into it.
struct place {
    double x, y, width, height;
};

static struct place fitted(int columns, int rows) {
    double scale = fmin((double)screen_width / columns, (double)screen_height / rows);
    double wide = columns * scale, high = rows * scale;
    return (struct place){(screen_width - wide) / 2, (screen_height - high) / 2, wide, high};
}

static bool has_colour(double x, uint32_t wanted) {
    if (x < 0 || x >= screen_width) return true;
    uint32_t found = image_row(line, 0)[(int)x];
    for (int shift = 0; shift <= 16; shift += 8) {
        if (abs((int)(found >> shift & 255) - (int)(wanted >> shift & 255)) > tolerance) return false;
    }
    return true;
}

/// Beside a picture the screen is black.
static bool is_row_right(struct place place, uint32_t size, double part) {
    double y = place.y + part * place.height;
    if (y < 0 || y >= screen_height) return true;
    bool is_inside = part >= 0 && part < 1;
    int down = (int)(part * DOWN);
    grab(line, 0, (int)y);
    for (int across = 0; across < ACROSS; across++) {
        uint32_t wanted = is_inside ? colour_of(size, down * ACROSS + across) : 0;
        if (!has_colour(place.x + (across + 0.5) / ACROSS * place.width, wanted)) return false;
    }
    return !is_inside || (has_colour(place.x + 0.02 * place.width, colour_of(size, down * ACROSS)) &&
                          has_colour(place.x + 0.98 * place.width, colour_of(size, down * ACROSS + ACROSS - 1)) &&
                          has_colour(place.x - 0.02 * place.width, 0) && has_colour(place.x + 1.02 * place.width, 0));
}

/// The middle of each block, and 2 % of the picture's size inside and outside of each edge.
static bool is_right(int columns, int rows, uint32_t size) {
    static const double parts[] = {0.125, 0.375, 0.625, 0.875, 0.02, 0.98, -0.02, 1.02};
    struct place place = fitted(columns, rows);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!is_row_right(place, size, parts[i])) return false;
    }
    return true;
}

/// What is shown of a size: two sheets that differ in the middle.
struct shown {
    int width, height;
    uint32_t size;
    struct sheet *sheets[2];
};

/// Answers when it was committed.
static double show_new(struct shown *shown, struct told told) {
    struct shown old = *shown;
    *shown = (struct shown){told.width, told.height, old.size + 1, {0}};
    for (int i = 0; i < 2; i++) shown->sheets[i] = draw(told.width, told.height, shown->size, i ? 0xFFFFFF : 0);
    double time = show_sheet(shown->sheets[0], (struct part){0, 0, told.width, told.height}, NULL);
    for (int i = 0; i < 2; i++) {
        if (old.sheets[i]) free_sheet(old.sheets[i]);
    }
    return time;
}

static void blink(const struct shown *shown, int number) {
    struct part middle = {(shown->width - BLINK) / 2, (shown->height - BLINK) / 2, BLINK, BLINK};
    show_sheet(shown->sheets[number & 1], middle, NULL);
}

void print_resizes(void) {
    Display *viewer = XOpenDisplay(options.viewer);
    if (!viewer) fail("can't open the display", options.viewer);
    screen_width = DisplayWidth(viewer, 0);
    screen_height = DisplayHeight(viewer, 0);
    line = make_image(viewer, screen_width, 1);
    open_wayland(options.wayland);
    struct shown shown = {0};
    double committed = 0, blinked = 0;
    int blinks = 0;
    bool is_seen = true;
    while (!is_input_ended()) {
        attend_wayland(now() + 0.001);
        struct told told = told_by_wayland();
        if (told.width != shown.width || told.height != shown.height) {
            committed = blinked = show_new(&shown, told);
            blinks = 0;
            is_seen = false;
        } else if (now() >= blinked + blink_interval) {
            blink(&shown, ++blinks);
            blinked = now();
        }
        if (!is_seen && is_right(shown.width, shown.height, shown.size)) {
            printf("%d %d %.6f %.6f\n", shown.width, shown.height, committed, now());
            fflush(stdout);
            is_seen = true;
        }
    }
    close_wayland();
    free_image(line);
    XCloseDisplay(viewer);
}
