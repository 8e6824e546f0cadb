// A source in PipeWire whose pictures are in memory that it calls DMA-BUF, as a compositor's on a graphics device.
//
// usage: dmabuf-source REMOTE KIND
//     linear    it offers only such memory, laid out row by row; its length isn't told
//     both      it offers the processor's memory, too, but prefers the other
//     locked    as linear, but the memory can't be mapped for reading
//
// 64 × 48 pixels in BGRx, of one colour that changes with each picture. It writes its node's number, then waits to be killed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { width = 64, height = 48, stride = 4 * width + 64, margin = 4096, length = margin + stride * height };

static struct pw_stream *stream;
static struct pw_main_loop *loop;
static const char *kind;
static bool is_told;
static uint8_t colour;

static const struct spa_pod *format(struct spa_pod_builder *builder, bool is_device) {
    struct spa_pod_frame frame;
    spa_pod_builder_push_object(builder, &frame, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(builder, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
                        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format, SPA_POD_Id(SPA_VIDEO_FORMAT_BGRx), 0);
    if (is_device) {
        // As mutter and wlroots' portal do: the choice is left to the source.
        struct spa_pod_frame choice;
        spa_pod_builder_prop(builder, SPA_FORMAT_VIDEO_modifier, SPA_POD_PROP_FLAG_MANDATORY | SPA_POD_PROP_FLAG_DONT_FIXATE);
        spa_pod_builder_push_choice(builder, &choice, SPA_CHOICE_Enum, 0);
        for (int i = 0; i < 2; i++) spa_pod_builder_long(builder, 0);
        spa_pod_builder_long(builder, 0x00ffffffffffffff);
        spa_pod_builder_pop(builder, &choice);
    }
    spa_pod_builder_add(builder, SPA_FORMAT_VIDEO_size, SPA_POD_Rectangle(&SPA_RECTANGLE(width, height)),
                        SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&SPA_FRACTION(0, 1)), 0);
    return spa_pod_builder_pop(builder, &frame);
}

static void param_changed(void *data, uint32_t id, const struct spa_pod *param) {
    (void)data;
    if (id != SPA_PARAM_Format || !param) return;
    const int type = spa_pod_find_prop(param, NULL, SPA_FORMAT_VIDEO_modifier) ? SPA_DATA_DmaBuf : SPA_DATA_MemFd;
    uint8_t memory[1024];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
                                   SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
                                   SPA_PARAM_BUFFERS_size, SPA_POD_Int(stride * height), SPA_PARAM_BUFFERS_stride,
                                   SPA_POD_Int(stride), SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(1 << type)),
        spa_pod_builder_add_object(&builder, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta, SPA_PARAM_META_type,
                                   SPA_POD_Id(SPA_META_Header), SPA_PARAM_META_size,
                                   SPA_POD_Int((int)sizeof(struct spa_meta_header))),
    };
    pw_stream_update_params(stream, params, 2);
}

static void add_buffer(void *unused, struct pw_buffer *buffer) {
    (void)unused;
    struct spa_data *data = &buffer->buffer->datas[0];
    const bool is_device = data->type & 1 << SPA_DATA_DmaBuf;
    int file = memfd_create("picture", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, length) < 0) exit(1);
    buffer->user_data = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (!strcmp(kind, "locked")) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        file = open(path, O_WRONLY | O_CLOEXEC);
    }
    data->type = is_device ? SPA_DATA_DmaBuf : SPA_DATA_MemFd;
    data->flags = SPA_DATA_FLAG_READWRITE;
    data->fd = file;
    data->mapoffset = is_device ? margin : 0;
    data->maxsize = is_device ? 0 : length;
}

// A picture of one colour.
static void draw(struct pw_buffer *taken) {
    struct spa_data *data = &taken->buffer->datas[0];
    const bool is_device = data->type == SPA_DATA_DmaBuf;
    colour++;
    uint8_t *pixels = (uint8_t *)taken->user_data + data->mapoffset;
    for (int y = 0; y < height; y++) memset(pixels + y * stride, colour, 4 * width);
    // The size isn't told of such memory.
    *data->chunk = (struct spa_chunk){.size = is_device ? 0 : stride * height, .stride = stride};
    struct spa_meta_header *header = spa_buffer_find_meta_data(taken->buffer, SPA_META_Header, sizeof *header);
    if (header) *header = (struct spa_meta_header){.pts = 0};
}

static void tick(void *data, uint64_t expirations) {
    (void)data, (void)expirations;
    const uint32_t node = pw_stream_get_node_id(stream);
    if (!is_told && node != SPA_ID_INVALID) {
        is_told = true;
        printf("%u\n", node);
        fflush(stdout);
    }
    if (pw_stream_get_state(stream, NULL) != PW_STREAM_STATE_STREAMING) return;
    struct pw_buffer *taken = pw_stream_dequeue_buffer(stream);
    if (taken) {
        draw(taken);
        pw_stream_queue_buffer(stream, taken);
    }
    pw_stream_trigger_process(stream);
}

static const struct pw_stream_events events = {
    PW_VERSION_STREAM_EVENTS, .param_changed = param_changed, .add_buffer = add_buffer};

int main(int count, char **arguments) {
    if (count != 3) return 64;
    kind = arguments[2];
    pw_init(NULL, NULL);
    loop = pw_main_loop_new(NULL);
    struct pw_context *context = pw_context_new(pw_main_loop_get_loop(loop), NULL, 0);
    struct pw_core *core = pw_context_connect(context, pw_properties_new(PW_KEY_REMOTE_NAME, arguments[1], NULL), 0);
    if (!core) return 1;
    stream = pw_stream_new(core, "dmabuf-source",
                           pw_properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_NODE_NAME, "dmabuf-source", NULL));
    struct spa_hook listener;
    pw_stream_add_listener(stream, &listener, &events, NULL);
    uint8_t memory[2048];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *params[2];
    uint32_t formats = 0;
    params[formats++] = format(&builder, true);
    if (!strcmp(kind, "both")) params[formats++] = format(&builder, false);
    pw_stream_connect(stream, PW_DIRECTION_OUTPUT, PW_ID_ANY, PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_ALLOC_BUFFERS, params,
                      formats);
    struct timespec interval = {.tv_nsec = 20000000};
    struct spa_source *timer = pw_loop_add_timer(pw_main_loop_get_loop(loop), tick, NULL);
    pw_loop_update_timer(pw_main_loop_get_loop(loop), timer, &interval, &interval, false);
    pw_main_loop_run(loop);
    return 0;
}
