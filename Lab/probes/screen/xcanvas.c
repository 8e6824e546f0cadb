// Content, marker and frame numbers in a window that covers an X screen.

#include <stdlib.h>

#include "probe.h"

static Display *display;
static Window window;
static Pixmap *content;
/// Everything but the strip, and all of it.
static GC around_strip, everywhere;

static void open_window(void) {
    display = XOpenDisplay(options.host);
    if (!display) fail("can't open the display", options.host);
    int screen = DefaultScreen(display);
    XSetWindowAttributes attributes = {.override_redirect = True, .background_pixel = 0x404040};
    window = XCreateWindow(display, RootWindow(display, screen), 0, 0, (unsigned)width, (unsigned)height, 0,
                           DefaultDepth(display, screen), InputOutput, DefaultVisual(display, screen),
                           CWOverrideRedirect | CWBackPixel, &attributes);
    XMapRaised(display, window);
    XSync(display, False);
    around_strip = XCreateGC(display, window, 0, NULL);
    everywhere = XCreateGC(display, window, 0, NULL);
    XSetGraphicsExposures(display, around_strip, False);
    XSetGraphicsExposures(display, everywhere, False);
    XRectangle around[] = {
        {0, 0, (unsigned short)width, STRIP_Y},
        {0, STRIP_Y, STRIP_X, STRIP_HEIGHT},
        {STRIP_X + STRIP_WIDTH, STRIP_Y, (unsigned short)(width - STRIP_X - STRIP_WIDTH), STRIP_HEIGHT},
        {0, STRIP_Y + STRIP_HEIGHT, (unsigned short)width, (unsigned short)(height - STRIP_Y - STRIP_HEIGHT)},
    };
    XSetClipRectangles(display, around_strip, 0, 0, around, 4, YXBanded);
    content = calloc((size_t)picture_count, sizeof *content);
    if (!content) fail("out of memory", "pictures");
    for (int n = 0; n < picture_count; n++) {
        // A tall picture is seen from its top by frame 0.
        int rows = n == 0 ? tall_height : height;
        content[n] = upload(display, window, everywhere, picture_row((uint32_t)n, 0), width, rows);
    }
}

static void paint_content(uint32_t number) {
    XCopyArea(display, content[number % (uint32_t)picture_count], window, around_strip, 0, scroll_offset(number),
              (unsigned)width, (unsigned)height, 0, 0);
}

static void paint_cell(int x, int cell, bool is_white) {
    XSetForeground(display, everywhere, is_white ? 0xFFFFFF : 0);
    XFillRectangle(display, window, everywhere, x + cell * CELL, STRIP_Y, CELL, STRIP_HEIGHT);
}

static void paint_zero(int x, int bits) {
    paint_cell(x, 0, true);
    for (int cell = 1; cell < 2 + bits; cell++) paint_cell(x, cell, false);
}

/// From a number to the next: one cell.
static void step_code(int x, int bits, uint32_t from) {
    int cell = changed_cell(bits, from);
    if (cell >= 0) paint_cell(x, 2 + cell, to_gray(from + 1) >> (bits - 1 - cell) & 1);
}

static void open_canvas(void) {
    open_window();
    XSetForeground(display, everywhere, 0x808080);
    XFillRectangle(display, window, everywhere, STRIP_X, STRIP_Y, STRIP_WIDTH, STRIP_HEIGHT);
    paint_content(0);
    paint_zero(STRIP_X, MARKER_BITS);
    if (options.content != STILL) paint_zero(NUMBER_X, NUMBER_BITS);
    XSync(display, False);
}

static double step(struct turn turn) {
    XGrabServer(display);
    if (turn.advances) {
        paint_content(turn.frame + 1);
        step_code(NUMBER_X, NUMBER_BITS, turn.frame);
    }
    if (turn.flips) step_code(STRIP_X, MARKER_BITS, turn.marker);
    XUngrabServer(display);
    XSync(display, False);
    return now();
}

static void close_canvas(void) { XCloseDisplay(display); }

const struct canvas x_canvas = {open_canvas, step, sleep_until, close_canvas};
