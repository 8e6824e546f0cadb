// Content, marker and frame numbers in a window that fills a Wayland desktop.

#include <math.h>
#include <string.h>

#include "wayland.h"

/// One that is shown, one that the compositor may still read, one to draw into, and one in reserve.
enum { SHEETS = 4 };
static struct sheet *sheets[SHEETS];

static void draw_cell(struct sheet *sheet, int x, int cell, uint32_t colour) {
    for (int y = STRIP_Y; y < STRIP_Y + STRIP_HEIGHT; y++) {
        uint32_t *row = sheet->pixels + (size_t)y * (size_t)width + x + cell * CELL;
        for (int i = 0; i < CELL; i++) row[i] = colour;
    }
}

static void draw_code(struct sheet *sheet, int x, int bits, uint32_t number) {
    uint32_t gray = to_gray(number);
    draw_cell(sheet, x, 0, 0xFFFFFF);
    draw_cell(sheet, x, 1, 0);
    for (int i = 0; i < bits; i++) draw_cell(sheet, x, 2 + i, gray >> (bits - 1 - i) & 1 ? 0xFFFFFF : 0);
}

/// Everything but the strip.
static void draw_content(struct sheet *sheet, uint32_t number) {
    for (int y = 0; y < height; y++) {
        const uint32_t *from = picture_row(number, y);
        uint32_t *to = sheet->pixels + (size_t)y * (size_t)width;
        bool has_strip = y >= STRIP_Y && y < STRIP_Y + STRIP_HEIGHT;
        int end = STRIP_X + STRIP_WIDTH;
        memcpy(to, from, (size_t)(has_strip ? STRIP_X : width) * 4);
        if (has_strip) memcpy(to + end, from + end, (size_t)(width - end) * 4);
    }
}

static void draw_codes(struct sheet *sheet, uint32_t frame, uint32_t marker) {
    draw_code(sheet, STRIP_X, MARKER_BITS, marker);
    if (options.content != STILL) draw_code(sheet, NUMBER_X, NUMBER_BITS, frame);
}

static struct sheet *next_sheet(void) {
    for (;;) {
        for (int i = 0; i < SHEETS; i++) {
            if (!sheets[i]->is_lent) return sheets[i];
        }
        attend_wayland(INFINITY);
    }
}

static void open_canvas(void) {
    open_wayland(options.wayland);
    struct told told = told_by_wayland();
    if (told.width != width || told.height != height) fail("its size isn't the viewer's", options.wayland);
    for (int i = 0; i < SHEETS; i++) {
        struct sheet *sheet = sheets[i] = make_sheet(width, height);
        draw_content(sheet, 0);
        for (int cell = 0; cell < STRIP_WIDTH / CELL; cell++) draw_cell(sheet, STRIP_X, cell, 0x808080);
        draw_codes(sheet, 0, 0);
    }
    show_sheet(sheets[0], (struct part){0, 0, width, height}, NULL);
}

static double step(struct turn turn) {
    struct sheet *sheet = next_sheet();
    int cell = STRIP_X + (2 + changed_cell(MARKER_BITS, turn.marker)) * CELL;
    struct part flipped = {cell, STRIP_Y, CELL, STRIP_HEIGHT}, whole = {0, 0, width, height};
    if (turn.advances) draw_content(sheet, turn.frame + 1);
    draw_codes(sheet, turn.frame + turn.advances, turn.marker + turn.flips);
    double *drawn = turn.flips ? &record.marker_drawn[(turn.marker + 1) % MARKERS] : NULL;
    return show_sheet(sheet, turn.advances ? whole : flipped, drawn);
}

static void hear_until(double time) {
    do {
        attend_wayland(time);
        record.refreshes = told_by_wayland().refreshes;
    } while (now() < time);
}

const struct canvas wayland_canvas = {open_canvas, step, hear_until, close_wayland};
