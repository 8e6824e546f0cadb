#include "dmabuf.h"

#include <errno.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

// As much as a picture of the largest size takes.
static const size_t most_bytes = (size_t)1 << 30;

struct mapping {
    void *memory;
    // All of it, and where the picture begins.
    size_t length, offset;
};

bool beam_dmabuf_map(struct pw_buffer *buffer, int *error) {
    const struct spa_data *data = &buffer->buffer->datas[0];
    // What the source says of the length may be 0, or wrong: then reading would end the program.
    const off_t end = lseek((int)data->fd, 0, SEEK_END);
    if (end < 0 || (size_t)end > most_bytes || data->mapoffset >= (size_t)end) {
        *error = end < 0 ? errno : (size_t)end > most_bytes ? EFBIG : EINVAL;
        return false;
    }
    struct mapping *mapping = calloc(1, sizeof *mapping);
    void *memory = mapping ? mmap(NULL, (size_t)end, PROT_READ, MAP_SHARED, (int)data->fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        *error = mapping ? errno : ENOMEM;
        free(mapping);
        return false;
    }
    *mapping = (struct mapping){.memory = memory, .length = (size_t)end, .offset = data->mapoffset};
    buffer->user_data = mapping;
    return true;
}

void beam_dmabuf_unmap(struct pw_buffer *buffer) {
    struct mapping *mapping = buffer->user_data;
    if (!mapping) return;
    munmap(mapping->memory, mapping->length);
    free(mapping);
    buffer->user_data = NULL;
}

const uint8_t *beam_dmabuf_pixels(const struct pw_buffer *buffer, size_t *length) {
    const struct mapping *mapping = buffer->user_data;
    if (!mapping) return NULL;
    *length = mapping->length - mapping->offset;
    return SPA_PTROFF(mapping->memory, mapping->offset, const uint8_t);
}

static void synchronise(const beam_buffer *buffer, uint64_t flags) {
    if (buffer->graphics_memory < 0) return;
    struct dma_buf_sync sync = {.flags = flags | DMA_BUF_SYNC_READ};
    // A signal may interrupt it. Other failures are ignored: memory that isn't the device's has nothing to wait for, and of
    // what is, the worst is a picture that is still being drawn; the next one replaces it.
    for (int tries = 0; tries < 100 && ioctl(buffer->graphics_memory, DMA_BUF_IOCTL_SYNC, &sync) < 0; tries++)
        if (errno != EINTR && errno != EAGAIN) return;
}

void beam_buffer_begin_reading(const beam_buffer *buffer) { synchronise(buffer, DMA_BUF_SYNC_START); }
void beam_buffer_end_reading(const beam_buffer *buffer) { synchronise(buffer, DMA_BUF_SYNC_END); }
