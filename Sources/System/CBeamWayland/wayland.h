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

struct beam_wayland {
    struct wl_display *display;
    struct wl_proxy *registry, *memory, *screencopy;
    bool has_decorations;
    struct output *outputs;
    // The frame that was asked for last, until it is ready or has failed, and what it has said.
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

#endif
