#include "connection.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void initialise(void) { pw_init(NULL, NULL); }

static void failed(void *data, uint32_t id, int seq, int result, const char *message) {
    (void)seq;
    (void)message;
    beam_pipewire *connection = data;
    // Other objects' errors concern only them. After any of the core's the library reads no more, but for -ENOENT, by which
    // the daemon tells of an object that had gone before it was destroyed.
    if (id == PW_ID_CORE && result < 0 && result != -ENOENT) connection->is_lost = true;
}

static const struct pw_core_events core_events = {PW_VERSION_CORE_EVENTS, .error = failed};

static void removed(void *data, uint32_t id) {
    beam_pipewire *connection = data;
    for (beam_stream *stream = connection->streams; stream; stream = stream->next)
        if (stream->node == id) stream->state.is_node_gone = 1;
}

static const struct pw_registry_events registry_events = {PW_VERSION_REGISTRY_EVENTS, .global_remove = removed};

beam_pipewire *beam_pipewire_open(int descriptor, int *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    beam_pipewire *connection = calloc(1, sizeof *connection);
    if (!connection) goto no_memory;
    errno = 0;
    connection->loop = pw_loop_new(NULL);
    if (!connection->loop) goto failure;
    connection->context = pw_context_new(connection->loop, NULL, 0);
    if (!connection->context) goto failure;
    connection->core = pw_context_connect_fd(connection->context, descriptor, NULL, 0);
    // It has taken over the descriptor, also if it failed.
    descriptor = -1;
    if (!connection->core) goto failure;
    pw_core_add_listener(connection->core, &connection->core_listener, &core_events, connection);
    connection->registry = pw_core_get_registry(connection->core, PW_VERSION_REGISTRY, 0);
    if (!connection->registry) goto failure;
    pw_registry_add_listener(connection->registry, &connection->registry_listener, &registry_events, connection);
    return connection;
failure:
    *error = errno ? -errno : -EIO;
    beam_pipewire_close(connection);
    if (descriptor >= 0) close(descriptor);
    return NULL;
no_memory:
    *error = -ENOMEM;
    close(descriptor);
    return NULL;
}

void beam_pipewire_close(beam_pipewire *connection) {
    if (connection->registry) pw_proxy_destroy((struct pw_proxy *)connection->registry);
    if (connection->core) pw_core_disconnect(connection->core);
    if (connection->context) pw_context_destroy(connection->context);
    if (connection->loop) pw_loop_destroy(connection->loop);
    free(connection);
}

void beam_pipewire_enter(beam_pipewire *connection) { pw_loop_enter(connection->loop); }

void beam_pipewire_leave(beam_pipewire *connection) { pw_loop_leave(connection->loop); }

int beam_pipewire_descriptor(beam_pipewire *connection) { return pw_loop_get_fd(connection->loop); }

int beam_pipewire_turn(beam_pipewire *connection) {
    // Each iteration handles one batch of events; a bound, so that a busy source can't keep the thread here.
    for (int i = 0; i < 64; i++)
        if (pw_loop_iterate(connection->loop, 0) <= 0) break;
    return !connection->is_lost;
}
