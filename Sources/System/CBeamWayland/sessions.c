// Frames through ext-image-copy-capture. A session of an output lasts: it says which memory its frames need, and again when
// that changes, and remembers what has changed since its last frame.
#include <errno.h>
#include <late_libraries.h>

#include "copycapture.h"
#include "wayland.h"

// wl_shm.format, in the order of preference: the others need red and blue exchanged.
static const uint32_t known_formats[] = {1, 0, 0x34324258, 0x34324241};
enum { KNOWN_FORMATS = sizeof known_formats / sizeof *known_formats };

static void end_frame(beam_wayland *wayland) {
    if (wayland->frame) beam_request_end(wayland->frame, COPY_FRAME_DESTROY);
    wayland->frame = NULL;
}

void beam_session_end(beam_wayland *wayland) {
    end_frame(wayland);
    struct session *session = &wayland->session;
    if (session->proxy) beam_request_end(session->proxy, SESSION_DESTROY);
    if (session->source) beam_request_end(session->source, SOURCE_DESTROY);
    *session = (struct session){0};
}

// Whoever has asked for a frame gets none.
static void fail(beam_wayland *wayland) {
    const bool is_asked = wayland->session.is_asked || wayland->frame;
    beam_session_end(wayland);
    const beam_wayland_event event = {.kind = BEAM_FRAME_FAILED};
    if (is_asked) beam_post(wayland, &event);
}

// --- the session's events --------------------------------------------------------------------------------------------

static void buffer_size(void *data, struct wl_proxy *proxy, uint32_t width, uint32_t height) {
    (void)proxy;
    struct session *session = &((beam_wayland *)data)->session;
    const uint32_t most = INT32_MAX;
    session->next.width = (int32_t)(width < most ? width : most);
    session->next.height = (int32_t)(height < most ? height : most);
}

static void shm_format(void *data, struct wl_proxy *proxy, uint32_t format) {
    (void)proxy;
    struct session *session = &((beam_wayland *)data)->session;
    for (int i = 0; i < KNOWN_FORMATS; i++)
        if (format == known_formats[i]) session->formats |= 1u << i;
}

static void dmabuf_device(void *data, struct wl_proxy *proxy, struct wl_array *device) { (void)data, (void)proxy, (void)device; }

static void dmabuf_format(void *data, struct wl_proxy *proxy, uint32_t format, struct wl_array *modifiers) {
    (void)data, (void)proxy, (void)format, (void)modifiers;
}

static bool is_same(const beam_wayland_event *a, const beam_wayland_event *b) {
    return a->width == b->width && a->height == b->height && a->format == b->format;
}

static void done(void *data, struct wl_proxy *proxy) {
    (void)proxy;
    beam_wayland *wayland = data;
    struct session *session = &wayland->session;
    beam_wayland_event *next = &session->next;
    next->kind = BEAM_FRAME_OFFERED;
    next->format = BEAM_NO_FORMAT;
    for (int i = KNOWN_FORMATS - 1; i >= 0; i--)
        if (session->formats & 1u << i) next->format = known_formats[i];
    // A row may have any length, as long as it has room for the pixels; a width that is too large is refused elsewhere.
    next->stride = (uint32_t)next->width * 4;
    const bool is_new = !session->is_known || !is_same(next, &session->offer);
    session->offer = *next;
    session->is_known = true;
    *next = (beam_wayland_event){0};
    session->formats = 0;
    if (session->offer.format == BEAM_NO_FORMAT && wayland->screencopy) {
        // The older protocol may still have memory of the processor.
        const uint32_t output = session->output;
        const bool is_asked = session->is_asked || wayland->frame, has_pointer = session->has_pointer;
        beam_session_end(wayland);
        wayland->has_no_session = true;
        if (is_asked) beam_wayland_capture(wayland, output, has_pointer);
        return;
    }
    if (wayland->frame && is_new) {
        // What was asked for can't be written any more.
        end_frame(wayland);
        session->is_asked = true;
    }
    if (is_new) session->is_filled = false;
    if (session->is_asked) beam_post(wayland, &session->offer);
    session->is_asked = false;
}

static void stopped(void *data, struct wl_proxy *proxy) {
    (void)proxy;
    fail(data);
}

static const struct copy_session_listener session_listener = {buffer_size,   shm_format, dmabuf_device,
                                                              dmabuf_format, done,       stopped};

// --- the frame's events ----------------------------------------------------------------------------------------------

static void transform(void *data, struct wl_proxy *frame, uint32_t transform) {
    (void)frame;
    ((beam_wayland *)data)->session.transform = transform <= 7 ? (int32_t)transform : 0;
}

static void damage(void *data, struct wl_proxy *frame, int32_t x, int32_t y, int32_t width, int32_t height) {
    (void)frame;
    if (width <= 0 || height <= 0) return;
    const beam_wayland_event event = {.kind = BEAM_FRAME_DAMAGED, .x = x, .y = y, .width = width, .height = height};
    beam_post(data, &event);
}

static void presentation_time(void *data, struct wl_proxy *frame, uint32_t seconds_high, uint32_t seconds_low,
                              uint32_t nanoseconds) {
    (void)frame;
    ((beam_wayland *)data)->session.time = beam_nanoseconds(seconds_high, seconds_low, nanoseconds);
}

static void ready(void *data, struct wl_proxy *frame) {
    (void)frame;
    beam_wayland *wayland = data;
    const beam_wayland_event event = {
        .kind = BEAM_FRAME_READY, .transform = wayland->session.transform, .time = wayland->session.time};
    end_frame(wayland);
    wayland->session.is_filled = wayland->session.has_delivered = true;
    beam_post(wayland, &event);
}

// Whatever the reason is: with another session all that can have changed is learnt anew.
static void failed(void *data, struct wl_proxy *frame, uint32_t reason) {
    (void)frame, (void)reason;
    fail(data);
}

static const struct copy_frame_listener frame_listener = {transform, damage, presentation_time, ready, failed};

// --- requests --------------------------------------------------------------------------------------------------------

static bool begin(beam_wayland *wayland, struct output *output, bool has_pointer) {
    struct session *session = &wayland->session;
    union wl_argument of_source[] = {{.o = NULL}, {.o = (struct wl_object *)output->proxy}};
    session->source = beam_request(wayland->sources, SOURCE_MANAGER_CREATE_SOURCE, &beam_capture_source, of_source);
    if (!session->source) return false;
    union wl_argument of_session[] = {
        {.o = NULL}, {.o = (struct wl_object *)session->source}, {.u = has_pointer ? COPY_OPTION_PAINT_CURSORS : 0}};
    session->proxy = beam_request(wayland->copies, COPY_MANAGER_CREATE_SESSION, &beam_copy_capture_session, of_session);
    if (!session->proxy) return false;
    session->output = output->state.output;
    session->has_pointer = has_pointer;
    wl_proxy_add_listener(session->proxy, (void (**)(void)) & session_listener, wayland);
    return true;
}

bool beam_session_capture(beam_wayland *wayland, struct output *output, bool has_pointer) {
    struct session *session = &wayland->session;
    end_frame(wayland);
    if (session->proxy && (session->output != output->state.output || session->has_pointer != has_pointer))
        beam_session_end(wayland);
    if (!session->proxy && !begin(wayland, output, has_pointer)) {
        wayland->error = ENOMEM;
        return false;
    }
    session->is_asked = !session->is_known;
    if (session->is_known) beam_post(wayland, &session->offer);
    return true;
}

bool beam_session_copy(beam_wayland *wayland, const beam_wayland_buffer *buffer) {
    struct session *session = &wayland->session;
    if (wayland->frame) return session->has_delivered;
    if (!session->proxy) {
        // It has stopped after its offer.
        const beam_wayland_event event = {.kind = BEAM_FRAME_FAILED};
        beam_post(wayland, &event);
        return false;
    }
    if ((int32_t)buffer->width != session->offer.width || (int32_t)buffer->height != session->offer.height ||
        buffer->format != session->offer.format) {
        // The buffer fits an offer that was still on its way when it was replaced.
        beam_post(wayland, &session->offer);
        return false;
    }
    union wl_argument of_frame[] = {{.o = NULL}};
    wayland->frame = beam_request(session->proxy, SESSION_CREATE_FRAME, &beam_copy_capture_frame, of_frame);
    if (!wayland->frame) {
        wayland->error = ENOMEM;
        return false;
    }
    wl_proxy_add_listener(wayland->frame, (void (**)(void)) & frame_listener, wayland);
    session->transform = BEAM_NO_TRANSFORM;
    session->time = 0;
    union wl_argument attached[] = {{.o = (struct wl_object *)buffer->proxy}};
    beam_request(wayland->frame, COPY_FRAME_ATTACH_BUFFER, NULL, attached);
    if (!session->is_filled) {
        // Nothing of the frame is in the buffer. Later it has all but what changes meanwhile, which the compositor adds.
        union wl_argument whole[] = {{.i = 0}, {.i = 0}, {.i = session->offer.width}, {.i = session->offer.height}};
        beam_request(wayland->frame, COPY_FRAME_DAMAGE_BUFFER, NULL, whole);
    }
    union wl_argument none[] = {{.u = 0}};
    beam_request(wayland->frame, COPY_FRAME_CAPTURE, NULL, none);
    return session->has_delivered;
}
