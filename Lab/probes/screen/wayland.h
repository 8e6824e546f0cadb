// A window that fills a Wayland desktop's monitor, and the memory that it shows.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <wayland-client.h>

#include "probe.h"

/// Pixels that the compositor can be given, 4 bytes each, row by row.
struct sheet {
    struct wl_buffer *buffer;
    uint32_t *pixels;
    size_t bytes;
    int width, height;
    /// The compositor may still read it.
    bool is_lent;
};

/// What the compositor has told.
struct told {
    /// The window's size, the monitor's.
    int width, height;
    /// How many times it has drawn something that was shown.
    int refreshes;
};

/// Opens the window and waits for its size.
void open_wayland(const char *socket);
void close_wayland(void);
/// Takes what the compositor tells, and waits for something of it until that time at most.
void attend_wayland(double until);
struct told told_by_wayland(void);

struct sheet *make_sheet(int width, int height);
void free_sheet(struct sheet *sheet);
/// Shows a sheet, of which only `part` differs from what is shown. Answers when it was committed. `drawn` gets the time
/// when the compositor had drawn it, or is NULL.
double show_sheet(struct sheet *sheet, struct part part, double *drawn);
