#include <errno.h>
#include <pipewire/pipewire.h>
#include <pthread.h>
#include <spa/param/video/format-utils.h>
#include <spa/pod/builder.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "beam_camera.h"

enum { largest_side = 16384 };

struct beam_source {
    struct pw_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct spa_hook core_listener;
    struct pw_stream *stream;
    struct spa_hook stream_listener;
    char *name;
    bool is_lost;
    beam_source_state state;
    // The newest picture, which belongs to the caller; NULL: none of this agreement.
    const uint8_t *bytes;
    size_t length;
    uint64_t sequence;
};

static void initialise(void) { pw_init(NULL, NULL); }

static void failed(void *data, uint32_t id, int seq, int result, const char *message) {
    (void)seq;
    (void)message;
    beam_source *source = data;
    // As for a stream of a desktop (CBeamPortal): after the core's errors nothing more is read, but for -ENOENT.
    if (id == PW_ID_CORE && result < 0 && result != -ENOENT) source->is_lost = true;
}

static const struct pw_core_events core_events = {PW_VERSION_CORE_EVENTS, .error = failed};

static struct pw_core *connect_to(struct pw_context *context, const char *remote) {
    struct pw_properties *properties = NULL;
    if (remote) {
        properties = pw_properties_new_string("");
        if (!properties) return NULL;
        pw_properties_set(properties, PW_KEY_REMOTE_NAME, remote);
    }
    return pw_context_connect(context, properties, 0);
}

beam_source *beam_source_open(const char *name, const char *remote, int *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    beam_source *source = calloc(1, sizeof *source);
    if (!source) {
        *error = -ENOMEM;
        return NULL;
    }
    errno = 0;
    source->name = strdup(name);
    source->loop = pw_loop_new(NULL);
    if (!source->name || !source->loop) goto failure;
    source->context = pw_context_new(source->loop, NULL, 0);
    if (!source->context) goto failure;
    source->core = connect_to(source->context, remote);
    if (!source->core) goto failure;
    pw_core_add_listener(source->core, &source->core_listener, &core_events, source);
    return source;
failure:
    *error = errno ? -errno : -EIO;
    beam_source_close(source);
    return NULL;
}

void beam_source_close(beam_source *source) {
    if (source->stream) pw_stream_destroy(source->stream);
    if (source->core) pw_core_disconnect(source->core);
    if (source->context) pw_context_destroy(source->context);
    if (source->loop) pw_loop_destroy(source->loop);
    free(source->name);
    free(source);
}

void beam_source_enter(beam_source *source) { pw_loop_enter(source->loop); }

void beam_source_leave(beam_source *source) { pw_loop_leave(source->loop); }

int beam_source_descriptor(beam_source *source) { return pw_loop_get_fd(source->loop); }

int beam_source_turn(beam_source *source) {
    // Each iteration handles one batch of events; a bound, so that a busy program can't keep the thread here.
    for (int i = 0; i < 64; i++)
        if (pw_loop_iterate(source->loop, 0) <= 0) break;
    return !source->is_lost;
}

// --- formats ---------------------------------------------------------------------------------------------------------

static beam_layout layout_of(uint32_t format) {
    switch (format) {
    case SPA_VIDEO_FORMAT_BGRx: return beam_layout_bgrx;
    case SPA_VIDEO_FORMAT_YUY2: return beam_layout_yuyv;
    default: return beam_layout_none;
    }
}

static uint32_t row_bytes(const beam_source_state *state) {
    return state->layout == beam_layout_bgrx ? state->width * 4 : (state->width + 1) / 2 * 4;
}

// One format. Each layout is one of its own, because some programs read no choice of layouts.
//
// `any_size`: for programs that want a size of theirs, in which the picture is drawn then.
static const struct spa_pod *format(
    struct spa_pod_builder *builder, uint32_t layout, const struct spa_rectangle *size, bool any_size) {
    const struct spa_rectangle least = SPA_RECTANGLE(2, 2), most = SPA_RECTANGLE(largest_side, largest_side);
    struct spa_pod_frame frame;
    spa_pod_builder_push_object(builder, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(
        builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(layout), 0);
    if (any_size)
        spa_pod_builder_add(
            builder, SPA_FORMAT_VIDEO_size, SPA_POD_CHOICE_RANGE_Rectangle(size, &least, &most), 0);
    else
        spa_pod_builder_add(builder, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(size), 0);
    // Pictures come when the screen changes; programs for cameras want to read a rate.
    spa_pod_builder_add(
        builder, SPA_FORMAT_VIDEO_framerate,
        SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(30, 1), &SPA_FRACTION(0, 1), &SPA_FRACTION(240, 1)), 0);
    if (layout != SPA_VIDEO_FORMAT_BGRx)
        spa_pod_builder_add(
            builder, SPA_FORMAT_VIDEO_colorRange, SPA_POD_Id(SPA_VIDEO_COLOR_RANGE_16_235), SPA_FORMAT_VIDEO_colorMatrix,
            SPA_POD_Id(SPA_VIDEO_COLOR_MATRIX_BT709), 0);
    return spa_pod_builder_pop(builder, &frame);
}

enum { format_count = 4, format_room = 2048 };

static void describe(
    struct spa_pod_builder *builder, const struct spa_pod *formats[format_count], uint32_t width, uint32_t height) {
    const struct spa_rectangle size = SPA_RECTANGLE(width, height);
    // BGRx first: it keeps colour as sharp as it came.
    formats[0] = format(builder, SPA_VIDEO_FORMAT_BGRx, &size, false);
    formats[1] = format(builder, SPA_VIDEO_FORMAT_YUY2, &size, false);
    formats[2] = format(builder, SPA_VIDEO_FORMAT_BGRx, &size, true);
    formats[3] = format(builder, SPA_VIDEO_FORMAT_YUY2, &size, true);
}

static void format_changed(void *data, uint32_t id, const struct spa_pod *param) {
    beam_source *source = data;
    if (id != SPA_PARAM_Format) return;
    source->bytes = NULL;
    source->state.agreement++;
    source->state.layout = beam_layout_none;
    struct spa_video_info_raw info = {0};
    if (!param || spa_format_video_raw_parse(param, &info) < 0) return;
    if (info.size.width < 2 || info.size.height < 2 || info.size.width > largest_side || info.size.height > largest_side)
        return;
    source->state.layout = layout_of(info.format);
    if (source->state.layout == beam_layout_none) return;
    source->state.width = info.size.width;
    source->state.height = info.size.height;
    const int stride = (int)row_bytes(&source->state);
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
            SPA_POD_Int(stride * (int)info.size.height), SPA_PARAM_BUFFERS_stride, SPA_POD_Int(stride),
            SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int((1 << SPA_DATA_MemPtr) | (1 << SPA_DATA_MemFd))),
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
            SPA_PARAM_META_size, SPA_POD_Int((int)sizeof(struct spa_meta_header))),
    };
    pw_stream_update_params(source->stream, params, SPA_N_ELEMENTS(params));
}

static void state_changed(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    (void)old;
    (void)error;
    beam_source *source = data;
    source->state.is_streaming = state == PW_STREAM_STATE_STREAMING;
    if (state == PW_STREAM_STATE_ERROR) source->is_lost = true;
}

// --- pictures --------------------------------------------------------------------------------------------------------

static void fill(beam_source *source, struct spa_buffer *buffer) {
    struct spa_data *data = &buffer->datas[0];
    const bool has_room = data->data && data->maxsize >= source->length;
    if (has_room) memcpy(data->data, source->bytes, source->length);
    data->chunk->offset = 0;
    data->chunk->size = has_room ? (uint32_t)source->length : 0;
    data->chunk->stride = (int32_t)row_bytes(&source->state);
    data->chunk->flags = has_room ? 0 : SPA_CHUNK_FLAG_CORRUPTED;
    struct spa_meta_header *header = spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    if (!header) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *header = (struct spa_meta_header){.pts = SPA_TIMESPEC_TO_NSEC(&now), .seq = source->sequence++};
}

// A program, or `beam_source_show`, wants a picture.
static void process(void *data) {
    beam_source *source = data;
    if (!source->bytes) return;
    struct pw_buffer *taken = pw_stream_dequeue_buffer(source->stream);
    if (!taken) return;
    if (taken->buffer->n_datas > 0) fill(source, taken->buffer);
    pw_stream_queue_buffer(source->stream, taken);
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = state_changed,
    .param_changed = format_changed,
    .process = process,
};

static int appear(beam_source *source, uint32_t width, uint32_t height) {
    // The portal shows cameras only to programs that ask for cameras, by their role.
    struct pw_properties *properties = pw_properties_new_string("media.class=Video/Source media.role=Camera");
    if (!properties) return -ENOMEM;
    pw_properties_set(properties, PW_KEY_NODE_NAME, source->name);
    pw_properties_set(properties, PW_KEY_NODE_DESCRIPTION, source->name);
    errno = 0;
    source->stream = pw_stream_new(source->core, source->name, properties);
    if (!source->stream) return errno ? -errno : -EIO;
    pw_stream_add_listener(source->stream, &source->stream_listener, &stream_events, source);
    uint8_t memory[format_room];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *formats[format_count];
    describe(&builder, formats, width, height);
    return pw_stream_connect(source->stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
                             PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_MAP_BUFFERS, formats, format_count);
}

int beam_source_offer(beam_source *source, uint32_t width, uint32_t height) {
    if (!source->stream) return appear(source, width, height);
    uint8_t memory[format_room];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *formats[format_count];
    describe(&builder, formats, width, height);
    return pw_stream_update_params(source->stream, formats, format_count);
}

beam_source_state beam_source_get_state(beam_source *source) { return source->state; }

int beam_source_show(beam_source *source, const uint8_t *bytes, size_t length) {
    const beam_source_state *state = &source->state;
    if (state->layout == beam_layout_none || length != (size_t)row_bytes(state) * state->height) return 0;
    source->bytes = bytes;
    source->length = length;
    // If a program's own clock drives the pictures, it asks for this one when it wants it.
    if (state->is_streaming) pw_stream_trigger_process(source->stream);
    return 1;
}
