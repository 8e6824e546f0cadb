#pragma once
#include <pipewire/pipewire.h>
#include <stdbool.h>

#include "beam_portal.h"

struct beam_pipewire {
    struct pw_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct spa_hook core_listener;
    struct pw_registry *registry;
    struct spa_hook registry_listener;
    bool is_lost;
    beam_stream *streams;
};

struct beam_stream {
    beam_pipewire *connection;
    beam_stream *next;
    struct pw_stream *stream;
    struct spa_hook listener;
    uint32_t node;
    beam_stream_state state;
    // The pictures are in memory of the graphics device.
    bool is_graphics_memory;
    // An errno, if that memory can't be mapped.
    int map_error;
};
