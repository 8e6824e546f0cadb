#ifndef BEAM_WAYLAND_INTERNAL_H
#define BEAM_WAYLAND_INTERNAL_H

#include <wayland-client-core.h>

#include "include/CBeamWayland.h"

struct output {
    struct output *next;
    beam_wayland *wayland;
    struct wl_proxy *proxy;
    // What is known of it, ready to be passed on.
    beam_wayland_event state;
};

// Of ext-image-copy-capture; all zero: there is none.
struct session {
    struct wl_proxy *proxy, *source;
    // Whose it is.
    uint32_t output;
    bool has_pointer;
    // The memory that its frames need, once it `is_known`; and what was said of it since, until that is complete.
    beam_wayland_event offer, next;
    // Bits of those that were said since.
    uint32_t formats;
    bool is_known;
    // A frame was asked for, and the offer is still to be told.
    bool is_asked;
    // The buffer holds the last frame; this session has delivered one.
    bool is_filled, has_delivered;
    // What the present frame has said.
    int32_t transform;
    int64_t time;
};

struct beam_wayland {
    struct wl_display *display;
    struct wl_proxy *registry, *memory, *screencopy;
    bool has_decorations;
    // Managers of ext-image-copy-capture and of the sources for it.
    struct wl_proxy *copies, *sources;
    struct session session;
    // A session has offered no memory that can be used, and screencopy is used instead.
    bool has_no_session;
    struct output *outputs;
    size_t output_count;
    // The frame that was asked for last, of either protocol, until it is ready or has failed, and what it has said.
    struct wl_proxy *frame;
    beam_wayland_event offer;
    bool has_offer, is_upside_down;
    // Events that nobody has taken: events[first] to events[count - 1].
    beam_wayland_event *events;
    size_t first, count, capacity;
    // An errno, once something has gone wrong here that ends the connection.
    int error;
};

// The request `opcode` of `proxy`; a new object if `interface` isn't NULL.
struct wl_proxy *beam_request(struct wl_proxy *proxy, uint32_t opcode, const struct wl_interface *interface,
                              union wl_argument *arguments);
// The request that also ends the object.
void beam_request_end(struct wl_proxy *proxy, uint32_t opcode);
void beam_post(beam_wayland *wayland, const beam_wayland_event *event);

// Takes up what the compositor announces.
void beam_add_global(beam_wayland *wayland, uint32_t number, const char *interface, uint32_t version);
void beam_remove_global(beam_wayland *wayland, uint32_t number);
void beam_free_output(struct output *output);

// Whether frames come through ext-image-copy-capture, and not wlr-screencopy.
bool beam_uses_sessions(const beam_wayland *wayland);
// What beam_wayland_capture, beam_wayland_copy and beam_wayland_cancel do then.
bool beam_session_capture(beam_wayland *wayland, struct output *output, bool has_pointer);
bool beam_session_copy(beam_wayland *wayland, const beam_wayland_buffer *buffer);
void beam_session_end(beam_wayland *wayland);

// A time of the protocols; 0 if there is no such time.
int64_t beam_nanoseconds(uint32_t seconds_high, uint32_t seconds_low, uint32_t nanoseconds);

#endif
