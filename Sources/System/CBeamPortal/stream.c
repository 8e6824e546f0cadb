#include <errno.h>
#include <spa/param/video/format-utils.h>
#include <spa/pod/builder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "dmabuf.h"

enum {
    // DRM's modifier of memory that is laid out row by row.
    linear = 0,
    // Sources reserve room for a cursor of up to 384 pixels a side (mutter).
    largest_cursor = 1024,
    // The source offers pictures of its own size; this bounds what is taken.
    largest_side = 16384,
};

#define CURSOR_BYTES(side) \
    (int)(sizeof(struct spa_meta_cursor) + sizeof(struct spa_meta_bitmap) + (side) * (side) * 4)

static beam_pixel_order order_of(uint32_t format) {
    switch (format) {
    case SPA_VIDEO_FORMAT_BGRx:
    case SPA_VIDEO_FORMAT_BGRA: return beam_pixels_bgrx;
    case SPA_VIDEO_FORMAT_RGBx:
    case SPA_VIDEO_FORMAT_RGBA: return beam_pixels_rgbx;
    default: return beam_pixels_none;
    }
}

// Without a modifier, pictures come in memory of the processor and not of a graphics device.
static const struct spa_pod *formats(struct spa_pod_builder *builder, uint32_t rate, bool has_modifier) {
    struct spa_pod_frame frame;
    spa_pod_builder_push_object(builder, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(
        builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format,
        SPA_POD_CHOICE_ENUM_Id(5, SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRA,
                               SPA_VIDEO_FORMAT_RGBx, SPA_VIDEO_FORMAT_RGBA),
        0);
    if (has_modifier) {
        // Mandatory, so that it is agreed upon only with a source that has it.
        spa_pod_builder_prop(builder, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY);
        spa_pod_builder_long(builder, linear);
    }
    spa_pod_builder_add(
        builder, SPA_FORMAT_VIDEO_size,
        SPA_POD_CHOICE_RANGE_Rectangle(&SPA_RECTANGLE(1920, 1080), &SPA_RECTANGLE(1, 1),
                                       &SPA_RECTANGLE(largest_side, largest_side)),
        // 0: when something changes.
        SPA_FORMAT_VIDEO_framerate,
        SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(0, 1), &SPA_FRACTION(0, 1), &SPA_FRACTION(1000, 1)),
        SPA_FORMAT_VIDEO_maxFramerate,
        SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(rate, 1000), &SPA_FRACTION(1, 1), &SPA_FRACTION(rate, 1000)), 0);
    return spa_pod_builder_pop(builder, &frame);
}

static const struct spa_pod *meta(struct spa_pod_builder *builder, uint32_t type, size_t size) {
    return spa_pod_builder_add_object(builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
                                      SPA_POD_Id(type), SPA_PARAM_META_size, SPA_POD_Int((int)size));
}

static void ask_for_buffers(beam_stream *stream) {
    uint8_t memory[2048];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const int types = stream->is_graphics_memory ? 1 << SPA_DATA_DmaBuf : 1 << SPA_DATA_MemPtr | 1 << SPA_DATA_MemFd;
    const struct spa_pod *params[] = {
        // With only two, a source stands still while both are here (wlroots' portal).
        spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
                                   SPA_POD_CHOICE_RANGE_Int(8, 2, 16), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
                                   SPA_PARAM_BUFFERS_dataType,
                                   SPA_POD_CHOICE_FLAGS_Int(types)),
        meta(&builder, SPA_META_Header, sizeof(struct spa_meta_header)),
        meta(&builder, SPA_META_VideoCrop, sizeof(struct spa_meta_region)),
        meta(&builder, SPA_META_VideoTransform, sizeof(struct spa_meta_videotransform)),
        spa_pod_builder_add_object(
            &builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Cursor),
            SPA_PARAM_META_size,
            SPA_POD_CHOICE_RANGE_Int(CURSOR_BYTES(64), CURSOR_BYTES(1), CURSOR_BYTES(largest_cursor))),
    };
    pw_stream_update_params(stream->stream, params, SPA_N_ELEMENTS(params));
}

static void format_changed(void *data, uint32_t id, const struct spa_pod *param) {
    beam_stream *stream = data;
    if (id != SPA_PARAM_Format || !param) return;
    struct spa_video_info_raw info = {0};
    if (spa_format_video_raw_parse(param, &info) < 0) return;
    stream->state.order = order_of(info.format);
    stream->state.width = info.size.width;
    stream->state.height = info.size.height;
    stream->is_graphics_memory = spa_pod_find_prop(param, NULL, SPA_FORMAT_VIDEO_modifier) != NULL;
    ask_for_buffers(stream);
}

static void state_changed(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error) {
    (void)old;
    beam_stream *stream = data;
    switch (state) {
    case PW_STREAM_STATE_CONNECTING: stream->state.phase = beam_stream_connecting; break;
    case PW_STREAM_STATE_PAUSED: stream->state.phase = beam_stream_paused; break;
    case PW_STREAM_STATE_STREAMING: stream->state.phase = beam_stream_streaming; break;
    case PW_STREAM_STATE_ERROR:
    case PW_STREAM_STATE_UNCONNECTED:
        stream->state.phase = beam_stream_failed;
        if (error) snprintf(stream->state.reason, sizeof stream->state.reason, "%s", error);
        break;
    }
}

static void add_buffer(void *data, struct pw_buffer *buffer) {
    beam_stream *stream = data;
    if (buffer->buffer->n_datas < 1 || buffer->buffer->datas[0].type != SPA_DATA_DmaBuf) return;
    int error = 0;
    if (!beam_dmabuf_map(buffer, &error)) stream->map_error = error;
}

static void remove_buffer(void *data, struct pw_buffer *buffer) {
    (void)data;
    beam_dmabuf_unmap(buffer);
}

// Without a function for `process`: the loop wakes up all the same, and buffers are taken then.
static void process(void *data) { (void)data; }

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS,
    .state_changed = state_changed,
    .param_changed = format_changed,
    .add_buffer = add_buffer,
    .remove_buffer = remove_buffer,
    .process = process,
};

beam_stream *beam_stream_open(beam_pipewire *connection, uint32_t node, const char *serial, uint32_t rate, int *error) {
    beam_stream *stream = calloc(1, sizeof *stream);
    struct pw_properties *properties =
        pw_properties_new_string("media.type=Video media.category=Capture media.role=Screen node.name=beamroom");
    if (!stream || !properties) {
        free(stream);
        *error = -ENOMEM;
        return NULL;
    }
    if (serial) pw_properties_set(properties, PW_KEY_TARGET_OBJECT, serial);
    stream->connection = connection;
    stream->node = node;
    stream->next = connection->streams;
    connection->streams = stream;
    errno = 0;
    stream->stream = pw_stream_new(connection->core, "beamroom", properties);
    if (!stream->stream) goto failure;
    pw_stream_add_listener(stream->stream, &stream->listener, &stream_events, stream);
    uint8_t memory[2048];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    // In the order of preference.
    const struct spa_pod *params[] = {formats(&builder, rate, false), formats(&builder, rate, true)};
    int result = pw_stream_connect(
        stream->stream, PW_DIRECTION_INPUT, serial ? PW_ID_ANY : node,
        PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_DONT_RECONNECT, params,
        SPA_N_ELEMENTS(params));
    if (result >= 0) return stream;
    errno = -result;
failure:
    *error = errno ? -errno : -EIO;
    beam_stream_close(stream);
    return NULL;
}

void beam_stream_close(beam_stream *stream) {
    for (beam_stream **link = &stream->connection->streams; *link; link = &(*link)->next) {
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    }
    if (stream->stream) pw_stream_destroy(stream->stream);
    free(stream);
}

beam_stream_state beam_stream_get_state(beam_stream *stream) {
    beam_stream_state state = stream->state;
    if (stream->map_error) {
        state.phase = beam_stream_failed;
        snprintf(state.reason, sizeof state.reason,
                 "its pictures are in the graphics device's memory (DMA-BUF), which can't be read here: %s",
                 strerror(stream->map_error));
    }
    return state;
}

// --- buffers ---------------------------------------------------------------------------------------------------------

static beam_portal_rect rect_of(const struct spa_region *region) {
    return (beam_portal_rect){region->position.x, region->position.y, region->size.width, region->size.height};
}

// The metadata is in memory that the source may write to at any time: each field is read once.
static void read_cursor(const struct spa_buffer *source, beam_buffer *buffer) {
    struct spa_meta *meta = spa_buffer_find_meta(source, SPA_META_Cursor);
    if (!meta || meta->size < sizeof(struct spa_meta_cursor)) return;
    struct spa_meta_cursor cursor = *(volatile struct spa_meta_cursor *)meta->data;
    buffer->has_cursor = 1;
    buffer->cursor_id = cursor.id;
    buffer->cursor_x = cursor.position.x;
    buffer->cursor_y = cursor.position.y;
    buffer->hotspot_x = cursor.hotspot.x;
    buffer->hotspot_y = cursor.hotspot.y;
    size_t start = cursor.bitmap_offset;
    if (start < sizeof cursor || start > meta->size || meta->size - start < sizeof(struct spa_meta_bitmap)) return;
    struct spa_meta_bitmap bitmap = *(volatile struct spa_meta_bitmap *)SPA_PTROFF(meta->data, start, void);
    // A format of 0 says that the image is as before.
    if (bitmap.format == 0) return;
    buffer->cursor_order = order_of(bitmap.format);
    if (buffer->cursor_order == beam_pixels_none) return;
    buffer->has_cursor_image = 1;
    const uint32_t width = bitmap.size.width, height = bitmap.size.height;
    const size_t room = meta->size - start;
    if (bitmap.offset < sizeof bitmap || bitmap.offset > room || width == 0 || height == 0 || width > largest_cursor ||
        height > largest_cursor || bitmap.stride < (int32_t)(width * 4) ||
        (room - bitmap.offset) / (size_t)bitmap.stride < height)
        return;
    buffer->cursor_width = width;
    buffer->cursor_height = height;
    buffer->cursor_stride = bitmap.stride;
    buffer->cursor_pixels = SPA_PTROFF(meta->data, start + bitmap.offset, const uint8_t);
}

static void read_pixels(const struct pw_buffer *taken, bool has_header, beam_buffer *buffer) {
    const struct spa_buffer *source = taken->buffer;
    if (source->n_datas < 1) return;
    const struct spa_data *data = &source->datas[0];
    struct spa_chunk chunk = *(volatile struct spa_chunk *)data->chunk;
    buffer->chunk_size = chunk.size;
    buffer->stride = chunk.stride;
    if (chunk.flags & SPA_CHUNK_FLAG_CORRUPTED) buffer->is_corrupted = 1;
    const uint8_t *pixels = data->data;
    size_t length = data->maxsize;
    if (data->type == SPA_DATA_DmaBuf) {
        pixels = beam_dmabuf_pixels(taken, &length);
        buffer->graphics_memory = (int)data->fd;
        // Sources may leave the size of such memory out. Those with a header mark a buffer without a picture otherwise.
        if (chunk.size == 0 && has_header) buffer->chunk_size = UINT32_MAX;
    }
    if (!pixels || chunk.offset >= length) return;
    buffer->pixels = pixels + chunk.offset;
    buffer->length = length - chunk.offset;
}

int beam_stream_take(beam_stream *stream, beam_buffer *buffer) {
    struct pw_buffer *taken = pw_stream_dequeue_buffer(stream->stream);
    if (!taken) return 0;
    *buffer = (beam_buffer){.handle = taken, .graphics_memory = -1};
    const struct spa_buffer *source = taken->buffer;
    const struct spa_meta_header *header =
        spa_buffer_find_meta_data(source, SPA_META_Header, sizeof(struct spa_meta_header));
    if (header && (header->flags & SPA_META_HEADER_FLAG_CORRUPTED)) buffer->is_corrupted = 1;
    if (header) buffer->drawn_at = header->pts;
    const struct spa_meta_region *crop =
        spa_buffer_find_meta_data(source, SPA_META_VideoCrop, sizeof(struct spa_meta_region));
    if (crop && spa_meta_region_is_valid(crop)) {
        buffer->has_crop = 1;
        buffer->crop = rect_of(&crop->region);
    }
    const struct spa_meta_videotransform *transform =
        spa_buffer_find_meta_data(source, SPA_META_VideoTransform, sizeof(struct spa_meta_videotransform));
    if (transform) buffer->transform = transform->transform;
    read_cursor(source, buffer);
    read_pixels(taken, header != NULL, buffer);
    return 1;
}

void beam_stream_give_back(beam_stream *stream, void *handle) { pw_stream_queue_buffer(stream->stream, handle); }
