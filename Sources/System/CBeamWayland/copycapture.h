#ifndef BEAM_COPY_CAPTURE_H
#define BEAM_COPY_CAPTURE_H

#include <wayland-client-core.h>

// The interfaces of ext-image-copy-capture-v1 and ext-image-capture-source-v1, version 1, as far as they are used here, in
// the same way as those of screencopy.h: Debian 12's wayland-protocols is older than they are.
extern const struct wl_interface beam_copy_capture_manager;
extern const struct wl_interface beam_copy_capture_session;
extern const struct wl_interface beam_copy_capture_frame;
extern const struct wl_interface beam_output_source_manager;
extern const struct wl_interface beam_capture_source;

enum { COPY_MANAGER_CREATE_SESSION, COPY_MANAGER_CREATE_POINTER_CURSOR_SESSION, COPY_MANAGER_DESTROY };
enum { COPY_OPTION_PAINT_CURSORS = 1 };
enum { SESSION_CREATE_FRAME, SESSION_DESTROY };
enum { COPY_FRAME_DESTROY, COPY_FRAME_ATTACH_BUFFER, COPY_FRAME_DAMAGE_BUFFER, COPY_FRAME_CAPTURE };
enum { SOURCE_MANAGER_CREATE_SOURCE, SOURCE_MANAGER_DESTROY };
enum { SOURCE_DESTROY };

// The session's events, in the protocol's order.
struct copy_session_listener {
    void (*buffer_size)(void *data, struct wl_proxy *session, uint32_t width, uint32_t height);
    void (*shm_format)(void *data, struct wl_proxy *session, uint32_t format);
    void (*dmabuf_device)(void *data, struct wl_proxy *session, struct wl_array *device);
    void (*dmabuf_format)(void *data, struct wl_proxy *session, uint32_t format, struct wl_array *modifiers);
    void (*done)(void *data, struct wl_proxy *session);
    void (*stopped)(void *data, struct wl_proxy *session);
};

// The frame's.
struct copy_frame_listener {
    void (*transform)(void *data, struct wl_proxy *frame, uint32_t transform);
    void (*damage)(void *data, struct wl_proxy *frame, int32_t x, int32_t y, int32_t width, int32_t height);
    void (*presentation_time)(void *data, struct wl_proxy *frame, uint32_t seconds_high, uint32_t seconds_low,
                              uint32_t nanoseconds);
    void (*ready)(void *data, struct wl_proxy *frame);
    void (*failed)(void *data, struct wl_proxy *frame, uint32_t reason);
};

#endif
