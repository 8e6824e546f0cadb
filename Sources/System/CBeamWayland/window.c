#include "include/beam_wayland_window.h"

#include <late_libraries.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "wayland.h"

enum { DISPLAY_GET_REGISTRY = 1, REGISTRY_BIND = 0, SURFACE_ATTACH = 1, SURFACE_COMMIT = 6, SURFACE_DAMAGE_BUFFER = 9 };

enum {
    // One that the screen shows, one that waits for its refresh, one to draw into.
    IMAGES = 3,
    // With more rectangles than this, all of an image is brought up to date.
    MOST_STALE = 32,
    // In milliseconds.
    LONGEST_WAIT = 100,
    XRGB8888 = 1,
};

struct image {
    beam_wayland_buffer buffer;
    bool exists, is_read;
    // Where it isn't up to date.
    beam_wayland_rect stale[MOST_STALE];
    size_t stale_count;
    bool is_stale;
};

struct beam_wayland_window {
    struct wl_display *display;
    struct wl_proxy *surface;
    struct wl_event_queue *queue;
    // For the memory of images, as for frames.
    beam_wayland wayland;
    struct image images[IMAGES];
    int32_t width, height;
};

static void global(void *data, struct wl_proxy *registry, uint32_t number, const char *interface, uint32_t version) {
    (void)version;
    beam_wayland_window *window = data;
    if (strcmp(interface, "wl_shm") != 0 || window->wayland.memory) return;
    union wl_argument arguments[] = {{.u = number}, {.s = "wl_shm"}, {.u = 1}, {.o = NULL}};
    window->wayland.memory = wl_proxy_marshal_array_flags(registry, REGISTRY_BIND, beam_wl_shm_interface(), 1, 0, arguments);
}

static void global_remove(void *data, struct wl_proxy *registry, uint32_t number) { (void)data, (void)registry, (void)number; }

static const struct {
    void (*global)(void *, struct wl_proxy *, uint32_t, const char *, uint32_t);
    void (*global_remove)(void *, struct wl_proxy *, uint32_t);
} registry_listener = {global, global_remove};

static void format(void *data, struct wl_proxy *memory, uint32_t format) { (void)data, (void)memory, (void)format; }

// Every compositor has XRGB8888.
static const struct {
    void (*format)(void *, struct wl_proxy *, uint32_t);
} memory_listener = {format};

static void release(void *data, struct wl_proxy *buffer) {
    (void)buffer;
    ((struct image *)data)->is_read = false;
}

static const struct {
    void (*release)(void *, struct wl_proxy *);
} buffer_listener = {release};

beam_wayland_window *beam_wayland_window_create(void *display, void *surface) {
    if (beam_load_libwayland()) return NULL;
    beam_wayland_window *window = calloc(1, sizeof *window);
    if (!window) return NULL;
    window->display = display;
    window->surface = surface;
    window->queue = wl_display_create_queue(display);
    // New objects of a wrapper belong to its queue.
    struct wl_proxy *wrapper = window->queue ? wl_proxy_create_wrapper(display) : NULL;
    if (wrapper) {
        wl_proxy_set_queue(wrapper, window->queue);
        union wl_argument arguments[] = {{.o = NULL}};
        struct wl_proxy *registry = beam_request(wrapper, DISPLAY_GET_REGISTRY, beam_wl_registry_interface(), arguments);
        wl_proxy_wrapper_destroy(wrapper);
        if (registry) {
            wl_proxy_add_listener(registry, (void (**)(void)) & registry_listener, window);
            wl_display_roundtrip_queue(display, window->queue);
            wl_proxy_destroy(registry);
        }
    }
    if (!window->wayland.memory || wl_proxy_get_version(window->surface) < 4) {
        beam_wayland_window_destroy(window);
        return NULL;
    }
    wl_proxy_add_listener(window->wayland.memory, (void (**)(void)) & memory_listener, NULL);
    return window;
}

static void drop_images(beam_wayland_window *window) {
    for (int i = 0; i < IMAGES; i++) {
        if (window->images[i].exists) beam_wayland_buffer_destroy(&window->images[i].buffer);
        window->images[i] = (struct image){.exists = false};
    }
}

void beam_wayland_window_destroy(beam_wayland_window *window) {
    drop_images(window);
    if (window->wayland.memory) wl_proxy_destroy(window->wayland.memory);
    if (window->queue) wl_event_queue_destroy(window->queue);
    free(window);
}

static struct image *find_free(beam_wayland_window *window) {
    for (int i = 0; i < IMAGES; i++) {
        if (window->images[i].exists && !window->images[i].is_read) return &window->images[i];
    }
    for (int i = 0; i < IMAGES; i++) {
        struct image *image = &window->images[i];
        if (image->exists) continue;
        int error = 0;
        const uint32_t width = (uint32_t)window->width, height = (uint32_t)window->height;
        if (!beam_wayland_buffer_create(&window->wayland, width, height, 4 * width, XRGB8888, &image->buffer, &error)) return NULL;
        wl_proxy_add_listener(image->buffer.proxy, (void (**)(void)) & buffer_listener, image);
        image->exists = image->is_stale = true;
        return image;
    }
    return NULL;
}

static void mark_stale(struct image *image, const beam_wayland_rect *rects, size_t count) {
    if (image->is_stale) return;
    if (image->stale_count + count > MOST_STALE) {
        image->is_stale = true;
        return;
    }
    memcpy(image->stale + image->stale_count, rects, count * sizeof *rects);
    image->stale_count += count;
}

static void copy(struct image *image, const uint8_t *pixels, ptrdiff_t stride, int32_t width, beam_wayland_rect rect) {
    uint8_t *to = image->buffer.pixels;
    for (int32_t y = rect.y; y < rect.y + rect.height; y++) {
        memcpy(to + 4 * ((ptrdiff_t)y * width + rect.x), pixels + y * stride + 4 * (ptrdiff_t)rect.x, 4 * (size_t)rect.width);
    }
}

static beam_wayland_rect inside(beam_wayland_rect rect, int32_t width, int32_t height) {
    const int32_t left = rect.x < 0 ? 0 : rect.x, top = rect.y < 0 ? 0 : rect.y;
    const int32_t right = rect.x + rect.width < width ? rect.x + rect.width : width;
    const int32_t bottom = rect.y + rect.height < height ? rect.y + rect.height : height;
    if (right <= left || bottom <= top) return (beam_wayland_rect){0, 0, 0, 0};
    return (beam_wayland_rect){left, top, right - left, bottom - top};
}

static void damage(beam_wayland_window *window, beam_wayland_rect rect) {
    union wl_argument arguments[] = {{.i = rect.x}, {.i = rect.y}, {.i = rect.width}, {.i = rect.height}};
    beam_request(window->surface, SURFACE_DAMAGE_BUFFER, NULL, arguments);
}

// Waits for an image to be released, but not for long: a compositor that has stopped mustn't stop the window's thread.
static bool await_events(beam_wayland_window *window) {
    if (wl_display_prepare_read_queue(window->display, window->queue) == 0) {
        wl_display_flush(window->display);
        struct pollfd state = {.fd = wl_display_get_fd(window->display), .events = POLLIN};
        if (poll(&state, 1, LONGEST_WAIT) <= 0) {
            wl_display_cancel_read(window->display);
            return false;
        }
        if (wl_display_read_events(window->display) < 0) return false;
    }
    return wl_display_dispatch_queue_pending(window->display, window->queue) >= 0;
}

bool beam_wayland_window_show(beam_wayland_window *window, const uint8_t *pixels, ptrdiff_t stride, int32_t width,
                              int32_t height, const beam_wayland_rect *rects, size_t count) {
    if (count == 0) return true;
    if (wl_display_dispatch_queue_pending(window->display, window->queue) < 0) return false;
    const beam_wayland_rect all = {0, 0, width, height};
    const bool is_resized = width != window->width || height != window->height;
    if (is_resized) {
        drop_images(window);
        window->width = width;
        window->height = height;
    }
    struct image *image = find_free(window);
    while (!image && window->images[IMAGES - 1].exists) {
        if (!await_events(window)) return false;
        image = find_free(window);
    }
    if (!image) return false;
    for (int i = 0; i < IMAGES; i++) mark_stale(&window->images[i], rects, count);
    if (image->is_stale) {
        copy(image, pixels, stride, width, all);
    } else {
        for (size_t i = 0; i < image->stale_count; i++) copy(image, pixels, stride, width, inside(image->stale[i], width, height));
    }
    image->is_stale = false;
    image->stale_count = 0;
    image->is_read = true;
    union wl_argument attached[] = {{.o = (struct wl_object *)image->buffer.proxy}, {.i = 0}, {.i = 0}};
    beam_request(window->surface, SURFACE_ATTACH, NULL, attached);
    if (is_resized) damage(window, all);
    for (size_t i = 0; i < count && !is_resized; i++) damage(window, inside(rects[i], width, height));
    union wl_argument none[] = {{.u = 0}};
    beam_request(window->surface, SURFACE_COMMIT, NULL, none);
    wl_display_flush(window->display);
    return true;
}

int beam_wayland_window_descriptor(void *display) { return beam_load_libwayland() ? -1 : wl_display_get_fd(display); }

bool beam_wayland_is_lost(void *display) { return !beam_load_libwayland() && wl_display_get_error(display) != 0; }
