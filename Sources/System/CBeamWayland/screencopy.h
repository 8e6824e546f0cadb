#ifndef BEAM_SCREENCOPY_H
#define BEAM_SCREENCOPY_H

#include <wayland-client-core.h>

// The interfaces of wlr-screencopy-unstable-v1, version 3, as libwayland needs them: names, signatures and the order of
// requests and events. They are written by hand, because Debian 12 has no package with the protocol's description.
extern const struct wl_interface beam_screencopy_manager;
extern const struct wl_interface beam_screencopy_frame;

enum { MANAGER_CAPTURE_OUTPUT, MANAGER_CAPTURE_OUTPUT_REGION, MANAGER_DESTROY };
enum { FRAME_COPY, FRAME_DESTROY, FRAME_COPY_WITH_DAMAGE };
enum { FRAME_FLAG_Y_INVERT = 1 };

// The frame's events, in the protocol's order.
struct screencopy_frame_listener {
    void (*buffer)(void *data, struct wl_proxy *frame, uint32_t format, uint32_t width, uint32_t height, uint32_t stride);
    void (*flags)(void *data, struct wl_proxy *frame, uint32_t flags);
    void (*ready)(void *data, struct wl_proxy *frame, uint32_t seconds_high, uint32_t seconds_low, uint32_t nanoseconds);
    void (*failed)(void *data, struct wl_proxy *frame);
    void (*damage)(void *data, struct wl_proxy *frame, uint32_t x, uint32_t y, uint32_t width, uint32_t height);
    void (*linux_dmabuf)(void *data, struct wl_proxy *frame, uint32_t format, uint32_t width, uint32_t height);
    void (*buffer_done)(void *data, struct wl_proxy *frame);
};

#endif
