#ifndef BEAM_WAYLAND_WINDOW_H
#define BEAM_WAYLAND_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Shows pixels in a window that belongs to another library, through memory that the compositor reads. Events of that
// library aren't touched: what is needed here has a queue of its own. On the thread of the window.

typedef struct beam_wayland_window beam_wayland_window;

typedef struct beam_wayland_rect {
    int32_t x, y, width, height;
} beam_wayland_rect;

// `display` and `surface` are the library's wl_display and wl_surface, and have to live longer. NULL if the surface is older
// than version 4, the compositor shares no memory, libwayland-client can't be loaded, or there is no memory.
beam_wayland_window *beam_wayland_window_create(void *display, void *surface);
void beam_wayland_window_destroy(beam_wayland_window *window);

// Shows `width` × `height` BGRX pixels, of which only `rects` differ from those of the call before; if the size does, all
// are shown. With a `count` of 0, nothing is. Waits at most 0.1 s between two events of the compositor if it still reads all
// earlier pictures. False if it goes on reading them, the connection is lost, or there is no memory: then all of the
// window has to be shown again.
bool beam_wayland_window_show(beam_wayland_window *window, const uint8_t *pixels, ptrdiff_t stride, int32_t width,
                              int32_t height, const beam_wayland_rect *rects, size_t count);

// The socket of the library's wl_display; -1 without libwayland.
int beam_wayland_window_descriptor(void *display);

// Whether the connection of the library's wl_display is lost.
bool beam_wayland_is_lost(void *display);

#endif
