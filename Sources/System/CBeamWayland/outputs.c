// The compositor's outputs and the other things that it announces.
#include <errno.h>
#include <late_libraries.h>
#include <stdlib.h>
#include <string.h>

#include "copycapture.h"
#include "screencopy.h"
#include "wayland.h"

enum { REGISTRY_BIND, OUTPUT_RELEASE = 0, OUTPUT_VERSION = 4, OUTPUT_MODE_CURRENT = 1 };

// More than any machine has; a compositor may announce any number.
static const size_t most_outputs = 64;

static void geometry(void *data, struct wl_proxy *proxy, int32_t x, int32_t y, int32_t width, int32_t height, int32_t subpixel,
                     const char *make, const char *model, int32_t transform) {
    // wlroots says 0 for every output's position.
    (void)proxy, (void)x, (void)y, (void)width, (void)height, (void)subpixel, (void)make, (void)model;
    ((struct output *)data)->state.transform = transform;
}

static void mode(void *data, struct wl_proxy *proxy, uint32_t flags, int32_t width, int32_t height, int32_t refresh) {
    (void)proxy;
    struct output *output = data;
    if (!(flags & OUTPUT_MODE_CURRENT)) return;
    output->state.width = width;
    output->state.height = height;
    output->state.refresh = refresh;
}

static void done(void *data, struct wl_proxy *proxy) {
    (void)proxy;
    struct output *output = data;
    beam_post(output->wayland, &output->state);
}

// Frames have pixels, whatever the scale.
static void scale(void *data, struct wl_proxy *proxy, int32_t factor) { (void)data, (void)proxy, (void)factor; }

static void name(void *data, struct wl_proxy *proxy, const char *name) {
    (void)proxy;
    struct output *output = data;
    strncpy(output->state.name, name, sizeof output->state.name - 1);
}

static void description(void *data, struct wl_proxy *proxy, const char *text) { (void)data, (void)proxy, (void)text; }

// In the protocol's order.
static const struct {
    void (*geometry)(void *, struct wl_proxy *, int32_t, int32_t, int32_t, int32_t, int32_t, const char *, const char *, int32_t);
    void (*mode)(void *, struct wl_proxy *, uint32_t, int32_t, int32_t, int32_t);
    void (*done)(void *, struct wl_proxy *);
    void (*scale)(void *, struct wl_proxy *, int32_t);
    void (*name)(void *, struct wl_proxy *, const char *);
    void (*description)(void *, struct wl_proxy *, const char *);
} output_listener = {geometry, mode, done, scale, name, description};

static struct wl_proxy *bind(beam_wayland *wayland, uint32_t number, const struct wl_interface *interface, uint32_t version) {
    union wl_argument arguments[] = {{.u = number}, {.s = interface->name}, {.u = version}, {.o = NULL}};
    return wl_proxy_marshal_array_flags(wayland->registry, REGISTRY_BIND, interface, version, 0, arguments);
}

static void add_output(beam_wayland *wayland, uint32_t number, uint32_t version) {
    struct output *output = calloc(1, sizeof *output);
    struct wl_proxy *proxy = output ? bind(wayland, number, beam_wl_output_interface(), version) : NULL;
    if (!proxy) {
        free(output);
        wayland->error = ENOMEM;
        return;
    }
    output->wayland = wayland;
    output->proxy = proxy;
    output->state.kind = BEAM_OUTPUT_CHANGED;
    output->state.output = number;
    output->next = wayland->outputs;
    wayland->outputs = output;
    wayland->output_count++;
    wl_proxy_add_listener(proxy, (void (**)(void)) & output_listener, output);
}

void beam_add_global(beam_wayland *wayland, uint32_t number, const char *interface, uint32_t version) {
    if (!strcmp(interface, "wl_output") && version >= 2) {
        // Version 1 doesn't say when it has said all.
        if (wayland->output_count < most_outputs)
            add_output(wayland, number, version < OUTPUT_VERSION ? version : OUTPUT_VERSION);
    } else if (!strcmp(interface, "wl_shm") && !wayland->memory) {
        wayland->memory = bind(wayland, number, beam_wl_shm_interface(), 1);
    } else if (!strcmp(interface, beam_screencopy_manager.name) && version >= BEAM_SCREENCOPY_VERSION && !wayland->screencopy) {
        wayland->screencopy = bind(wayland, number, &beam_screencopy_manager, BEAM_SCREENCOPY_VERSION);
    } else if (!strcmp(interface, "zxdg_decoration_manager_v1")) {
        wayland->has_decorations = true;
    } else if (!strcmp(interface, beam_copy_capture_manager.name) && !wayland->copies) {
        wayland->copies = bind(wayland, number, &beam_copy_capture_manager, 1);
    } else if (!strcmp(interface, beam_output_source_manager.name) && !wayland->sources) {
        wayland->sources = bind(wayland, number, &beam_output_source_manager, 1);
    }
}

void beam_remove_global(beam_wayland *wayland, uint32_t number) {
    for (struct output **link = &wayland->outputs; *link; link = &(*link)->next) {
        struct output *output = *link;
        if (output->state.output != number) continue;
        beam_wayland_event event = {.kind = BEAM_OUTPUT_GONE, .output = number};
        beam_post(wayland, &event);
        *link = output->next;
        wayland->output_count--;
        beam_free_output(output);
        return;
    }
}

void beam_free_output(struct output *output) {
    if (wl_proxy_get_version(output->proxy) >= 3) {
        beam_request_end(output->proxy, OUTPUT_RELEASE);
    } else {
        wl_proxy_destroy(output->proxy);
    }
    free(output);
}
