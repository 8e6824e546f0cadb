#include <pulse/pulseaudio.h>

#include "late.h"
#include "late_libraries.h"

#define LIBPULSE(F) \
    F(int, pa_context_connect, (pa_context *c, const char *server, pa_context_flags_t flags, const pa_spawn_api *api), \
      (c, server, flags, api)) \
    F(void, pa_context_disconnect, (pa_context *c), (c)) \
    F(int, pa_context_errno, (const pa_context *c), (c)) \
    F(pa_operation *, pa_context_get_server_info, (pa_context *c, pa_server_info_cb_t cb, void *userdata), (c, cb, \
      userdata)) \
    F(pa_operation *, pa_context_get_sink_info_list, (pa_context *c, pa_sink_info_cb_t cb, void *userdata), (c, cb, \
      userdata)) \
    F(pa_operation *, pa_context_get_source_info_list, (pa_context *c, pa_source_info_cb_t cb, void *userdata), (c, \
      cb, userdata)) \
    F(pa_context_state_t, pa_context_get_state, (const pa_context *c), (c)) \
    F(pa_context *, pa_context_new_with_proplist, (pa_mainloop_api *mainloop, const char *name, const pa_proplist \
      *proplist), (mainloop, name, proplist)) \
    F(void, pa_context_set_state_callback, (pa_context *c, pa_context_notify_cb_t cb, void *userdata), (c, cb, \
      userdata)) \
    F(void, pa_context_set_subscribe_callback, (pa_context *c, pa_context_subscribe_cb_t cb, void *userdata), (c, cb, \
      userdata)) \
    F(pa_operation *, pa_context_subscribe, (pa_context *c, pa_subscription_mask_t m, pa_context_success_cb_t cb, void \
      *userdata), (c, m, cb, userdata)) \
    F(void, pa_context_unref, (pa_context *c), (c)) \
    F(int, pa_mainloop_dispatch, (pa_mainloop *m), (m)) \
    F(void, pa_mainloop_free, (pa_mainloop *m), (m)) \
    F(pa_mainloop_api *, pa_mainloop_get_api, (pa_mainloop *m), (m)) \
    F(pa_mainloop *, pa_mainloop_new, (void), ()) \
    F(int, pa_mainloop_poll, (pa_mainloop *m), (m)) \
    F(int, pa_mainloop_prepare, (pa_mainloop *m, int timeout), (m, timeout)) \
    F(void, pa_mainloop_wakeup, (pa_mainloop *m), (m)) \
    F(void, pa_operation_cancel, (pa_operation *o), (o)) \
    F(void, pa_operation_unref, (pa_operation *o), (o)) \
    F(int, pa_proplist_contains, (const pa_proplist *p, const char *key), (p, key)) \
    F(void, pa_proplist_free, (pa_proplist *p), (p)) \
    F(pa_proplist *, pa_proplist_from_string, (const char *str), (str)) \
    F(pa_proplist *, pa_proplist_new, (void), ()) \
    F(int, pa_proplist_sets, (pa_proplist *p, const char *key, const char *value), (p, key, value)) \
    F(int, pa_stream_begin_write, (pa_stream *p, void **data, size_t *nbytes), (p, data, nbytes)) \
    F(int, pa_stream_connect_playback, (pa_stream *s, const char *dev, const pa_buffer_attr *attr, pa_stream_flags_t \
      flags, const pa_cvolume *volume, pa_stream *sync_stream), (s, dev, attr, flags, volume, sync_stream)) \
    F(int, pa_stream_connect_record, (pa_stream *s, const char *dev, const pa_buffer_attr *attr, pa_stream_flags_t \
      flags), (s, dev, attr, flags)) \
    F(int, pa_stream_disconnect, (pa_stream *s), (s)) \
    F(int, pa_stream_drop, (pa_stream *p), (p)) \
    F(int, pa_stream_get_latency, (pa_stream *s, pa_usec_t *r_usec, int *negative), (s, r_usec, negative)) \
    F(pa_stream_state_t, pa_stream_get_state, (const pa_stream *p), (p)) \
    F(const pa_timing_info *, pa_stream_get_timing_info, (pa_stream *s), (s)) \
    F(pa_stream *, pa_stream_new, (pa_context *c, const char *name, const pa_sample_spec *ss, const pa_channel_map \
      *map), (c, name, ss, map)) \
    F(pa_stream *, pa_stream_new_with_proplist, (pa_context *c, const char *name, const pa_sample_spec *ss, const \
      pa_channel_map *map, pa_proplist *p), (c, name, ss, map, p)) \
    F(int, pa_stream_peek, (pa_stream *p, const void **data, size_t *nbytes), (p, data, nbytes)) \
    F(void, pa_stream_set_read_callback, (pa_stream *p, pa_stream_request_cb_t cb, void *userdata), (p, cb, userdata)) \
    F(void, pa_stream_set_underflow_callback, (pa_stream *p, pa_stream_notify_cb_t cb, void *userdata), (p, cb, \
      userdata)) \
    F(void, pa_stream_unref, (pa_stream *s), (s)) \
    F(pa_operation *, pa_stream_update_timing_info, (pa_stream *p, pa_stream_success_cb_t cb, void *userdata), (p, cb, \
      userdata)) \
    F(int, pa_stream_write, (pa_stream *p, const void *data, size_t nbytes, pa_free_cb_t free_cb, int64_t offset, \
      pa_seek_mode_t seek), (p, data, nbytes, free_cb, offset, seek)) \
    F(const char *, pa_strerror, (int error), (error))

LATE_LIBRARY(libpulse, LIBPULSE, "libpulse.so.0")
#define DEFINE(...) LATE_FUNCTION(libpulse, __VA_ARGS__)
LIBPULSE(DEFINE)
#undef DEFINE

const char *beam_load_libpulse(void) { return late_load(&libpulse); }
