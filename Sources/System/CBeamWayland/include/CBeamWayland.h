#ifndef C_BEAM_WAYLAND_H
#define C_BEAM_WAYLAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam_wayland_window.h"

// A client of a Wayland compositor that captures its outputs through ext-image-copy-capture, or where there is none, or it
// has no memory of the processor, through wlr-screencopy, version 3. libwayland-client is loaded with the first call (see
// CLateLibraries; beam_load_libwayland tells why it can't be).
//
// One thread at a time. Nothing here calls back: what the compositor says becomes events, which are taken one by one. A
// lost connection shows in beam_wayland_read.

typedef struct beam_wayland beam_wayland;

enum {
    BEAM_WAYLAND_NAME = 64,
    BEAM_SCREENCOPY_VERSION = 3,
    // The compositor doesn't say how the frame is turned: as the output is.
    BEAM_NO_TRANSFORM = -1,
};

// No format that is known here.
#define BEAM_NO_FORMAT UINT32_MAX

typedef enum beam_wayland_kind {
    // An output is there, or something of it has changed: `output`, `name`, `width`, `height`, `refresh` and `transform`.
    BEAM_OUTPUT_CHANGED,
    // `output` has been switched off or unplugged.
    BEAM_OUTPUT_GONE,
    // The buffer that the frame needs: `width`, `height`, `stride` and `format`. beam_wayland_copy may follow. May come
    // again until the frame is ready: then the copy that was asked for is given up.
    BEAM_FRAME_OFFERED,
    // Where the frame differs from the one before: `x`, `y`, `width`, `height`, any number of times. Of a copy that hasn't
    // waited it may be left out.
    BEAM_FRAME_DAMAGED,
    // The buffer holds the frame: `is_upside_down`, `transform` and `time`.
    BEAM_FRAME_READY,
    // The compositor can't or won't.
    BEAM_FRAME_FAILED,
} beam_wayland_kind;

typedef struct beam_wayland_event {
    beam_wayland_kind kind;
    // The compositor's number of the output.
    uint32_t output;
    // "HDMI-A-1", cut to fit; empty if the compositor has none (wl_output before version 4).
    char name[BEAM_WAYLAND_NAME];
    // In pixels. Of an output: of its mode, before it is turned.
    int32_t x, y, width, height;
    // In thousandths of a hertz; 0: unknown.
    int32_t refresh;
    // wl_output.transform: 0…7. Of a frame, BEAM_NO_TRANSFORM is possible, too.
    int32_t transform;
    // wl_shm.format: 0 is ARGB8888, 1 XRGB8888, others are DRM's codes; or BEAM_NO_FORMAT.
    uint32_t format;
    uint32_t stride;
    bool is_upside_down;
    // On the monotonic clock, in nanoseconds, as far as the compositor goes by it.
    int64_t time;
} beam_wayland_event;

// Connects to the compositor's socket `name` (NULL: the environment's) and asks what there is. NULL on failure, with an errno.
beam_wayland *beam_wayland_open(const char *name, int *error);
void beam_wayland_close(beam_wayland *wayland);

// Waits until the compositor has answered what was sent so far. 0 or an errno; ETIMEDOUT if it takes too long.
int beam_wayland_settle(beam_wayland *wayland, int milliseconds);

// Whether the compositor has what is needed here; to be asked after beam_wayland_settle.
bool beam_wayland_has_memory(const beam_wayland *wayland);
// Whether it says of each window who draws its title bar (xdg-decoration).
bool beam_wayland_has_decorations(const beam_wayland *wayland);
bool beam_wayland_can_capture(const beam_wayland *wayland);

// For poll: readable when beam_wayland_read has something to do.
int beam_wayland_descriptor(beam_wayland *wayland);
// Reads what has come, without waiting. 0, or an errno if the connection is lost.
int beam_wayland_read(beam_wayland *wayland);
// Sends what was asked. 0, EAGAIN if the compositor doesn't read, or an errno if the connection is lost.
int beam_wayland_flush(beam_wayland *wayland);

// Takes the oldest event. False if there is none.
bool beam_wayland_next(beam_wayland *wayland, beam_wayland_event *event);

// Memory for frames that the compositor writes.
typedef struct beam_wayland_buffer {
    void *pixels;
    size_t length;
    struct wl_proxy *proxy;
    uint32_t width, height, format;
} beam_wayland_buffer;

// False on failure, with an errno. `stride` × `height` are at most 1 GiB.
bool beam_wayland_buffer_create(beam_wayland *wayland, uint32_t width, uint32_t height, uint32_t stride, uint32_t format,
                                beam_wayland_buffer *buffer, int *error);
void beam_wayland_buffer_destroy(beam_wayland_buffer *buffer);

// Asks for a frame of an output, with or without the pointer, instead of the frame before: BEAM_FRAME_OFFERED or
// BEAM_FRAME_FAILED follows. False if there is no such output.
bool beam_wayland_capture(beam_wayland *wayland, uint32_t output, bool has_pointer);
// Has the offered frame written to `buffer`, which has to be as offered and to live until BEAM_FRAME_READY,
// BEAM_FRAME_FAILED or beam_wayland_cancel: with the output's next refresh, or when something has changed since the last
// copy. True if it waits for a change. wlr-screencopy does so if it may, and counts changes only from a copy that has
// waited; ext-image-copy-capture always does, but for the first copy after beam_wayland_cancel, and it needs the same buffer
// for all copies as long as the offer is the same.
bool beam_wayland_copy(beam_wayland *wayland, const beam_wayland_buffer *buffer, bool may_wait);
// Ends the frame that was asked for; no event of it follows.
void beam_wayland_cancel(beam_wayland *wayland);

#endif
