// What an X server says of its screen: that something was drawn there, and where its pointer is.
#pragma once

#include <xcb/xcb.h>

#include "probe.h"

enum { MOST_DRAWN = 32, SPRITE = 64 };

/// The pointer as the server would show it: a grabbed screen doesn't have it.
struct sprite {
    int x, y, width, height;
    /// Premultiplied ARGB.
    uint32_t pixels[SPRITE * SPRITE];
};

/// A connection of its own, for one thread.
struct notices {
    xcb_connection_t *connection;
    xcb_window_t root;
    uint8_t damage_event;
    /// What was drawn since the last call of `await_notice`; if there was more than fits, the last part has all of it.
    struct part drawn[MOST_DRAWN];
    int drawn_count;
    bool has_moved;
};

/// `moves`: the pointer's moves are notices, too.
void open_notices(struct notices *notices, const char *display, bool moves);
void close_notices(struct notices *notices);
/// Sleeps until something was drawn or the pointer has moved, at most until `limit`. Whether there was anything.
bool await_notice(struct notices *notices, double limit);
/// Asks for the pointer. Whether it is another one or at another place than `sprite` says, which becomes it.
bool read_sprite(struct notices *notices, struct sprite *sprite);
