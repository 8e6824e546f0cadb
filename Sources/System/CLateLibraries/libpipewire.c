#include <pipewire/pipewire.h>

#include "late.h"
#include "late_libraries.h"

// Methods of objects (pw_core, pw_registry, pw_loop) are inline functions, which call through a table in the object.
#define LIBPIPEWIRE(F) \
    F(struct pw_core *, pw_context_connect, (struct pw_context *context, struct pw_properties *properties, size_t \
      user_data_size), (context, properties, user_data_size)) \
    F(struct pw_core *, pw_context_connect_fd, (struct pw_context *context, int fd, struct pw_properties *properties, \
      size_t user_data_size), (context, fd, properties, user_data_size)) \
    F(void, pw_context_destroy, (struct pw_context *context), (context)) \
    F(struct pw_context *, pw_context_new, (struct pw_loop *main_loop, struct pw_properties *props, size_t \
      user_data_size), (main_loop, props, user_data_size)) \
    F(int, pw_core_disconnect, (struct pw_core *core), (core)) \
    F(void, pw_init, (int *argc, char ***argv), (argc, argv)) \
    F(void, pw_loop_destroy, (struct pw_loop *loop), (loop)) \
    F(struct pw_loop *, pw_loop_new, (const struct spa_dict *props), (props)) \
    F(struct pw_properties *, pw_properties_new_string, (const char *args), (args)) \
    F(int, pw_properties_set, (struct pw_properties *properties, const char *key, const char *value), (properties, key, \
      value)) \
    F(void, pw_proxy_destroy, (struct pw_proxy *proxy), (proxy)) \
    F(void, pw_stream_add_listener, (struct pw_stream *stream, struct spa_hook *listener, const struct \
      pw_stream_events *events, void *data), (stream, listener, events, data)) \
    F(int, pw_stream_connect, (struct pw_stream *stream, enum pw_direction direction, uint32_t target_id, enum \
      pw_stream_flags flags, const struct spa_pod **params, uint32_t n_params), (stream, direction, target_id, flags, \
      params, n_params)) \
    F(struct pw_buffer *, pw_stream_dequeue_buffer, (struct pw_stream *stream), (stream)) \
    F(void, pw_stream_destroy, (struct pw_stream *stream), (stream)) \
    F(struct pw_stream *, pw_stream_new, (struct pw_core *core, const char *name, struct pw_properties *props), (core, \
      name, props)) \
    F(int, pw_stream_queue_buffer, (struct pw_stream *stream, struct pw_buffer *buffer), (stream, buffer)) \
    F(int, pw_stream_trigger_process, (struct pw_stream *stream), (stream)) \
    F(int, pw_stream_update_params, (struct pw_stream *stream, const struct spa_pod **params, uint32_t n_params), \
      (stream, params, n_params))

LATE_LIBRARY(libpipewire, LIBPIPEWIRE, "libpipewire-0.3.so.0")
#define DEFINE(...) LATE_FUNCTION(libpipewire, __VA_ARGS__)
LIBPIPEWIRE(DEFINE)
#undef DEFINE

const char *beam_load_libpipewire(void) { return late_load(&libpipewire); }
