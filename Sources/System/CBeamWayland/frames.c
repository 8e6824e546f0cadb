// Frames of an output, and the memory for them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <late_libraries.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "screencopy.h"
#include "wayland.h"

enum { SHM_CREATE_POOL, POOL_CREATE_BUFFER = 0, POOL_DESTROY, BUFFER_DESTROY = 0 };

static const size_t most_bytes = (size_t)1 << 30;

static void end_frame(beam_wayland *wayland) {
    if (wayland->frame) beam_request_end(wayland->frame, FRAME_DESTROY);
    wayland->frame = NULL;
}

static void buffer(void *data, struct wl_proxy *frame, uint32_t format, uint32_t width, uint32_t height, uint32_t stride) {
    (void)frame;
    beam_wayland *wayland = data;
    wayland->offer = (beam_wayland_event){.kind = BEAM_FRAME_OFFERED, .format = format, .stride = stride};
    wayland->has_offer = width <= INT32_MAX && height <= INT32_MAX;
    wayland->offer.width = (int32_t)width;
    wayland->offer.height = (int32_t)height;
}

static void buffer_done(void *data, struct wl_proxy *frame) {
    (void)frame;
    beam_wayland *wayland = data;
    const beam_wayland_event failed = {.kind = BEAM_FRAME_FAILED};
    if (!wayland->has_offer) end_frame(wayland);
    beam_post(wayland, wayland->has_offer ? &wayland->offer : &failed);
}

static void flags(void *data, struct wl_proxy *frame, uint32_t flags) {
    (void)frame;
    ((beam_wayland *)data)->is_upside_down = flags & FRAME_FLAG_Y_INVERT;
}

static void damage(void *data, struct wl_proxy *frame, uint32_t x, uint32_t y, uint32_t width, uint32_t height) {
    (void)frame;
    const uint32_t most = INT32_MAX;
    beam_wayland_event event = {.kind = BEAM_FRAME_DAMAGED};
    event.x = (int32_t)(x < most ? x : most);
    event.y = (int32_t)(y < most ? y : most);
    event.width = (int32_t)(width < most ? width : most);
    event.height = (int32_t)(height < most ? height : most);
    beam_post(data, &event);
}

int64_t beam_nanoseconds(uint32_t seconds_high, uint32_t seconds_low, uint32_t nanoseconds) {
    const uint64_t seconds = (uint64_t)seconds_high << 32 | seconds_low;
    return seconds < INT64_MAX / 1000000000 - 5 ? (int64_t)seconds * 1000000000 + nanoseconds : 0;
}

static void ready(void *data, struct wl_proxy *frame, uint32_t seconds_high, uint32_t seconds_low, uint32_t nanoseconds) {
    (void)frame;
    beam_wayland *wayland = data;
    const beam_wayland_event event = {.kind = BEAM_FRAME_READY,
                                      .is_upside_down = wayland->is_upside_down,
                                      .transform = BEAM_NO_TRANSFORM,
                                      .time = beam_nanoseconds(seconds_high, seconds_low, nanoseconds)};
    end_frame(wayland);
    beam_post(wayland, &event);
}

static void failed(void *data, struct wl_proxy *frame) {
    (void)frame;
    const beam_wayland_event event = {.kind = BEAM_FRAME_FAILED};
    end_frame(data);
    beam_post(data, &event);
}

static void linux_dmabuf(void *data, struct wl_proxy *frame, uint32_t format, uint32_t width, uint32_t height) {
    (void)data, (void)frame, (void)format, (void)width, (void)height;
}

static const struct screencopy_frame_listener listener = {buffer, flags, ready, failed, damage, linux_dmabuf, buffer_done};

bool beam_uses_sessions(const beam_wayland *wayland) {
    return wayland->copies && wayland->sources && !wayland->has_no_session;
}

bool beam_wayland_capture(beam_wayland *wayland, uint32_t output, bool has_pointer) {
    if (!beam_uses_sessions(wayland)) beam_wayland_cancel(wayland);
    for (struct output *known = wayland->outputs; known; known = known->next) {
        if (known->state.output != output) continue;
        if (beam_uses_sessions(wayland)) return beam_session_capture(wayland, known, has_pointer);
        union wl_argument arguments[] = {{.o = NULL}, {.i = has_pointer}, {.o = (struct wl_object *)known->proxy}};
        wayland->frame = beam_request(wayland->screencopy, MANAGER_CAPTURE_OUTPUT, &beam_screencopy_frame, arguments);
        if (!wayland->frame) {
            wayland->error = ENOMEM;
            return false;
        }
        wl_proxy_add_listener(wayland->frame, (void (**)(void)) & listener, wayland);
        return true;
    }
    return false;
}

bool beam_wayland_copy(beam_wayland *wayland, const beam_wayland_buffer *buffer, bool may_wait) {
    if (beam_uses_sessions(wayland)) return beam_session_copy(wayland, buffer);
    if (!wayland->frame) return false;
    union wl_argument arguments[] = {{.o = (struct wl_object *)buffer->proxy}};
    beam_request(wayland->frame, may_wait ? FRAME_COPY_WITH_DAMAGE : FRAME_COPY, NULL, arguments);
    return may_wait;
}

void beam_wayland_cancel(beam_wayland *wayland) {
    if (beam_uses_sessions(wayland)) {
        beam_session_end(wayland);
    } else {
        end_frame(wayland);
    }
    wayland->has_offer = wayland->is_upside_down = false;
    // Events of the frame that nobody has taken.
    size_t kept = wayland->first;
    for (size_t i = wayland->first; i < wayland->count; i++) {
        const beam_wayland_kind kind = wayland->events[i].kind;
        if (kind == BEAM_OUTPUT_CHANGED || kind == BEAM_OUTPUT_GONE) wayland->events[kept++] = wayland->events[i];
    }
    wayland->count = kept;
}

bool beam_wayland_buffer_create(beam_wayland *wayland, uint32_t width, uint32_t height, uint32_t stride, uint32_t format,
                                beam_wayland_buffer *buffer, int *error) {
    const size_t length = (size_t)stride * height;
    if (length == 0 || length > most_bytes || (size_t)width * 4 > stride) {
        *error = EINVAL;
        return false;
    }
    const int file = memfd_create("beamroom", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, (off_t)length) != 0) {
        *error = errno;
        if (file >= 0) close(file);
        return false;
    }
    // Otherwise the compositor has to expect that the memory goes away under it.
    (void)fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL);
    void *pixels = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pixels == MAP_FAILED) {
        *error = errno;
        close(file);
        return false;
    }
    union wl_argument of_pool[] = {{.o = NULL}, {.h = file}, {.i = (int32_t)length}};
    struct wl_proxy *pool = beam_request(wayland->memory, SHM_CREATE_POOL, beam_wl_shm_pool_interface(), of_pool);
    close(file);
    struct wl_proxy *proxy = NULL;
    if (pool) {
        union wl_argument of_buffer[] = {{.o = NULL},          {.i = 0},
                                         {.i = (int32_t)width}, {.i = (int32_t)height},
                                         {.i = (int32_t)stride}, {.u = format}};
        proxy = beam_request(pool, POOL_CREATE_BUFFER, beam_wl_buffer_interface(), of_buffer);
        beam_request_end(pool, POOL_DESTROY);
    }
    if (!proxy) {
        *error = ENOMEM;
        munmap(pixels, length);
        return false;
    }
    *buffer = (beam_wayland_buffer){
        .pixels = pixels, .length = length, .proxy = proxy, .width = width, .height = height, .format = format};
    return true;
}

void beam_wayland_buffer_destroy(beam_wayland_buffer *buffer) {
    beam_request_end(buffer->proxy, BUFFER_DESTROY);
    munmap(buffer->pixels, buffer->length);
}
