#pragma once
#include "connection.h"

// Pictures in memory of the graphics device that are laid out row by row, which the processor may map.

// Maps the buffer's memory, whoever has made it. False if that fails, with an errno.
bool beam_dmabuf_map(struct pw_buffer *buffer, int *error);
void beam_dmabuf_unmap(struct pw_buffer *buffer);
// What may be read; NULL: it isn't mapped.
const uint8_t *beam_dmabuf_pixels(const struct pw_buffer *buffer, size_t *length);
