// The connection to the compositor, and its events.
#include <errno.h>
#include <late_libraries.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "wayland.h"

enum { DISPLAY_SYNC, DISPLAY_GET_REGISTRY };

struct wl_proxy *beam_request(struct wl_proxy *proxy, uint32_t opcode, const struct wl_interface *interface,
                              union wl_argument *arguments) {
    return wl_proxy_marshal_array_flags(proxy, opcode, interface, wl_proxy_get_version(proxy), 0, arguments);
}

void beam_request_end(struct wl_proxy *proxy, uint32_t opcode) {
    union wl_argument none[] = {{.u = 0}};
    wl_proxy_marshal_array_flags(proxy, opcode, NULL, wl_proxy_get_version(proxy), WL_MARSHAL_FLAG_DESTROY, none);
}

void beam_post(beam_wayland *wayland, const beam_wayland_event *event) {
    if (wayland->count == wayland->capacity) {
        const size_t capacity = wayland->capacity ? 2 * wayland->capacity : 16;
        beam_wayland_event *events = realloc(wayland->events, capacity * sizeof *events);
        if (!events) {
            wayland->error = ENOMEM;
            return;
        }
        wayland->events = events;
        wayland->capacity = capacity;
    }
    wayland->events[wayland->count++] = *event;
}

bool beam_wayland_next(beam_wayland *wayland, beam_wayland_event *event) {
    if (wayland->first == wayland->count) {
        wayland->first = wayland->count = 0;
        return false;
    }
    *event = wayland->events[wayland->first++];
    return true;
}

static void global(void *data, struct wl_proxy *registry, uint32_t number, const char *interface, uint32_t version) {
    (void)registry;
    beam_add_global(data, number, interface, version);
}

static void global_remove(void *data, struct wl_proxy *registry, uint32_t number) {
    (void)registry;
    beam_remove_global(data, number);
}

static const struct {
    void (*global)(void *, struct wl_proxy *, uint32_t, const char *, uint32_t);
    void (*global_remove)(void *, struct wl_proxy *, uint32_t);
} registry_listener = {global, global_remove};

beam_wayland *beam_wayland_open(const char *name, int *error) {
    errno = 0;
    struct wl_display *display = wl_display_connect(name);
    if (!display) {
        *error = errno ? errno : ECONNREFUSED;
        return NULL;
    }
    beam_wayland *wayland = calloc(1, sizeof *wayland);
    union wl_argument arguments[] = {{.o = NULL}};
    struct wl_proxy *registry =
        wayland ? beam_request((struct wl_proxy *)display, DISPLAY_GET_REGISTRY, beam_wl_registry_interface(), arguments) : NULL;
    if (!registry) {
        *error = ENOMEM;
        wl_display_disconnect(display);
        free(wayland);
        return NULL;
    }
    wayland->display = display;
    wayland->registry = registry;
    wl_proxy_add_listener(registry, (void (**)(void)) & registry_listener, wayland);
    return wayland;
}

void beam_wayland_close(beam_wayland *wayland) {
    beam_wayland_cancel(wayland);
    while (wayland->outputs) {
        struct output *output = wayland->outputs;
        wayland->outputs = output->next;
        beam_free_output(output);
    }
    struct wl_proxy *managers[] = {wayland->screencopy, wayland->copies, wayland->sources};
    for (size_t i = 0; i < sizeof managers / sizeof *managers; i++)
        if (managers[i]) wl_proxy_destroy(managers[i]);
    if (wayland->memory) wl_proxy_destroy(wayland->memory);
    wl_proxy_destroy(wayland->registry);
    wl_display_disconnect(wayland->display);
    free(wayland->events);
    free(wayland);
}

static void synced(void *data, struct wl_proxy *callback, uint32_t serial) {
    (void)callback, (void)serial;
    *(bool *)data = true;
}

static const struct {
    void (*done)(void *, struct wl_proxy *, uint32_t);
} sync_listener = {synced};

static long long milliseconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

int beam_wayland_settle(beam_wayland *wayland, int milliseconds) {
    bool is_done = false;
    union wl_argument arguments[] = {{.o = NULL}};
    struct wl_proxy *callback =
        beam_request((struct wl_proxy *)wayland->display, DISPLAY_SYNC, beam_wl_callback_interface(), arguments);
    if (!callback) return ENOMEM;
    wl_proxy_add_listener(callback, (void (**)(void)) & sync_listener, &is_done);
    const long long deadline = milliseconds_now() + milliseconds;
    int error = 0;
    while (!is_done && error == 0) {
        const int flushed = beam_wayland_flush(wayland);
        struct pollfd state = {.fd = beam_wayland_descriptor(wayland), .events = POLLIN};
        if (flushed == EAGAIN) state.events |= POLLOUT;
        const long long left = deadline - milliseconds_now();
        if (left <= 0) {
            error = ETIMEDOUT;
        } else if (flushed != 0 && flushed != EAGAIN) {
            error = flushed;
        } else if (poll(&state, 1, (int)left) < 0 && errno != EINTR) {
            error = errno;
        } else {
            error = beam_wayland_read(wayland);
        }
    }
    wl_proxy_destroy(callback);
    return error;
}

bool beam_wayland_has_memory(const beam_wayland *wayland) { return wayland->memory; }
bool beam_wayland_has_decorations(const beam_wayland *wayland) { return wayland->has_decorations; }
bool beam_wayland_can_capture(const beam_wayland *wayland) { return beam_uses_sessions(wayland) || wayland->screencopy; }

int beam_wayland_descriptor(beam_wayland *wayland) { return wl_display_get_fd(wayland->display); }

int beam_wayland_read(beam_wayland *wayland) {
    while (wl_display_prepare_read(wayland->display) != 0) {
        if (wl_display_dispatch_pending(wayland->display) < 0) return wl_display_get_error(wayland->display);
    }
    struct pollfd state = {.fd = beam_wayland_descriptor(wayland), .events = POLLIN};
    if (poll(&state, 1, 0) > 0) {
        wl_display_read_events(wayland->display);
    } else {
        wl_display_cancel_read(wayland->display);
    }
    wl_display_dispatch_pending(wayland->display);
    const int error = wl_display_get_error(wayland->display);
    return error ? error : wayland->error;
}

int beam_wayland_flush(beam_wayland *wayland) { return wl_display_flush(wayland->display) < 0 ? errno : 0; }
